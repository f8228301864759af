"""The long runs: outsiders between every two system calls, kills and failing disks at every one, and stops of the machine."""

from __future__ import annotations

from itertools import islice, takewhile
from random import Random
from typing import TYPE_CHECKING, Any

from tests.crash.failing import fail_at, faults
from tests.crash.fallbacks import WITHOUT, operations, without
from tests.crash.interleavings import BEGINNINGS, Ran, interleave, one_deep, two_deep
from tests.crash.kills import BY_PERSONS, OPERATIONS, Kill, every_kill, kill_at
from tests.crash.mutants import MUTANTS, Protocol
from tests.crash.outsiders import KINDS
from tests.crash.scene import quick_folder, trial_in
from tests.crash.states import stop, tell, tell_at_random
from tests.torture import Outcome, Task, row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@row("interleavings", of="one outsider", seconds=60)
def one_outsider(task: Task) -> Outcome:
    """Every kind of outsider before every call of every beginning."""
    with quick_folder(task.folder) as folder:
        trials = _one_by_one(folder, step=20 if task.quick else 1)
        done = sum(1 for _ in takewhile(lambda _: task.left(), trials))
        asked = done + sum(1 for _ in islice(trials, 1))
    return Outcome(done, note=f"{len(KINDS)} kinds, {len(BEGINNINGS)} beginnings; {KEPT}", asked=asked)


def _one_by_one(folder: Path, step: int) -> Iterator[Ran]:
    for beginning in BEGINNINGS:
        for kind in KINDS:
            yield from one_deep(folder, beginning, kind, step=step)


@row("interleavings", of="two outsiders", seconds=120)
def two_outsiders(task: Task) -> Outcome:
    """Pairs of outsiders before any two calls, half of them close together."""
    with quick_folder(task.folder) as folder:
        for number in task.steps():
            if number >= (task.asked or 200):
                break
            beginning, actions = two_deep(number)
            with trial_in(folder) as root:
                interleave(root, beginning, actions)
    return task.outcome(note=KEPT)


KEPT = "0 lost, 0 doubled, 0 made on half a file"


@row("syscall-kills", seconds=180)
def kills_at_every_call(task: Task) -> Outcome:
    """Every mutating operation, killed before each of its calls and in the middle of each write.

    Then the same with an outsider who writes before the recovery, with the recovery killed too, and without leases and
    exchange, a part of each.
    """
    with quick_folder(task.folder) as folder:
        every = [(name, kill) for name in OPERATIONS for kill in every_kill(folder, OPERATIONS[name])]
        chosen = every[::20] if task.quick else every
        todo: list[tuple[str, Kill, dict[str, Any]]] = [(name, kill, {}) for name, kill in chosen]
        harder = every[::40] if task.quick else every
        for number, (name, kill) in enumerate(harder):
            if name not in BY_PERSONS:
                todo.append((name, kill, {"meanwhile": MEANWHILE[number % len(MEANWHILE)]}))
            todo.append((name, kill, {"again": Kill(10 + number % 60)}))
            names = WITHOUT[number % len(WITHOUT)]
            if name in operations(names):
                todo.append((name, kill, {"under": without(names)}))
        for number in task.steps():
            if number >= len(todo):
                break
            name, kill, how = todo[number]
            with trial_in(folder) as root:
                kill_at(root, OPERATIONS[name], kill, **how)
    note = f"all {len(every):,} of {len(OPERATIONS)} operations, and as many with more going wrong"
    return Outcome(task.done, note=note, asked=len(todo))


MEANWHILE = ("append", "rename over", "truncate and rewrite", "sed -i", "delete")


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


@row("crash-states", seconds=180)
def stops_of_the_machine(task: Task) -> Outcome:
    """States that a stop of the machine can leave of many stories, a third of them with another stop in the recovery."""
    states = set()
    with quick_folder(task.folder) as folder:
        moments = tell(folder / "story")
        for number in task.steps():
            chance = Random(number)
            if number % STORY == STORY - 1:
                with trial_in(folder) as root:
                    moments = tell_at_random(root, chance)
            with trial_in(folder) as root:
                states.add(stop(root, chance.choice(moments), chance))
    return task.outcome(note=f"{len(states):,} different ones; 0 acknowledged writes lost")


STORY = 200
"""States of one story, before the next is told."""


@row("crash-states", of="mutants", seconds=15)
def mutants(task: Task) -> Outcome:
    """Twelve wrong protocols, each of which a check must catch that the right one passes."""
    with quick_folder(task.folder) as folder:
        caught = [name for name in MUTANTS if _is_caught(folder, name)]
    missed = sorted(set(MUTANTS) - set(caught))
    failed = f"not caught: {', '.join(missed)}" if missed else ""
    return Outcome(len(caught), failed, f"{len(caught)} of {len(MUTANTS)} mutants", asked=len(MUTANTS))


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
