"""What a rollout does: which entities it enforces refusals for, what it let pass so far, and the emergency bypass.

For a while a bypass lets soft refusals pass everywhere. A person begins it, and it is audited. It is kept in
``.catmem/bypass.json`` of the root and ends by itself. What cannot be read there is no bypass.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from catmem import clock
from catmem.audit.log_queries import EVERYTHING, Filter, read_audit
from catmem.config.profile import named_entities, refuse_no_root
from catmem.errors import CatmemError, EditError, StoreError
from catmem.files import os_errors, read_bounded, replace_json
from catmem.jsonable import jsonable
from catmem.store.audit_log import AuditLine, Damage
from catmem.store.contract import PERSON, SIDECAR
from catmem.workspace.root import Root, person_name
from catmem.writing.gate import SOFT, enforces, place_of, record

NAME = "bypass.json"
LONGEST = timedelta(days=7)
_ALL_ENTITIES = "*"
"""What stands as the entity on the lines of a bypass."""

_LONGEST_REASON = 500
_LARGEST = 1 << 14


@dataclass(frozen=True, slots=True)
class Bypass:
    """Why soft refusals are let pass, and from when until when (UTC)."""

    reason: str
    since: datetime
    until: datetime

    def __json__(self) -> dict[str, Any]:
        return {"reason": self.reason, "since": clock.timestamp(self.since), "until": clock.timestamp(self.until)}


def current_bypass(workspace: Root) -> Bypass | None:
    """The bypass that is on, if any. One that has run out is removed, and the log records its end."""
    found = _read(workspace.root / SIDECAR / NAME)
    if found is None:
        return None
    # A clock that was put back does not make a bypass longer.
    if found.since <= clock.now() < found.until:
        return found
    _take_away(workspace, "bypass_expired", found)
    return None


def begin_bypass(workspace: Root, reason: str, lasts: timedelta) -> Bypass:
    """Let soft refusals pass from now on; another bypass that is on gives way to this one."""
    refuse_no_root(workspace.config)
    reason = " ".join(reason.split())
    if not 0 < len(reason) <= _LONGEST_REASON:
        raise EditError(
            f"a bypass needs a reason, of at most {_LONGEST_REASON} characters",
            code="bad_bypass",
            hint="Say in a sentence why it is needed: it stands in the audit log.",
        )
    if not timedelta() < lasts <= LONGEST:
        raise EditError(
            f"a bypass lasts {LONGEST.days} days at most",
            code="bad_bypass",
            hint="Say how long it is needed, such as 30m or 2h. It can be begun again.",
        )
    now = clock.now()
    begun = Bypass(reason, now, now + lasts)
    folder = workspace.root / SIDECAR
    with os_errors(
        "the bypass cannot be kept",
        path=folder / NAME,
        hint="Nothing was changed. Check the rights of the folder and the space on the disk.",
        kind=StoreError,
    ):
        folder.mkdir(mode=0o700, exist_ok=True)
        replace_json(folder / NAME, jsonable(begun))
    _tell(workspace, "bypass_start", f"until {clock.timestamp(begun.until)}: {reason}")
    return begun


def end_bypass(workspace: Root) -> Bypass | None:
    """End the bypass that is on, and give it; ``None`` if none was."""
    refuse_no_root(workspace.config)
    found = current_bypass(workspace)
    if found is not None:
        _take_away(workspace, "bypass_end", found)
    return found


def _take_away(workspace: Root, what: str, found: Bypass) -> None:
    """Remove the file; the process that removed it writes to the log."""
    path = workspace.root / SIDECAR / NAME
    try:
        path.unlink()
    except FileNotFoundError:
        return  # another process was faster
    except OSError as error:
        if what == "bypass_expired":
            return  # it has run out whether its file is there or not
        raise StoreError(
            f"the bypass cannot be ended: {error.strerror or error}",
            code="not_writable",
            path=path,
            hint=f"It ends by itself at {clock.timestamp(found.until)}. Check the rights of the folder.",
        ) from error
    _tell(workspace, what, found.reason)


def _tell(workspace: Root, what: str, note: str) -> None:
    said = clock.timestamp(clock.now()), _ALL_ENTITIES, "bypass", PERSON, None, None, "ok", what, None
    record(workspace, AuditLine(*said, note=note, person=person_name(workspace.root)))


def _read(path: Path) -> Bypass | None:
    if not os.path.lexists(path):
        return None
    try:
        said = json.loads(read_bounded(path, _LARGEST, follow_symlink=False))
        since, until = (datetime.fromisoformat(said[key]) for key in ("since", "until"))
        if until - since <= LONGEST:
            return Bypass(str(said["reason"])[:_LONGEST_REASON], since, until)
        why = "it is for too long"
    except (CatmemError, ValueError, KeyError, TypeError, RecursionError) as error:
        why = str(error) or type(error).__name__
    import logging

    logging.getLogger("catmem.audit").warning("%s: no bypass is on, since this is none (%s)", path, ascii(why))
    return None


@dataclass(frozen=True, slots=True)
class RolloutState:
    """How a rollout stands. ``entities`` are those of the root, with whether soft refusals are enforced for each."""

    mode: str
    canary: int | None
    bypass: Bypass | None
    entities: dict[str, bool]

    def __json__(self) -> dict[str, Any]:
        """The state as JSON-ready data; ``place`` is where an entity stands among the 100 shares."""
        entities = [
            {"entity_id": name, "place": place_of(name), "enforced": enforced}
            for name, enforced in self.entities.items()
        ]
        return {"mode": self.mode, "canary": self.canary, "bypass": self.bypass, "entities": entities}


@dataclass(frozen=True, slots=True)
class Tally:
    """Operations of one kind, counted; one with several codes counts under each."""

    operations: int
    reasons: Counter[str]
    agents: Counter[str]
    entities: Counter[str]

    @classmethod
    def of(cls, lines: Iterable[AuditLine]) -> Tally:
        """The numbers of some lines."""
        found = list(lines)
        return cls(
            len(found),
            Counter(reason for line in found for reason in line.reasons),
            Counter(line.agent for line in found),
            Counter(line.entity_id for line in found),
        )

    def __json__(self) -> dict[str, Any]:
        """The numbers as JSON-ready data, in the order of names."""
        named = {"by_reason": self.reasons, "by_agent": self.agents, "by_entity": self.entities}
        return {"operations": self.operations, **{name: dict(sorted(each.items())) for name, each in named.items()}}


@dataclass(frozen=True, slots=True)
class RolloutReport:
    """What became of refusals, by the audit log."""

    state: RolloutState
    since: str | None
    writes: int
    shadowed: Tally
    bypassed: Tally
    refused: Tally
    always: Tally
    damaged: tuple[Damage, ...]
    __json__ = "mode=state.mode canary=state.canary since writes shadowed bypassed refused always damaged"


def rollout_state(workspace: Root) -> RolloutState:
    """How the rollout of a root stands. Raises ``ConfigError``."""
    refuse_no_root(workspace.config)
    rollout = workspace.config.rollout
    # Names decide, so a profile that is not right has its entities too.
    entities = {entity: enforces(rollout, entity) for entity in named_entities(workspace.config)}
    return RolloutState(rollout.mode, rollout.canary, current_bypass(workspace), entities)


def rollout_report(workspace: Root, wanted: Filter = EVERYTHING) -> RolloutReport:
    """What the rollout let pass, and what it refused. Raises ``StoreError`` and ``ConfigError``."""
    audit = read_audit(workspace, wanted)
    writes = [line for line in audit.lines if line.op != "bypass"]
    refused = [line for line in writes if line.is_refused]
    return RolloutReport(
        state=rollout_state(workspace),
        since=writes[0].ts if writes else None,
        writes=len(writes),
        shadowed=Tally.of(line for line in writes if line.status == "shadowed"),
        bypassed=Tally.of(line for line in writes if line.status == "bypassed"),
        refused=Tally.of(line for line in refused if line.reason in SOFT),
        always=Tally.of(line for line in refused if line.reason not in SOFT),
        damaged=audit.damaged,
    )
