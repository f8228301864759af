"""Asking the audit log: what was done to which entity, by whom, and how it ended."""

from __future__ import annotations

from collections import deque
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from catmem.errors import StoreError
from catmem.service.auditing.recording import audit_log, refuse_no_root
from catmem.store.audit import NAME
from catmem.store.audit_reader import AuditReader, Damage
from catmem.store.memory import timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from catmem.service.workspace import Workspace
    from catmem.store.audit_line import Line


@dataclass(frozen=True, slots=True)
class Filter:
    """Which lines are wanted; what is ``None`` is not looked at.

    ``entity`` is one such as ``neo/user``, or a profile for both of its files. ``reason`` is one of the codes of a
    line. ``since`` is counted in, ``until`` is not.
    """

    entity: str | None = None
    agent: str | None = None
    op: str | None = None
    status: str | None = None
    reason: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def keeps(self, line: Line) -> bool:
        """Whether a line is wanted."""
        return (
            (self.entity is None or line.entity_id == self.entity or line.entity_id.startswith(f"{self.entity}/"))
            and self.agent in {None, line.agent}
            and self.op in {None, line.op}
            and self.status in {None, line.status}
            and (self.reason is None or self.reason in line.reasons)
            # All times are written in one form, so that their texts are in order.
            and (self.since is None or line.ts >= timestamp(self.since))
            and (self.until is None or line.ts < timestamp(self.until))
        )


EVERYTHING = Filter()


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found, the oldest first. ``damaged`` are lines that could not be read, and so were passed over."""

    lines: tuple[Line, ...]
    damaged: tuple[Damage, ...]

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON-ready data."""
        return {
            "lines": [{**line.to_dict(), "note": line.note} for line in self.lines],
            "damaged": [damage.to_dict() for damage in self.damaged],
        }


def read_audit(workspace: Workspace, wanted: Filter = EVERYTHING, limit: int | None = None) -> Audit:
    """The wanted lines, of which the newest ``limit``. Raises ``StoreError``, and ``ConfigError`` where no root is."""
    lines: deque[Line] = deque(maxlen=limit)
    damaged: list[Damage] = []
    with closing(_Following(workspace, wanted)) as following:
        for each in following.new():
            if isinstance(each, Damage):
                damaged.append(each)
            else:
                lines.append(each)
    return Audit(tuple(lines), tuple(damaged))


def follow_audit(
    workspace: Workspace, wanted: Filter, limit: int, wait: Callable[[], object]
) -> Iterator[Line | Damage]:
    """The newest ``limit`` lines, and then each that is added, for ever; ``wait`` is called when there is none.

    Raises ``StoreError``, and ``ConfigError`` where no root is.
    """
    with closing(_Following(workspace, wanted)) as following:
        yield from deque(following.new(), maxlen=limit)
        while True:
            wait()
            yield from following.new()


class _Following:
    """The wanted lines of a log, as they come."""

    def __init__(self, workspace: Workspace, wanted: Filter) -> None:
        refuse_no_root(workspace)
        self._log = audit_log(workspace)
        self._reader = AuditReader(self._log)
        self._wanted = wanted

    def new(self) -> Iterator[Line | Damage]:
        """What was not given yet."""
        try:
            for each in self._reader.poll():
                if isinstance(each, Damage) or self._wanted.keeps(each):
                    yield each
        except OSError as error:
            raise StoreError(
                f"the audit log cannot be read: {error.strerror or error}",
                code="io",
                path=self._log.folder / NAME,
                hint="Check the rights of .catmem and of the file. The revisions do not depend on it: see catmem log.",
            ) from error

    def close(self) -> None:
        self._reader.close()
