"""The story of the stale write, on every store; then many writes that race, and what the log says of them.

A and B have both read revision 7. A writes 8. B, still on 7, writes an 8 of its own. What must never be: that the head
is B's text, made of an old copy, and A's fact is gone without a word.
"""

from __future__ import annotations

import pytest

from catmem.errors import StaleError
from catmem.plugins.simulate.simulation import Trial, facts, first_text, race, with_fact
from catmem.store.contract import Change
from tests.lengths import at_length
from tests.sql import server
from tests.store.stores import kinds

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


def rebuilt_head(store):
    """The bytes of the newest revision that is no branch, from the log alone."""
    return [data for recorded, data in store.replay(ENTITY) if not recorded.is_branch][-1]


@pytest.mark.parametrize("kind", kinds())
def test_the_second_writer_of_a_race_is_refused_and_the_head_is_the_first_ones(store):
    seen_by_a = seen_by_b = store.read(ENTITY)
    assert seen_by_b.revision == "7"
    written = write(store, seen_by_a, "vendor", "A", "a")
    with pytest.raises(StaleError) as refused:
        write(store, seen_by_b, "budget", "B", "b")
    assert (refused.value.expected, refused.value.found) == ("7", "8")
    now = store.read(ENTITY)
    assert (now.revision, now.data) == ("8", written.data) == ("8", rebuilt_head(store))
    again = write(store, now, "budget", "B", "b")
    assert again.revision == "9"
    assert {"vendor": ["A"], "budget": ["B"]}.items() <= facts(store.peek(ENTITY)).items()


@pytest.mark.parametrize("kind", kinds())
def test_the_second_writer_of_a_race_gets_a_branch_and_the_head_is_the_first_ones(store):
    seen_by_a = seen_by_b = store.read(ENTITY)
    written = write(store, seen_by_a, "vendor", "A", "a", on_stale="branch")
    beside = write(store, seen_by_b, "budget", "B", "b", on_stale="branch")
    assert (written.revision, beside.revision, beside.branch) == ("8", "8a", True)
    now = store.read(ENTITY)
    assert (now.revision, now.data) == ("8", written.data) == ("8", rebuilt_head(store))
    assert facts(store.read(ENTITY, "8a").data)["budget"] == ["B"]
    assert [each.revision for each in store.branches(ENTITY)] == ["8", "8a"]


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
