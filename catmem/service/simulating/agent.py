"""One agent: it reads, thinks, writes, and notes what it was told."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from catmem.errors import BusyError, StaleError
from catmem.service.simulating.facts import with_fact
from catmem.store.contract import Change

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from catmem.service.simulating.plan import Guard, Step
    from catmem.store.contract import Snapshot, Store

_MOST_TRIES = 10_000


@dataclass(slots=True)
class Told:
    """What an agent was told: the values that were acknowledged, in order, as ``[entity, subject, value]``.

    ``conflicts`` are refusals because of an older view, ``busy`` those because somebody held the store too long.
    ``seconds`` are those that each write spent in the store, reading again and repeating included, thought left out;
    ``cpu`` is processor time in seconds, the agent's thread alone.
    """

    agent: str
    acknowledged: list[list[str]] = field(default_factory=list)
    conflicts: int = 0
    busy: int = 0
    seconds: list[float] = field(default_factory=list)
    cpu: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON-ready data."""
        return asdict(self)


@dataclass(slots=True)
class Agent:
    """An agent with a plan. ``store_of`` says which store has an entity."""

    name: str
    steps: Sequence[Step]
    store_of: Callable[[str], Store]
    guard: Guard

    def run(self) -> Told:
        """Make every write of the plan."""
        told = Told(self.name)
        start = time.thread_time()
        for step in self.steps:
            self._write(step, told)
        told.cpu = time.thread_time() - start
        return told

    def _write(self, step: Step, told: Told) -> None:
        store = self.store_of(step.entity)
        start = time.perf_counter()
        seen = store.read(step.entity)
        spent = time.perf_counter() - start
        time.sleep(step.pause)
        start = time.perf_counter()
        for _ in range(_MOST_TRIES):
            try:
                self._commit(store, step, seen)
            except StaleError:
                told.conflicts += 1
            except BusyError:
                told.busy += 1
            else:
                told.seconds.append(spent + time.perf_counter() - start)
                told.acknowledged.append([step.entity, step.subject, step.value])
                return
            seen = store.read(step.entity)
        raise RuntimeError(f"{self.name} was refused {_MOST_TRIES:,} times")

    def _commit(self, store: Store, step: Step, seen: Snapshot) -> None:
        """Write the copy that the agent has, with its fact in it, back whole."""
        data, removed = with_fact(seen.data, step.subject, step.value)
        change = Change(
            agent=self.name,
            op_id=f"{step.entity} {step.value}",
            note={"subject": step.subject, "wrote": step.value, "removed": removed},
            on_stale="branch" if self.guard == "branch" else "refuse",
        )
        expected = None if self.guard == "none" else seen.revision
        store.commit(step.entity, expected, lambda _: data, change)
