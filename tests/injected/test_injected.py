"""A disk that fails: nothing is lost, the error says what to do, and the store can be used again."""

from __future__ import annotations

import pytest

from tests.injected.injected import BEGINNINGS, faults, meet


@pytest.mark.parametrize("name", BEGINNINGS)
def test_a_sample_of_all_faults(tmp_path, name):
    there = list(faults(tmp_path / "all", BEGINNINGS[name]))
    assert len(there) > 100
    for number, fault in enumerate(there[:: len(there) // 16]):
        meet(tmp_path / str(number), BEGINNINGS[name], fault)
