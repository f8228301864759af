"""``catmem.merge`` against scripts of edits, of which each knows what it did to which entry (``tests.merging.oracle``)."""

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from tests.lengths import at_length
from tests.merging.count import made, of_kind, wrong_among
from tests.merging.oracle import GRAVE, check, mistakes, shown
from tests.merging.scripts import scene

SCENES = at_length(3_000, 1_000)
"""`python -m tests.merging.count` and `python -m tests.torture merges` make 20,000."""


@pytest.fixture(scope="module")
def found():
    return wrong_among(range(SCENES))


@pytest.mark.parametrize("kind", sorted(GRAVE))
def test_no_merge_of_many_has_a_mistake_of_this_kind(found, kind):
    seeds = of_kind(found, kind)
    for seed in seeds[:2]:
        print(f"--- python -m tests.merging.count --merges 1 --seed {seed}")
        shown(made(seed), found[seed], print)
    assert seeds == []


@given(st.randoms(use_true_random=False))
def test_a_merge_does_what_both_scripts_meant_and_tells_every_conflict(random):
    # A merge each way round and one for each winner: 24,000 in the thorough profile.
    drawn = scene(random)
    check(drawn)
    wrong = [mistake for mistake in mistakes(drawn) if mistake.kind in GRAVE]
    if wrong:
        shown(drawn, wrong, note)
    assert wrong == []
