"""The long run: every fault of every beginning."""

from __future__ import annotations

from tests.injected.injected import BEGINNINGS, faults, meet
from tests.torture import Outcome, Task, row


@row("errors", seconds=60)
def every_fault(task: Task) -> Outcome:
    """EIO, ENOSPC, EDQUOT and short writes at every call of a commit, from five beginnings."""
    todo = [
        (name, fault)
        for name, beginning in BEGINNINGS.items()
        for fault in faults(task.folder / f"all {name}", beginning)
    ]
    if task.quick:
        todo = todo[:: max(1, len(todo) // 50)]
    for number in task.steps():
        if number >= len(todo):
            break
        name, fault = todo[number]
        meet(task.folder / str(number), BEGINNINGS[name], fault)
    return task.outcome(note="the file was old or new each time, and the store went on")
