"""In branch mode no write is lost: each that was acknowledged is in the head's line or in a branch, in every store."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.linearizability.branching import branching_in_processes, branching_in_threads, check_branches
from tests.linearizability.broken_branches import BROKEN_BRANCHES
from tests.linearizability.work import ENTITY
from tests.store.stores import kinds

OPERATIONS = 1_000


def found_in(store, answers):
    return check_branches(answers, list(store.replay(ENTITY)), store.branches(ENTITY))


def enough(answers):
    """Whether there are all kinds of answers, and most of those that were asked for."""
    done = Counter("branch" if each.branch else "merge" if each.merges else each.kind for each in answers)
    return len(answers) > 0.8 * OPERATIONS and min(done[kind] for kind in ("read", "write", "branch", "merge")) > 20


@pytest.mark.parametrize("kind", kinds())
def test_threads(kind, tmp_path):
    store = kind.make(tmp_path)
    answers = branching_in_threads(store, OPERATIONS)
    assert found_in(store, answers) == []
    assert enough(answers)
    store.close()


@pytest.mark.parametrize("kind", kinds(lasting=True))
def test_processes(kind, tmp_path):
    answers = branching_in_processes(kind.name, tmp_path, OPERATIONS)
    store = kind.make(tmp_path)
    assert found_in(store, answers) == []
    assert enough(answers)
    store.close()


@pytest.mark.parametrize(("broken", "code"), BROKEN_BRANCHES.items(), ids=lambda part: getattr(part, "__name__", part))
def test_a_broken_store_is_caught(broken, code):
    store = broken()
    answers = branching_in_threads(store, OPERATIONS)
    assert code in {each.code for each in found_in(store, answers)}
