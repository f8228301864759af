"""Modelled crashes: at any moment, whatever the disk kept of what nobody had synced, nothing acknowledged is lost."""

from __future__ import annotations

import pytest

from tests.crashmodel.states import RUNS, recover, states_of

SAMPLE = 130


@pytest.mark.parametrize("name", RUNS)
def test_a_sample_of_all_states(tmp_path, name):
    states = states_of(tmp_path / "run", name)
    assert len(states) > 50
    for number, state in enumerate(states[:: max(1, len(states) // SAMPLE)]):
        recover(tmp_path / str(number), state)
