"""Concurrent compare-and-swap is linearizable in every store, and the checker catches stores that it is not in."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from catmem.store.memory import MemoryStore
from tests.linearizability.broken import BROKEN
from tests.linearizability.checker import check
from tests.linearizability.work import in_processes, in_threads, replayed
from tests.store.stores import kinds

OPERATIONS = 1_000


def enough(history, operations):
    """Whether the history holds all kinds of operations, and most of those that were asked for."""
    done = Counter(operation.kind for operation in history)
    return len(history) > 0.9 * operations and min(done[kind] for kind in ("read", "write", "refused", "retry")) > 20


def concurrent(history):
    """How many operations began before another worker's had ended."""
    ordered = sorted(history, key=lambda operation: operation.invoked)
    return sum(one.returned > other.invoked and one.worker != other.worker for one, other in pairwise(ordered))


@pytest.mark.parametrize("kind", kinds())
def test_threads(kind, tmp_path):
    store = kind.make(tmp_path)
    history = in_threads(store, OPERATIONS)
    assert check(history, replayed(store)) == []
    assert enough(history, OPERATIONS)
    assert concurrent(history) > 20
    store.close()


@pytest.mark.parametrize("kind", kinds(lasting=True))
def test_processes(kind, tmp_path):
    history = in_processes(kind.name, tmp_path, OPERATIONS)
    store = kind.make(tmp_path)
    assert check(history, replayed(store)) == []
    assert enough(history, OPERATIONS)
    assert concurrent(history) > 20
    store.close()


def test_a_worker_alone_makes_a_history_too():
    store = MemoryStore()
    assert check(in_threads(store, 200, workers=1), replayed(store)) == []


@pytest.mark.parametrize(("broken", "code"), BROKEN.items(), ids=lambda part: getattr(part, "__name__", part))
def test_a_broken_store_is_caught(broken, code):
    store = broken()
    history = in_threads(store, OPERATIONS)
    assert code in {violation.code for violation in check(history, replayed(store))}
