"""The long run of modelled crashes: every state of every run, and every mutant."""

from __future__ import annotations

from shutil import rmtree
from typing import TYPE_CHECKING

from tests.crashmodel.mutants import MUTANTS, SOUND
from tests.crashmodel.states import RUNS, recover, states_of
from tests.torture import Outcome, Task, row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.crashmodel.disk import State


@row("crash-states", seconds=120)
def states_and_mutants(task: Task) -> Outcome:
    """Crashes before every call of four runs and random ones, with recovery; then twelve broken protocols."""
    caught = [name for name, mutant in MUTANTS.items() if _is_caught(task, name)]
    states = _states(task.folder)
    for _ in task.steps():
        recover(task.folder / "crashed", next(states))
    missed = sorted(set(MUTANTS) - set(caught))
    failed = f"not caught: {', '.join(missed)}" if missed else ""
    return task.outcome(failed=failed, note=f"{len(caught)} of {len(MUTANTS)} mutants caught")


def _states(folder: Path) -> Iterator[State]:
    """The states of the four runs, then those of random ones."""
    for name in (*RUNS, *range(1_000_000)):
        yield from states_of(folder / str(name), name)
        rmtree(folder / str(name))


def _is_caught(task: Task, name: str) -> bool:
    mutant = MUTANTS[name]
    mutant.caught_by(task.folder / f"sound {name}", SOUND)
    try:
        mutant.caught_by(task.folder / name, mutant.way)
    except AssertionError:
        return True
    return False
