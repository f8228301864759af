"""The long runs of concurrent compare-and-swap, one row a store."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from catmem.store.contract import Store
from tests.linearizability.branching import Found, branching_in_processes, check_branches
from tests.linearizability.broken import BROKEN
from tests.linearizability.checker import Violation, check
from tests.linearizability.work import ENTITY, in_processes, in_threads, replayed
from tests.store.stores import Kind, named
from tests.torture import Outcome, Skip, Task, row
from tests.torture.proofs import Proof

ROUND = 1_500
"""Operations on one entity, before the next begins on a fresh one."""

LEAST = 100


SECONDS = {"files": 60, "sqlite": 120, "postgresql": 200}
IN_BRANCHES = {"files": 40, "sqlite": 50, "postgresql": 100}
"""What the processes on each store take."""

BRANCHES = Proof("branches", "no write is lost in branch mode", 20_000, "operations")

Round: TypeAlias = "Callable[[Path, int, int], tuple[Sequence[str], list[Violation] | list[Found]]]"


def _rounds(task: Task, one: Round) -> Outcome:
    """Run rounds until the figure is reached. ``one`` is given a folder, a number of operations and a seed.

    It tells the kind of each operation, and what is wrong.
    """
    kinds: Counter[str] = Counter()
    wrong: list[Violation | Found] = []
    for turn, size in enumerate(task.rounds(ROUND, LEAST)):
        folder = task.folder / str(turn)
        folder.mkdir()
        done, found = one(folder, size, turn)
        task.add(len(done))
        kinds.update(done)
        wrong += found
    said = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    codes = Counter(each.code for each in wrong)
    failed = f"{len(wrong)} violations ({dict(codes)}), the first: {wrong[0].text}" if wrong else ""
    return task.outcome(failed=failed, note=f"{len(wrong)} violations; {said}")


@row("linearizability", of="memory", seconds=10)
def memory(task: Task) -> Outcome:
    """Threads on one store in memory; and the broken stores, of which each must be caught."""

    def one(folder: Path, operations: int, seed: int) -> tuple[list[str], list[Violation]]:
        store = named("memory").make(folder)
        history = in_threads(store, operations, seed=seed)
        return [operation.kind for operation in history], check(history, replayed(store))

    outcome = _rounds(task, one)
    missed = [broken.__name__ for broken, code in BROKEN.items() if not _caught(broken(), code)]
    told = f"not caught: {', '.join(missed)}" if missed else ""
    return replace(outcome, failed=outcome.failed or told, note=f"{outcome.note}; {told or 'all wrong stores caught'}")


def _caught(store: Store, code: str) -> bool:
    history = in_threads(store, 1_000)
    return code in {violation.code for violation in check(history, replayed(store))}


def _in_processes(kind: Kind, task: Task) -> Outcome:
    if kind.missing:
        raise Skip(kind.missing)

    def one(folder: Path, operations: int, seed: int) -> tuple[list[str], list[Violation]]:
        history = in_processes(kind.name, folder, operations, seed=seed)
        with closing(kind.make(folder)) as store:
            return [operation.kind for operation in history], check(history, replayed(store))

    return _rounds(task, one)


def _branching(kind: Kind, task: Task) -> Outcome:
    """Processes that write late, go on beside the head, and merge."""
    if kind.missing:
        raise Skip(kind.missing)

    def one(folder: Path, operations: int, seed: int) -> tuple[list[str], list[Found]]:
        answers = branching_in_processes(kind.name, folder, operations, seed=seed)
        done = ["branch" if each.branch else "merge" if each.merges else each.kind for each in answers]
        with closing(kind.make(folder)) as store:
            return done, check_branches(answers, list(store.replay(ENTITY)), store.branches(ENTITY))

    return _rounds(task, one)


for name, seconds in SECONDS.items():
    row("linearizability", of=name, seconds=seconds, cores=2)(partial(_in_processes, named(name)))
for name, seconds in IN_BRANCHES.items():
    row(BRANCHES, of=name, seconds=seconds, cores=2)(partial(_branching, named(name)))
