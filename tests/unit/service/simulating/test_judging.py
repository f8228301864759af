"""What counts as lost, and how agreement is measured."""

from __future__ import annotations

import pytest

from catmem.service.simulating.agent import Told
from catmem.service.simulating.facts import first_text, with_fact
from catmem.service.simulating.judging import fleiss_kappa, history_of, silent_overwrites, unrecorded, views
from catmem.store.contract import Change
from catmem.store.memory import MemoryStore

ENTITY = "shared-1/user"


@pytest.fixture
def store():
    store = MemoryStore()
    store.commit(ENTITY, "0", lambda _: first_text(), Change())
    return store


def write(store, seen, subject, value, **change):
    """Write a copy of the file back with one fact changed, as an agent does that saw `seen`."""
    data, removed = with_fact(seen, subject, value)
    note = {"subject": subject, "wrote": value, "removed": removed}
    return store.commit(ENTITY, None, lambda _: data, Change(op_id=value, note=note, **change)).data


def told(name, *facts):
    return Told(name, [[ENTITY, subject, value] for subject, value in facts])


def test_a_copy_that_is_written_back_whole_loses_what_came_between(store):
    seen = store.read(ENTITY).data
    write(store, seen, "vendor", "1-1")
    write(store, seen, "office", "2-1")
    agents = [told("agent-1", ("vendor", "1-1")), told("agent-2", ("office", "2-1"))]
    histories = {ENTITY: history_of(store, ENTITY)}
    assert silent_overwrites(agents, histories) == 1
    assert unrecorded(agents, histories) == 0


def test_what_somebody_saw_and_changed_is_not_lost(store):
    now = write(store, store.read(ENTITY).data, "vendor", "1-1")
    write(store, now, "vendor", "2-1")
    agents = [told("agent-1", ("vendor", "1-1")), told("agent-2", ("vendor", "2-1"))]
    histories = {ENTITY: history_of(store, ENTITY)}
    assert silent_overwrites(agents, histories) == 0
    assert fleiss_kappa(views(agents, histories)) == 1


def test_an_acknowledged_fact_that_no_record_has_is_counted(store):
    agents = [told("agent-1", ("vendor", "1-1"))]
    histories = {ENTITY: history_of(store, ENTITY)}
    assert unrecorded(agents, histories) == silent_overwrites(agents, histories) == 1


def test_an_agent_believes_its_own_word_where_it_vanished_and_the_memory_elsewhere(store):
    seen = store.read(ENTITY).data
    write(store, seen, "vendor", "1-1")
    write(store, seen, "vendor", "2-1")
    agents = [told("agent-1", ("vendor", "1-1")), told("agent-2", ("vendor", "2-1"))]
    first, second = views(agents, {ENTITY: history_of(store, ENTITY)})
    assert {place for place in first if first[place] != second[place]} == {(ENTITY, "vendor")}
    assert (first[ENTITY, "vendor"], second[ENTITY, "vendor"]) == ("1-1", "2-1")


def test_an_added_fact_that_vanished_is_a_subject_that_the_others_do_not_know(store):
    seen = store.read(ENTITY).data
    write(store, seen, "note 1-1", "1-1")
    write(store, seen, "vendor", "2-1")
    agents = [told("agent-1", ("note 1-1", "1-1")), told("agent-2", ("vendor", "2-1"))]
    first, second = views(agents, {ENTITY: history_of(store, ENTITY)})
    assert (first[ENTITY, "note 1-1"], second[ENTITY, "note 1-1"]) == ("1-1", "")


def test_the_log_tells_branches_and_merges_and_gives_the_head(store):
    data, _ = with_fact(store.read(ENTITY).data, "vendor", "1-1")
    write(store, store.read(ENTITY).data, "office", "2-1")
    store.commit(ENTITY, "1", lambda _: data, Change(on_stale="branch"))
    store.commit(ENTITY, "2", lambda current: current.data, Change(op="merge", merges=("2a",)))
    history = history_of(store, ENTITY)
    assert (history.branches, history.merges, history.rebuilt) == (1, 1, True)


# A worked example that is often printed (not that of Fleiss's paper): 14 raters, 10 subjects, 5 categories; kappa is 0.210.
COUNTS = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip


def ratings(counts):
    """The mapping of each rater; who rated what does not matter, only how many."""
    rows = [[str(category) for category, count in enumerate(row) for _ in range(count)] for row in counts]
    return [{("e", str(subject)): row[rater] for subject, row in enumerate(rows)} for rater in range(len(rows[0]))]


def test_kappa_of_a_published_example():
    assert fleiss_kappa(ratings(COUNTS)) == pytest.approx(0.210, abs=0.0005)


@pytest.mark.parametrize(
    ("counts", "kappa"),
    [
        pytest.param([(2, 0), (0, 2)], 1, id="all agree"),
        pytest.param([(1, 1), (1, 1)], -1, id="nobody agrees"),
        pytest.param([(3, 0), (3, 0)], 1, id="nothing else was to be expected"),
        pytest.param([(1, 0), (0, 1)], 1, id="one rater"),
    ],
)
def test_kappa_at_its_ends(counts, kappa):
    assert fleiss_kappa(ratings(counts)) == pytest.approx(kappa)


def test_kappa_of_nobody_is_1():
    assert fleiss_kappa([]) == 1
