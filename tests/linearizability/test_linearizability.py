"""Concurrent compare-and-swap is linearizable in every store, and the checker catches stores that it is not in."""

from collections import Counter
from itertools import pairwise

import pytest

from tests.lengths import at_length
from tests.linearizability.broken import BROKEN
from tests.linearizability.checker import check
from tests.linearizability.work import folders, in_processes, replayed
from tests.linearizability.work import in_threads as threads_on
from tests.store.memory import InMemoryStore
from tests.store.stores import kinds

pytestmark = pytest.mark.torture

OPERATIONS = at_length(1_000, 500)


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
    assert any(is_a_race(one_race(kind, folder, in_threads=True)) for folder in folders(tmp_path))


@pytest.mark.parametrize("kind", kinds(lasting=True))
def test_processes(kind, tmp_path):
    assert any(is_a_race(one_race(kind, folder, in_threads=False)) for folder in folders(tmp_path))


def one_race(kind, folder, *, in_threads):
    """The history of one race, without a violation. On a busy machine it may be no race: then another is run."""
    if not in_threads:
        history = in_processes(kind.name, folder, OPERATIONS)
    store = kind.make(folder)
    if in_threads:
        history = threads_on(store, OPERATIONS)
    assert check(history, replayed(store)) == []
    store.close()
    return history


def is_a_race(history):
    return enough(history, OPERATIONS) and concurrent(history) > 20


def test_a_worker_alone_makes_a_history_too():
    store = InMemoryStore()
    assert check(threads_on(store, 200, workers=1), replayed(store)) == []


@pytest.mark.parametrize(("broken", "code"), BROKEN.items(), ids=lambda part: getattr(part, "__name__", part))
def test_a_broken_store_is_caught(broken, code):
    store = broken()
    history = threads_on(store, OPERATIONS)
    assert code in {violation.code for violation in check(history, replayed(store))}
