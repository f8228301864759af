"""An outsider acts between every two system calls of a commit: nothing is lost, doubled, or made on half a file."""

import pytest

from tests.crash.interleavings import BEGINNINGS, interleave, one_deep, two_deep
from tests.crash.outsiders import KINDS
from tests.crash.scene import trial_in
from tests.lengths import at_length

pytestmark = pytest.mark.torture

STEP = at_length(5, 8)
"""Of the rarer beginnings the default suite tries every eighth call, `make torture` each."""
USUAL = at_length(1, 2)
"""Of the usual one every second call; `make torture` tries each."""


@pytest.mark.parametrize("kind", KINDS)
def test_one_outsider_before_the_calls_of_a_commit(folder, kind):
    first = list(KINDS).index(kind) % USUAL
    assert sum(1 for _ in one_deep(folder, "a file", kind, first=first, step=USUAL)) > 50 // USUAL


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beginning", [each for each in BEGINNINGS if each != "a file"])
def test_one_outsider_before_some_calls_of_rarer_commits(folder, beginning, kind):
    first = list(KINDS).index(kind) % STEP
    assert sum(1 for _ in one_deep(folder, beginning, kind, first=first, step=STEP)) >= 50 // STEP


@pytest.mark.parametrize("start", range(0, at_length(200, 100), 50))
def test_two_outsiders(folder, start):
    for number in range(start, start + 50):
        beginning, actions = two_deep(number)
        with trial_in(folder) as root:
            interleave(root, beginning, actions)
