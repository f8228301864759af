"""The story of the stale write, on every store; then many writes that race, and what the log says of them.

A and B have both read revision 7. A writes 8. B, still on 7, writes an 8 of its own. What must never be: that the head
is B's text, made of an old copy, and A's fact is gone without a word.
"""

import pytest

from catmem.plugins.simulate.simulation import Trial, first_text, race, with_fact
from catmem.store.contract import Change
from tests.lengths import at_length
from tests.sql import server

ENTITY = "trinity/user"
WRITES = at_length(200, 100)
"""The long run (`python -m tests.torture stale-writes`) makes 1,000 of each."""
PROCESSES = at_length(4, 2)
RACED = [
    pytest.param("files", id="files"),
    pytest.param("sqlite:///race.db", id="sqlite"),
    pytest.param("postgresql", id="postgresql", marks=pytest.mark.postgresql),
]


@pytest.fixture
def store(kind, tmp_path):
    """A store at revision 7."""
    store = kind.make(tmp_path)
    store.commit(ENTITY, "0", lambda _: first_text(), Change(agent="setup"))
    for number in range(2, 8):
        store.commit(
            ENTITY, str(number - 1), lambda now, n=number: with_fact(now.data, "office", f"s-{n}")[0], Change()
        )
    yield store
    store.close()


def write(store, seen, subject, value, agent, **change):
    """Write the copy that `agent` has seen back, with its fact in it."""
    data, _ = with_fact(seen.data, subject, value)
    return store.commit(ENTITY, seen.revision, lambda _: data, Change(agent=agent, **change))


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


@pytest.mark.parametrize("where", RACED)
def test_without_guards_the_same_race_loses_facts(place):
    # What is counted above can be counted: the same writes by the same agents, and nothing to refuse them.
    outcome = race(Trial(writes=WRITES, think=0.002, processes=PROCESSES), "none", place)
    assert outcome.acknowledged == WRITES
    assert outcome.silent_overwrites > 0
    assert outcome.unrecorded == 0
    assert outcome.kappa < 1
