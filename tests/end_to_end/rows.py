"""The long run of racing agents, one row a store: half of the writes refused where stale, half kept as branches."""

from collections import Counter
from typing import Literal

from catmem.plugins.simulate.operations import Trial, race
from tests.sql import server
from tests.torture import Outcome, Skip, Task, row

GUARDS: tuple[Literal["refuse", "branch"], ...] = ("refuse", "branch")
MOST, LEAST = 1_000, 25
"""Writes of one race."""


def _raced(task: Task, place: str) -> Outcome:
    lost = 0
    conflicts: Counter[str] = Counter()
    branches = 0
    for turn, size in enumerate(task.rounds(len(GUARDS) * MOST, len(GUARDS) * LEAST)):
        for guard in GUARDS:
            outcome = race(Trial(writes=-(-size // len(GUARDS)), seed=turn), guard, place)
            task.add(outcome.acknowledged)
            lost += outcome.silent_overwrites + outcome.unrecorded
            conflicts[guard] += outcome.conflicts
            branches += outcome.branches
    note = f"{lost} lost; {conflicts['refuse']:,} refused as stale, {branches:,} branches"
    return task.outcome(failed=f"{lost} facts lost" if lost else "", note=note)


@row("stale-writes", of="files", seconds=40, cores=2)
def files(task: Task) -> Outcome:
    """Eight processes on four files."""
    return _raced(task, "files")


@row("stale-writes", of="sqlite", seconds=40, cores=2)
def sqlite(task: Task) -> Outcome:
    """Eight processes on one SQLite database."""
    return _raced(task, "sqlite:///race.db")


@row("stale-writes", of="postgresql", seconds=50, cores=2)
def postgresql(task: Task) -> Outcome:
    """Eight processes on one PostgreSQL database."""
    if server.MISSING:
        raise Skip(server.MISSING)
    return _raced(task, server.server())
