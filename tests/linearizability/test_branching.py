"""In branch mode no write is lost: each that was acknowledged is in the head's line or in a branch, in every store."""

from collections import Counter

import pytest

from tests.lengths import at_length
from tests.linearizability.branching import branching_in_processes, branching_in_threads, check_branches
from tests.linearizability.broken import BROKEN_BRANCHES
from tests.linearizability.work import ENTITY, folders
from tests.store.stores import kinds

pytestmark = pytest.mark.torture

OPERATIONS = at_length(1_000, 500)


def found_in(store, answers):
    return check_branches(answers, list(store.replay(ENTITY)), store.branches(ENTITY))


def enough(answers):
    """Whether there are all kinds of answers, and most of those that were asked for."""
    done = Counter("branch" if each.branch else "merge" if each.merges else each.kind for each in answers)
    return len(answers) > 0.8 * OPERATIONS and min(done[kind] for kind in ("read", "write", "branch", "merge")) > 20


@pytest.mark.parametrize("kind", kinds())
def test_threads(kind, tmp_path):
    assert any(enough(one_race(kind, folder, in_threads=True)) for folder in folders(tmp_path))


@pytest.mark.parametrize("kind", kinds(lasting=True))
def test_processes(kind, tmp_path):
    assert any(enough(one_race(kind, folder, in_threads=False)) for folder in folders(tmp_path))


def one_race(kind, folder, *, in_threads):
    """The answers of one race, in which nothing was lost. On a busy machine it may be no race: then another is run."""
    if not in_threads:
        answers = branching_in_processes(kind.name, folder, OPERATIONS)
    store = kind.make(folder)
    if in_threads:
        answers = branching_in_threads(store, OPERATIONS)
    assert found_in(store, answers) == []
    store.close()
    return answers


@pytest.mark.parametrize(("broken", "code"), BROKEN_BRANCHES.items(), ids=lambda part: getattr(part, "__name__", part))
def test_a_broken_store_is_caught(broken, code):
    store = broken()
    answers = branching_in_threads(store, OPERATIONS)
    assert code in {each.code for each in found_in(store, answers)}
