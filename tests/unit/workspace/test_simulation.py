"""The facts that a simulation writes, what counts as lost, how agreement is measured, and its plan."""

import pytest

from catmem.plugins.simulate.operations import (
    RaceFact,
    RaceHistory,
    Trial,
    facts,
    first_text,
    fleiss_kappa,
    with_fact,
)
from catmem.store.contract import Change
from tests.store.memory import InMemoryStore
from tests.together import together

ENTITY = "shared-1/user"


BOTH = b"## Shared Facts\nvendor is 2-1.\n\xc2\xa7\nvendor is 1-1.\n"


@together(
    ("before", "subject", "gone"),
    [(first_text(), "vendor", ["start"]), (first_text(), "note 3-1", []), (BOTH, "vendor", ["1-1", "2-1"])],
    ids=["in the place of what was said", "of a new subject", "in the place of both sides of a conflict"],
)
def test_a_fact_takes_the_place_of_all_that_was_said_of_its_subject(before, subject, gone):
    after, removed = with_fact(before, subject, "3-1")
    assert removed == gone == facts(before).get(subject, [])
    assert facts(after) == {**facts(before), subject: ["3-1"]}


# --- what is lost ---------------------------------------------------------------------------------------------------


@pytest.fixture
def store():
    store = InMemoryStore()
    store.commit(ENTITY, "0", lambda _: first_text(), Change())
    return store


def write(store, seen, subject, value, **change):
    """Write a copy of the file back with one fact changed, as an agent does that saw `seen`."""
    data, removed = with_fact(seen, subject, value)
    note = {"wrote": [value], "removed": removed}
    return store.commit(ENTITY, None, lambda _: data, Change(op_id=value, note=note, **change)).data


def history_of(store):
    history = RaceHistory()
    history.read(store, ENTITY)
    return history


VENDOR_1, VENDOR_2, OFFICE_2 = (
    RaceFact(ENTITY, "vendor", "1-1"),
    RaceFact(ENTITY, "vendor", "2-1"),
    RaceFact(ENTITY, "office", "2-1"),
)


def test_a_copy_that_is_written_back_whole_loses_what_came_between(store):
    history = history_of(store)
    assert (history.lost([VENDOR_1]), history.recorded) == ([VENDOR_1], set())  # acknowledged, and in no record
    seen = store.read(ENTITY).data
    write(store, seen, "vendor", "1-1")
    write(store, seen, "office", "2-1")
    history = history_of(store)
    assert history.lost([VENDOR_1, OFFICE_2]) == [VENDOR_1]
    assert history.recorded == {"1-1", "2-1"}


def test_what_somebody_saw_and_changed_is_not_lost(store):
    now = write(store, store.read(ENTITY).data, "vendor", "1-1")
    write(store, now, "vendor", "2-1")
    history = history_of(store)
    assert history.lost([VENDOR_1, VENDOR_2]) == []
    assert history.kappa([[VENDOR_1], [VENDOR_2]]) == 1


def test_an_agent_believes_its_own_word_where_it_vanished_and_the_memory_elsewhere(store):
    seen = store.read(ENTITY).data
    write(store, seen, "vendor", "1-1")
    write(store, seen, "vendor", "2-1")
    # Two agents, eight subjects, and they agree on all but one of them.
    believed = [["start"] * 7 + ["1-1"], ["start"] * 7 + ["2-1"]]
    assert history_of(store).kappa([[VENDOR_1], [VENDOR_2]]) == pytest.approx(fleiss_kappa(believed))


def test_the_log_tells_branches(store):
    data, _ = with_fact(store.read(ENTITY).data, "vendor", "1-1")
    write(store, store.read(ENTITY).data, "office", "2-1")
    store.commit(ENTITY, "1", lambda _: data, Change(on_stale="branch"))
    store.commit(ENTITY, "2", lambda current: current.data, Change(op="merge", merges=("2a",)))
    assert history_of(store).branches == 1


# --- agreement ------------------------------------------------------------------------------------------------------

# A worked example that is often printed (not that of Fleiss's paper): 14 raters, 10 subjects, 5 categories; kappa is 0.210.
COUNTS = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip


def ratings(counts):
    """What each rater says of each subject; who rated what does not matter, only how many."""
    rows = [[str(category) for category, count in enumerate(row) for _ in range(count)] for row in counts]
    return [[row[rater] for row in rows] for rater in range(len(rows[0]) if rows else 0)]


@together(
    ("counts", "kappa"),
    [
        (COUNTS, 0.210),
        ([], 1),
        ([(2, 0), (0, 2)], 1),
        ([(1, 1), (1, 1)], -1),
        ([(3, 0), (3, 0)], 1),  # nothing else was to be expected
        ([(1, 0), (0, 1)], 1),  # by one
    ],
)
def test_kappa_of_a_published_example_and_at_its_ends(counts, kappa):
    assert fleiss_kappa(ratings(counts)) == pytest.approx(kappa, abs=0.0005 if counts is COUNTS else None)


# --- the plan -------------------------------------------------------------------------------------------------------


def steps(trial):
    return {agent: list(trial.steps(agent)) for agent in range(1, trial.agents + 1)}


def test_the_same_seed_gives_the_same_plan():
    assert steps(Trial(seed=3)) == steps(Trial(seed=3)) != steps(Trial(seed=4))


@together(("agents", "writes"), [(8, 1_000), (3, 10), (5, 2), (1, 7)])
def test_the_agents_share_the_writes_and_no_value_is_written_twice(agents, writes):
    trial = Trial(agents=agents, writes=writes)
    facts = [fact for each in steps(trial).values() for fact, _ in each]
    assert len(facts) == len({fact.value for fact in facts}) == writes
    assert {fact.entity for fact in facts} <= set(trial.entity_names)
