"""The audit log, asked, and counted for metrics: what was done to which entity, by whom, and how it ended."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Collection
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from catmem.clock import timestamp
from catmem.config.json_schema import shown, suggestion
from catmem.config.profile import named_entities, profile_names, refuse_no_root
from catmem.envelopes.agents import agents_of
from catmem.errors import StoreError, catalogue
from catmem.files import os_errors
from catmem.names import FILE_NAMES, parts_of
from catmem.store.audit_log import NAME, STATUSES, AuditLine, AuditLog, AuditReader, Damage
from catmem.store.contract import EXTERNAL, PERSON
from catmem.workspace.root import Root, audit_log


@dataclass(frozen=True, slots=True)
class Filter:
    """Which lines are wanted; ``entity`` may be a profile, ``since`` is counted in."""

    entity: str | None = None
    agent: str | None = None
    status: str | None = None
    since: datetime | None = None

    def keeps(self, line: AuditLine) -> bool:
        """Whether a line is wanted."""
        return (
            (self.entity is None or line.entity_id == self.entity or line.entity_id.startswith(f"{self.entity}/"))
            and self.agent in {None, line.agent, line.person or line.agent}
            and self.status in {None, line.status}
            # All times are written in one form, so that their texts are in order.
            and (self.since is None or line.ts >= timestamp(self.since))
        )


EVERYTHING = Filter()


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found, the oldest first. ``damaged`` are lines that could not be read, and so were passed over."""

    lines: tuple[AuditLine, ...]
    damaged: tuple[Damage, ...]

    def __json__(self) -> dict[str, Any]:
        return {"lines": self.lines, "damaged": self.damaged}


def read_audit(workspace: Root, wanted: Filter = EVERYTHING, limit: int | None = None) -> Audit:
    """The wanted lines, of which the newest ``limit``. Raises ``StoreError``, and ``ConfigError`` where no root is."""
    lines: deque[AuditLine] = deque(maxlen=limit)
    damaged: list[Damage] = []
    refuse_no_root(workspace.config)
    log = audit_log(workspace)
    with closing(AuditReader(log)) as reader, _readable(log, ": see catmem log"):
        for each in reader.poll():
            if isinstance(each, Damage):
                damaged.append(each)
            elif wanted.keeps(each):
                lines.append(each)
    return Audit(tuple(lines), tuple(damaged))


def unknown_names(workspace: Root, wanted: Filter) -> list[str]:
    """What to say of names in a filter that the root does not have now; they may be names of the past, so no error."""
    config = workspace.config
    owner, target = parts_of(wanted.entity or "")
    profiles = profile_names(config.profiles_dir)
    is_there = owner in {*profiles, *config.entities}
    asked = (
        ("profile", None if is_there else owner, profiles),
        ("target", target, FILE_NAMES),
        ("agent", wanted.agent, [*agents_of(config), PERSON, EXTERNAL]),
    )
    return [
        f"There is no {what} {shown(name)} here now. {suggestion(name, known, f'{what}s')}"
        for what, name, known in asked
        if name and name not in known
    ]


def _readable(log: AuditLog, more: str = "") -> AbstractContextManager[None]:
    return os_errors(
        "the audit log cannot be read",
        path=log.folder / NAME,
        hint=f"Check the rights of .catmem and of the file. The revisions do not depend on it{more}.",
        code="io",
        kind=StoreError,
    )


# --- counting ------------------------------------------------------------------------------------------------------


class LogCounts:
    """What the audit log tells from the first look on: ``counts`` never go down. For one thread at a time; close it."""

    def __init__(self, workspace: Root) -> None:
        """Nothing is read yet."""
        self.workspace = workspace
        self._log = audit_log(workspace)
        self._reader = AuditReader(self._log)
        self._begun = False
        self.counts = Counts()
        self.damaged = 0

    def catch_up(self) -> None:
        """Count what was added to the log since the last time; the first time nothing is counted."""
        config = self.workspace.config
        entities, agents = {*named_entities(config)}, {PERSON, *agents_of(config)}
        with _readable(self._log):
            if not self._begun:
                self._reader.skip()
                self._begun = True
            for each in self._reader.poll():
                if isinstance(each, Damage):
                    self.damaged += 1
                else:
                    self.counts.add(_bounded(each, entities, agents))

    def close(self) -> None:
        """Let go of the log."""
        self._reader.close()
        self._begun = False


def _bounded(line: AuditLine, entities: Collection[str], agents: Collection[str]) -> AuditLine:
    """A line with the names and codes that are known here, and ``OTHER`` for those that a caller made up."""
    return line._replace(
        entity_id=line.entity_id if line.entity_id in entities else OTHER,
        agent=line.agent if line.agent in agents else OTHER,
        status=line.status if line.status in STATUSES else OTHER,
        reason=line.reason if line.reason is None or line.reason in _CODES else OTHER,
    )


BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds, in seconds, of the groups in which latencies are counted."""

CONFLICTS = frozenset({"stale_prev", "drift", "hash_collision", "semantic_collision", "merge_conflict", "busy"})
"""Codes of refusals that are about another writer."""

_CODES = frozenset(code for listed in catalogue().values() for code in listed["codes"])

OTHER = "other"
"""The name of all that are not counted each for itself."""
_PREVENTED = frozenset({"conflict", "branch", "merged"})
_LONGEST_SECONDS = 1e6
"""What is longer, or no number (a line of a log may say anything), tells of no operation."""


class Counts:
    """The numbers behind ``mem_write_total`` and its kin."""

    def __init__(self) -> None:
        """Nothing is counted yet."""
        self.writes: Counter[tuple[str, str, str]] = Counter()
        self.refused: Counter[tuple[str, str]] = Counter()
        self.branches: Counter[str] = Counter()
        # Writes on an older text than the head that took nothing from it: refused, kept as a branch, or merged.
        self.prevented: Counter[str] = Counter()
        self.groups = [0] * (len(BOUNDS) + 1)
        """How many operations took ``BOUNDS[n]`` seconds at most; the last group has no bound."""
        self.seconds = 0.0

    def add(self, line: AuditLine) -> None:
        """Count one operation."""
        entity = line.entity_id
        self.writes[entity, line.agent, line.status] += 1
        if line.reason is not None:
            self.refused[entity, line.reason] += 1
        if line.op != "merge" and line.status in _PREVENTED:
            self.prevented[entity] += 1
        if line.status == "branch":
            self.branches[entity] += 1
        if line.seconds is not None and 0 <= line.seconds <= _LONGEST_SECONDS:
            self.groups[bisect_left(BOUNDS, line.seconds)] += 1
            self.seconds += line.seconds
