"""The long runs: outsiders between every two system calls, kills and failing disks at every one, and stops of the machine."""

from __future__ import annotations

from itertools import count, islice
from random import Random
from typing import TYPE_CHECKING

from tests.crash.failing import fail_at, faults
from tests.crash.interleavings import BEGINNINGS, interleave, one_deep, two_deep
from tests.crash.kills import OPERATIONS, every_kill, kill_at
from tests.crash.mutants import MUTANTS, Protocol
from tests.crash.outsiders import KINDS
from tests.crash.scene import quick_folder, trial_in
from tests.crash.states import stop, tell, tell_at_random
from tests.torture import Outcome, Task, row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@row("interleavings", seconds=150)
def outsiders_between_calls(task: Task) -> Outcome:
    """Every kind of outsider before every call of every beginning, then pairs of them."""
    with quick_folder(task.folder) as folder:
        trials = _trials(folder)
        for _ in islice(task.steps(), task.asked or 5_000):
            next(trials)
    return task.outcome(note="0 lost, 0 doubled, 0 made on half a file")


def _trials(folder: Path) -> Iterator[None]:
    for beginning in BEGINNINGS:
        for kind in KINDS:
            for _ in one_deep(folder, beginning, kind):
                yield
    for number in count():
        beginning, actions = two_deep(number)
        with trial_in(folder) as root:
            interleave(root, beginning, actions)
        yield


@row("syscall-kills", seconds=150)
def kills_at_every_call(task: Task) -> Outcome:
    """Every mutating operation, killed before each of its calls and in the middle of each write."""
    with quick_folder(task.folder) as folder:
        every = [(operation, kill) for operation in OPERATIONS.values() for kill in every_kill(folder, operation)]
        chosen = every[::20] if task.quick else every
        for number in task.steps():
            if number >= len(chosen):
                break
            operation, kill = chosen[number]
            with trial_in(folder) as root:
                kill_at(root, operation, kill)
    return Outcome(task.done, note=f"of {len(every):,} in {len(OPERATIONS)} operations", asked=len(chosen))


@row("errors", seconds=90)
def failing_disks(task: Task) -> Outcome:
    """Every mutating operation on a disk that fails at one call, or is full from then on."""
    with quick_folder(task.folder) as folder:
        every = []
        for name in OPERATIONS:
            with trial_in(folder) as root:
                every += [(name, fault) for fault in faults(fail_at(root, OPERATIONS[name], None).calls)]
        chosen = every[:: max(1, len(every) // (task.asked or len(every)))]
        for number in task.steps():
            if number >= len(chosen):
                break
            name, fault = chosen[number]
            with trial_in(folder) as root:
                fail_at(root, OPERATIONS[name], fault)
    return task.outcome(note=f"of {len(every):,}; the file was whole and the store usable each time")


@row("crash-states", seconds=120)
def stops_of_the_machine(task: Task) -> Outcome:
    """Random states that a stop of the machine can leave, with recovery; then twelve wrong protocols."""
    with quick_folder(task.folder) as folder:
        caught = [name for name in MUTANTS if _is_caught(folder, name)]
        moments = tell(folder / "story")
        for number in task.steps():
            chance = Random(number)
            if number % 1_000 == 999:
                moments = tell_at_random(folder / f"story {number}", chance)
            with trial_in(folder) as root:
                stop(root, chance.choice(moments), chance)
    missed = sorted(set(MUTANTS) - set(caught))
    failed = f"not caught: {', '.join(missed)}" if missed else ""
    return task.outcome(failed=failed, note=f"{len(caught)} of {len(MUTANTS)} mutants caught")


def _is_caught(folder: Path, name: str) -> bool:
    mutant = MUTANTS[name]
    with trial_in(folder) as root:
        root.mkdir(exist_ok=True)
        mutant.check(root, Protocol())
    with trial_in(folder) as root:
        root.mkdir(exist_ok=True)
        try:
            mutant.check(root, mutant.protocol)
        except AssertionError:
            return True
    return False
