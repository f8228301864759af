"""The long runs: outsiders between every two system calls, kills and failing disks at every one, and stops of the machine."""

from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from tests.crash.failing import fail_at, faults
from tests.crash.fallbacks import WITHOUT, operations, without
from tests.crash.interleavings import BEGINNINGS, interleave, one_deep, two_deep
from tests.crash.kills import BY_PERSONS, OPERATIONS, Kill, every_kill, kill_at
from tests.crash.mutants import MUTANTS, Protocol
from tests.crash.outsiders import KINDS
from tests.crash.scene import trial_in
from tests.crash.states import stop, tell, tell_at_random
from tests.torture import Outcome, Task, row


@row("interleavings", of="one outsider", seconds=30)
def one_outsider(task: Task) -> Outcome:
    """Every kind of outsider before every call of every beginning."""
    pairs = list(product(BEGINNINGS, KINDS))
    step, begun = max(1, int(1 / task.share)), 0
    task.asked = None
    for begun, (beginning, kind) in enumerate(pairs, 1):
        trials = one_deep(task.folder, beginning, kind, first=7 * begun % min(step, FEWEST), step=step)
        for _ in zip(task.steps(), trials, strict=False):
            pass
        if not task.left():
            break
    task.whole = step * task.done * len(pairs) // begun  # a good guess, where it did not try all
    return task.outcome(note=f"{len(KINDS)} kinds, {len(BEGINNINGS)} beginnings; {KEPT}")


FEWEST = 50
"""Calls of the shortest commit, about."""


@row("interleavings", of="two outsiders", seconds=30)
def two_outsiders(task: Task) -> Outcome:
    """Pairs of outsiders before any two calls, half of them close together."""
    for number in task.steps():
        beginning, actions = two_deep(number)
        with trial_in(task.folder) as root:
            interleave(root, beginning, actions)
    return task.outcome(note=KEPT)


KEPT = "0 lost, 0 doubled, 0 made on half a file"


@row("syscall-kills", seconds=60)
def kills_at_every_call(task: Task) -> Outcome:
    """Every mutating operation, killed before each of its calls and in the middle of each write.

    Then the same with an outsider who writes before the recovery, with the recovery killed too, and without leases and
    exchange, a part of each.
    """
    every = [(name, kill) for name in OPERATIONS for kill in every_kill(task.folder, OPERATIONS[name])]
    todo: list[tuple[str, Kill, dict[str, Any]]] = [(name, kill, {}) for name, kill in every]
    for number, (name, kill) in enumerate(every):
        if name not in BY_PERSONS:
            todo.append((name, kill, {"meanwhile": MEANWHILE[number % len(MEANWHILE)]}))
        todo.append((name, kill, {"again": Kill(10 + number % 60)}))
        names = WITHOUT[number % len(WITHOUT)]
        if name in operations(names):
            todo.append((name, kill, {"under": without(names)}))
    chosen = task.part(todo)
    for number in task.steps():
        name, kill, how = chosen[number]
        with trial_in(task.folder) as root:
            kill_at(root, OPERATIONS[name], kill, **how)
    return task.outcome(note=f"{len(every):,} of {len(OPERATIONS)} operations, and as many with more going wrong")


MEANWHILE = ("append", "rename over", "truncate and rewrite", "sed -i", "delete")


@row("errors", seconds=10)
def failing_disks(task: Task) -> Outcome:
    """Every mutating operation on a disk that fails at one call, or is full from then on."""
    every = []
    for name in OPERATIONS:
        with trial_in(task.folder) as root:
            every += [(name, fault) for fault in faults(fail_at(root, OPERATIONS[name], None).calls)]
    for number in task.steps():
        name, fault = every[number * len(every) // (task.asked or 1)]
        with trial_in(task.folder) as root:
            fail_at(root, OPERATIONS[name], fault)
    return task.outcome(note=f"of {len(every):,}; the file was whole and the store usable each time")


@row("crash-states", seconds=90)
def stops_of_the_machine(task: Task) -> Outcome:
    """States that a stop of the machine can leave of many stories, a third of them with another stop in the recovery."""
    states = set()
    moments = tell(task.folder / "story")
    for number in task.steps():
        chance = Random(number)
        if number % STORY == STORY - 1:
            with trial_in(task.folder) as root:
                moments = tell_at_random(root, chance)
        with trial_in(task.folder) as root:
            states.add(stop(root, chance.choice(moments), chance))
    return task.outcome(note=f"{len(states):,} different ones; 0 acknowledged writes lost")


STORY = 200
"""States of one story, before the next is told."""


@row("crash-states", of="mutants", seconds=15)
def mutants(task: Task) -> Outcome:
    """Twelve wrong protocols, each of which a check must catch that the right one passes."""
    chosen = task.part(list(MUTANTS))
    missed = [chosen[number] for number in task.steps() if not _is_caught(task.folder, chosen[number])]
    return task.outcome(failed=f"not caught: {', '.join(missed)}" if missed else "")


def _is_caught(folder: Path, name: str) -> bool:
    mutant = MUTANTS[name]
    with trial_in(folder) as root:
        mutant.check(root, Protocol())
    with trial_in(folder) as root:
        try:
            mutant.check(root, mutant.protocol)
        except AssertionError:
            return True
    return False
