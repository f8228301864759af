"""The machine stops at any moment, and what was not waited for may be lost: all that was acknowledged is there."""

from __future__ import annotations

from random import Random

import pytest

from tests.crash.scene import quick_folder, trial_in
from tests.crash.states import stop, tell, tell_at_random

STATES = 500
AT_ONCE = 50


@pytest.fixture(scope="module")
def moments(tmp_path_factory):
    with quick_folder(tmp_path_factory.mktemp("told")) as folder:
        return [*tell(folder / "story"), *tell_at_random(folder / "another", Random(1))]


@pytest.mark.parametrize("start", range(0, STATES, AT_ONCE))
def test_a_stop_of_the_machine_loses_nothing_that_was_acknowledged(folder, moments, start):
    states = set()
    for number in range(start, start + AT_ONCE):
        chance = Random(number)
        with trial_in(folder) as root:
            states.add(stop(root, chance.choice(moments), chance))
    assert len(states) > AT_ONCE // 2, "the model should lose something different nearly every time"
