"""Many writes that race, on every store: none goes over another without a word, and the log gives the head."""

import pytest

from catmem.plugins.simulate.simulation import Trial, race
from tests.lengths import at_length
from tests.sql import server

WRITES = at_length(200, 100)
"""The long run (`python -m tests.torture stale-writes`) makes 1,000 of each."""
PROCESSES = at_length(4, 2)
RACED = [
    pytest.param("files", id="files"),
    pytest.param("sqlite:///race.db", id="sqlite"),
    pytest.param("postgresql", id="postgresql", marks=pytest.mark.postgresql),
]


@pytest.fixture
def place(where):
    return server.url("stale_story") if where == "postgresql" else where


@pytest.mark.parametrize("where", RACED)
@pytest.mark.parametrize("guard", ["refuse", "branch"])
def test_racing_writes_lose_nothing(place, guard):
    outcome = race(Trial(writes=WRITES, think=0.002, processes=PROCESSES), guard, place)
    assert outcome.acknowledged == WRITES
    assert (outcome.silent_overwrites, outcome.unrecorded) == (0, 0)
    assert outcome.rebuilt
    assert outcome.kappa == 1
    if guard == "refuse":
        assert (outcome.conflicts > 0, outcome.branches) == (True, 0)
    else:
        assert (outcome.conflicts, outcome.branches > 0, outcome.merges) == (0, True, outcome.branches)
