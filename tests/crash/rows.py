"""The long runs: outsiders between every two system calls, one and two deep, and kills at every system call."""

from __future__ import annotations

from itertools import count, islice
from typing import TYPE_CHECKING

from tests.crash.interleavings import BEGINNINGS, interleave, one_deep, two_deep
from tests.crash.kills import OPERATIONS, every_kill, kill_at
from tests.crash.outsiders import KINDS
from tests.crash.scene import quick_folder, trial_in
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
