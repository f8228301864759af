"""Random trees and changes: no byte outside of a block changes, all are given back, and no canary is seen."""

import pytest

from tests.harnesses.trees import faults, trial


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_random_trees(first):
    assert {seed: faults(trial(seed)) for seed in range(first, first + 10)} == {
        seed: {} for seed in range(first, first + 10)
    }


def test_many_random_trees():
    """The figures of docs/harnesses.md come from `python -m tests.harnesses.trees 20000`."""
    assert [seed for seed in range(1000, 2500) if faults(trial(seed))] == []
