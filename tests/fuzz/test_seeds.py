"""The fuzz targets on their seeds, on seeds with bytes changed, and on whatever hypothesis makes. ``make fuzz`` goes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.seeds import SEEDS
from tests.fuzz.targets import TARGETS
from tests.together import together

EACH = [(name, number) for name, seeds in SEEDS.items() for number in range(len(seeds))]


@together(("name", "number"), EACH)
def test_seeds(name, number):
    TARGETS[name](SEEDS[name][number])


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.data())
def test_changed_seeds(name, data):
    seed = bytearray(data.draw(st.sampled_from(SEEDS[name])))
    for _ in range(data.draw(st.integers(0, 4))):
        if seed:
            seed[data.draw(st.integers(0, len(seed) - 1))] = data.draw(st.integers(0, 255))
    TARGETS[name](bytes(seed))


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.binary(max_size=300))
def test_any_bytes(name, data):
    TARGETS[name](data)
