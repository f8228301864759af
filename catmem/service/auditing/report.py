"""What a rollout does: which entities it enforces refusals for, and what it let pass so far."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from catmem.names import FILE_NAMES
from catmem.policy.profile import profile_names, refuse_no_root
from catmem.service.auditing.bypass import current_bypass
from catmem.service.auditing.reading import EVERYTHING, read_audit
from catmem.service.gate import SOFT, enforces, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from catmem.service.auditing.bypass import Bypass
    from catmem.service.auditing.reading import Filter
    from catmem.service.workspace import Workspace
    from catmem.store.audit import Damage, Line


@dataclass(frozen=True, slots=True)
class State:
    """How a rollout stands. ``entities`` are those of the root, with whether soft refusals are enforced for each."""

    mode: str
    canary: int | None
    bypass: Bypass | None
    entities: dict[str, bool]

    def to_dict(self) -> dict[str, Any]:
        """The state as JSON-ready data; ``place`` is where an entity stands among the 100 shares."""
        return {
            "mode": self.mode,
            "canary": self.canary,
            "bypass": None if self.bypass is None else self.bypass.to_dict(),
            "entities": [
                {"entity_id": entity, "place": place_of(entity), "enforced": enforced}
                for entity, enforced in self.entities.items()
            ],
        }


@dataclass(slots=True)
class Tally:
    """Operations of one kind, counted."""

    operations: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    agents: Counter[str] = field(default_factory=Counter)
    entities: Counter[str] = field(default_factory=Counter)

    def add(self, line: Line) -> None:
        """Count one more; an operation with several codes counts under each."""
        self.operations += 1
        self.reasons.update(line.reasons)
        self.agents[line.agent] += 1
        self.entities[line.entity_id] += 1

    def to_dict(self) -> dict[str, Any]:
        """The numbers as JSON-ready data, in the order of names."""
        return {
            "operations": self.operations,
            "by_reason": dict(sorted(self.reasons.items())),
            "by_agent": dict(sorted(self.agents.items())),
            "by_entity": dict(sorted(self.entities.items())),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """What became of refusals, by the audit log.

    ``shadowed`` were let pass and would be refused if the rollout enforced everything, ``bypassed`` were let pass by a
    bypass, ``refused`` were refused with a code that a rollout may let pass, ``always`` with one that it may not.
    ``writes`` is the number of all operations that were looked at, ``since`` the time of the first one.
    """

    state: State
    since: str | None
    writes: int
    shadowed: Tally
    bypassed: Tally
    refused: Tally
    always: Tally
    damaged: tuple[Damage, ...]

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data."""
        return {
            "mode": self.state.mode,
            "canary": self.state.canary,
            "since": self.since,
            "writes": self.writes,
            "shadowed": self.shadowed.to_dict(),
            "bypassed": self.bypassed.to_dict(),
            "refused": self.refused.to_dict(),
            "always": self.always.to_dict(),
            "damaged": [damage.to_dict() for damage in self.damaged],
        }


def rollout_state(workspace: Workspace) -> State:
    """How the rollout of a root stands. Raises ``ConfigError``."""
    refuse_no_root(workspace.config)
    rollout = workspace.config.rollout
    entities = {entity: enforces(rollout, entity) for entity in _entities(workspace)}
    return State(rollout.mode, rollout.canary, current_bypass(workspace), entities)


def _entities(workspace: Workspace) -> Iterator[str]:
    """The entities of all profiles. Their names decide, so a profile that is not right has them too."""
    for name in profile_names(workspace.config.profiles_dir):
        yield from (f"{name}/{target}" for target in FILE_NAMES)


def rollout_report(workspace: Workspace, wanted: Filter = EVERYTHING) -> Report:
    """What the rollout let pass, and what it refused. Raises ``StoreError`` and ``ConfigError``."""
    audit = read_audit(workspace, wanted)
    writes = [line for line in audit.lines if line.op != "bypass"]
    refused = [line for line in writes if line.status == "refused"]
    return Report(
        state=rollout_state(workspace),
        since=writes[0].ts if writes else None,
        writes=len(writes),
        shadowed=_tally(line for line in writes if line.status == "shadowed"),
        bypassed=_tally(line for line in writes if line.status == "bypassed"),
        refused=_tally(line for line in refused if line.reason in SOFT),
        always=_tally(line for line in refused if line.reason not in SOFT),
        damaged=audit.damaged,
    )


def _tally(lines: Iterable[Line]) -> Tally:
    tally = Tally()
    for line in lines:
        tally.add(line)
    return tally
