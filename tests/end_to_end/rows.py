"""The long run of racing agents, one row a store: half of the writes refused where stale, half kept as branches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from catmem.service.simulating.plan import Trial
from catmem.service.simulating.race import race
from tests.sql import server
from tests.torture import Outcome, Skip, Task, row

if TYPE_CHECKING:
    from catmem.service.simulating.plan import Guard

GUARDS: tuple[Literal["refuse", "branch"], ...] = ("refuse", "branch")


def _raced(task: Task, place: str) -> Outcome:
    done = lost = 0
    notes: list[str] = []
    for guard in GUARDS:
        outcome = _race(guard, place, (task.asked or 0) // len(GUARDS))
        done += outcome.acknowledged
        lost += outcome.silent_overwrites + outcome.unrecorded + (not outcome.rebuilt)
        notes.append(f"{guard}: {outcome.conflicts:,} conflicts, {outcome.branches:,} branches")
    return Outcome(done, f"{lost} facts lost, or heads not rebuilt" if lost else "", f"{lost} lost; {'; '.join(notes)}")


def _race(guard: Guard, place: str, writes: int):
    return race(Trial(writes=writes), guard, [place])


@row("stale-writes", of="files", seconds=40, cores=2)
def files(task: Task) -> Outcome:
    """Eight processes on four files."""
    return _raced(task, "files")


@row("stale-writes", of="sqlite", seconds=40, cores=2)
def sqlite(task: Task) -> Outcome:
    """Eight processes on one SQLite database."""
    return _raced(task, "sqlite:///race.db")


@row("stale-writes", of="postgresql", seconds=40, cores=2)
def postgresql(task: Task) -> Outcome:
    """Eight processes on one PostgreSQL database."""
    if server.MISSING:
        raise Skip(server.MISSING)
    return _raced(task, server.url("stale_writes"))
