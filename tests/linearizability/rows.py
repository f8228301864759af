"""The long runs of concurrent compare-and-swap, one row a store."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.linearizability.broken import BROKEN
from tests.linearizability.checker import check
from tests.linearizability.work import in_processes, in_threads, replayed
from tests.store.stores import named
from tests.torture import Outcome, Task, row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from catmem.store.contract import Store
    from tests.linearizability.checker import Operation, Violation

ROUND = 1_500
"""Operations on one entity, before the next begins on a fresh one."""


def _rounds(task: Task, one: Callable[[Path, int, int], tuple[list[Operation], list[Violation]]]) -> Outcome:
    """Run rounds until the figure is reached; ``one`` is given a folder, a number of operations and a seed."""
    kinds: Counter[str] = Counter()
    violations: list[Violation] = []
    turn = 0
    while task.left() and kinds.total() < (task.asked or 0):
        folder = task.folder / str(turn)
        folder.mkdir()
        history, found = one(folder, min(ROUND, task.asked or ROUND), turn)
        kinds.update(operation.kind for operation in history)
        violations += found
        turn += 1
    said = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    codes = Counter(violation.code for violation in violations)
    failed = f"{len(violations)} violations ({dict(codes)}), the first: {violations[0].text}" if violations else ""
    return Outcome(kinds.total(), failed, f"{len(violations)} violations; {said}")


@row("linearizability", of="memory", seconds=15)
def memory(task: Task) -> Outcome:
    """Threads on one store in memory; and the broken stores, of which each must be caught."""

    def one(folder: Path, operations: int, seed: int) -> tuple[list[Operation], list[Violation]]:
        store = named("memory").make(folder)
        history = in_threads(store, operations, seed=seed)
        return history, check(history, replayed(store))

    outcome = _rounds(task, one)
    missed = [broken.__name__ for broken, code in BROKEN.items() if not _caught(broken(), code)]
    note = f"{outcome.note}; {len(BROKEN) - len(missed)} of {len(BROKEN)} broken stores caught"
    return Outcome(outcome.done, outcome.failed or (f"not caught: {', '.join(missed)}" if missed else ""), note)


def _caught(store: Store, code: str) -> bool:
    history = in_threads(store, 1_000)
    return code in {violation.code for violation in check(history, replayed(store))}


@row("linearizability", of="files", seconds=100, cores=2)
def files(task: Task) -> Outcome:
    """Three processes on one file."""

    def one(folder: Path, operations: int, seed: int) -> tuple[list[Operation], list[Violation]]:
        history = in_processes("files", folder, operations, seed=seed)
        store = named("files").make(folder)
        found = check(history, replayed(store))
        store.close()
        return history, found

    return _rounds(task, one)
