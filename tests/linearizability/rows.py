"""The long runs of concurrent compare-and-swap, one row a store."""

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from catmem.store.contract import Store
from tests.linearizability.branching import Found, branching_in_processes, check_branches
from tests.linearizability.broken import BROKEN
from tests.linearizability.checker import Operation, Violation, check
from tests.linearizability.work import ENTITY, in_processes, in_threads, replayed
from tests.store.stores import named
from tests.torture import Outcome, Skip, Task, row
from tests.torture.proofs import Proof

ROUND = 1_500
"""Operations on one entity, before the next begins on a fresh one."""

LEAST = 100


def _rounds(task: Task, one: Callable[[Path, int, int], tuple[list[Operation], list[Violation]]]) -> Outcome:
    """Run rounds until the figure is reached; ``one`` is given a folder, a number of operations and a seed."""
    kinds: Counter[str] = Counter()
    violations: list[Violation] = []
    for turn, size in enumerate(task.rounds(ROUND, LEAST)):
        folder = task.folder / str(turn)
        folder.mkdir()
        history, found = one(folder, size, turn)
        task.add(len(history))
        kinds.update(operation.kind for operation in history)
        violations += found
    said = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    codes = Counter(violation.code for violation in violations)
    failed = f"{len(violations)} violations ({dict(codes)}), the first: {violations[0].text}" if violations else ""
    return task.outcome(failed=failed, note=f"{len(violations)} violations; {said}")


@row("linearizability", of="memory", seconds=10)
def memory(task: Task) -> Outcome:
    """Threads on one store in memory; and the broken stores, of which each must be caught."""

    def one(folder: Path, operations: int, seed: int) -> tuple[list[Operation], list[Violation]]:
        store = named("memory").make(folder)
        history = in_threads(store, operations, seed=seed)
        return history, check(history, replayed(store))

    outcome = _rounds(task, one)
    missed = [broken.__name__ for broken, code in BROKEN.items() if not _caught(broken(), code)]
    told = f"not caught: {', '.join(missed)}" if missed else ""
    return replace(outcome, failed=outcome.failed or told, note=f"{outcome.note}; {told or 'all wrong stores caught'}")


def _caught(store: Store, code: str) -> bool:
    history = in_threads(store, 1_000)
    return code in {violation.code for violation in check(history, replayed(store))}


def _in_processes(task: Task, kind: str) -> Outcome:
    """Three processes on one entity."""
    if named(kind).missing:
        raise Skip(named(kind).missing)

    def one(folder: Path, operations: int, seed: int) -> tuple[list[Operation], list[Violation]]:
        history = in_processes(kind, folder, operations, seed=seed)
        with closing(named(kind).make(folder)) as store:
            return history, check(history, replayed(store))

    return _rounds(task, one)


@row("linearizability", of="files", seconds=60, cores=2)
def files(task: Task) -> Outcome:
    """Processes on one file."""
    return _in_processes(task, "files")


@row("linearizability", of="sqlite", seconds=120, cores=2)
def sqlite(task: Task) -> Outcome:
    """Processes on one SQLite database."""
    return _in_processes(task, "sqlite")


@row("linearizability", of="postgresql", seconds=200, cores=2)
def postgresql(task: Task) -> Outcome:
    """The same on one PostgreSQL server."""
    return _in_processes(task, "postgresql")


BRANCHES = Proof("branches", "no write is lost in branch mode", 20_000, "operations")


def _branching(task: Task, kind: str) -> Outcome:
    """Processes that write late, go on beside the head, and merge."""
    if named(kind).missing:
        raise Skip(named(kind).missing)
    kinds: Counter[str] = Counter()
    found: list[Found] = []
    for turn, size in enumerate(task.rounds(ROUND, LEAST)):
        folder = task.folder / str(turn)
        folder.mkdir()
        answers = branching_in_processes(kind, folder, size, seed=turn)
        with closing(named(kind).make(folder)) as store:
            found += check_branches(answers, list(store.replay(ENTITY)), store.branches(ENTITY))
        task.add(len(answers))
        kinds.update("branch" if each.branch else "merge" if each.merges else each.kind for each in answers)
    said = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    codes = Counter(each.code for each in found)
    failed = f"{len(found)} wrong ({dict(codes)}), the first: {found[0].text}" if found else ""
    return task.outcome(failed=failed, note=f"{len(found)} lost or out of place; {said}")


@row(BRANCHES, of="files", seconds=40, cores=2)
def branches_files(task: Task) -> Outcome:
    """On one file."""
    return _branching(task, "files")


@row(BRANCHES, of="sqlite", seconds=50, cores=2)
def branches_sqlite(task: Task) -> Outcome:
    """On one SQLite database."""
    return _branching(task, "sqlite")


@row(BRANCHES, of="postgresql", seconds=100, cores=2)
def branches_postgresql(task: Task) -> Outcome:
    """On one PostgreSQL server."""
    return _branching(task, "postgresql")
