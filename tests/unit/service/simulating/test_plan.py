"""The plan of a simulation, the facts that it writes, and which shard has what."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catmem.service.simulating.facts import facts, first_text, with_fact
from catmem.service.simulating.plan import SUBJECTS, Trial
from catmem.service.simulating.shards import shard_of

ENTITIES = [f"shared-{number}/user" for number in range(1, 2_001)]


def test_the_same_seed_gives_the_same_plan():
    plan = {name: Trial(seed=3).steps(name) for name in Trial().names()}
    assert plan == {name: Trial(seed=3).steps(name) for name in Trial().names()}
    assert plan != {name: Trial(seed=4).steps(name) for name in Trial().names()}


@pytest.mark.parametrize(("agents", "writes"), [(8, 1_000), (3, 10), (5, 2), (1, 7)])
def test_the_agents_share_the_writes_and_no_value_is_written_twice(agents, writes):
    trial = Trial(agents=agents, writes=writes)
    steps = [step for name in trial.names() for step in trial.steps(name)]
    assert len(steps) == len({step.value for step in steps}) == writes
    assert {step.entity for step in steps} <= set(trial.entity_names())


@pytest.mark.parametrize("processes", [1, 3, 8, 12])
def test_every_agent_runs_in_one_process(processes):
    trial = Trial(processes=processes)
    assert sorted(name for each in range(processes) for name in trial.team(each)) == sorted(trial.names())


def test_thinking_takes_the_mean_that_was_asked_for():
    trial = Trial(agents=1, writes=10_000, think=0.01)
    assert sum(step.pause for step in trial.steps("agent-1")) / 10_000 == pytest.approx(0.01, rel=0.1)


# --- facts ----------------------------------------------------------------------------------------------------------


def test_a_file_starts_with_a_fact_of_each_subject():
    assert facts(first_text()) == dict.fromkeys(SUBJECTS, ("start",))


def test_a_fact_takes_the_place_of_what_was_said_of_its_subject():
    data, removed = with_fact(first_text(), "vendor", "3-1")
    assert removed == ["start"]
    assert facts(data) == {**facts(first_text()), "vendor": ("3-1",)}


def test_a_fact_of_a_new_subject_is_added():
    data, removed = with_fact(first_text(), "note 3-1", "3-1")
    assert removed == []
    assert facts(data) == {**facts(first_text()), "note 3-1": ("3-1",)}


def test_both_sides_of_a_conflict_are_seen_and_go_together():
    data = b"## Shared Facts\nvendor is 2-1.\n\xc2\xa7\nvendor is 1-1.\n"
    assert facts(data) == {"vendor": ("1-1", "2-1")}
    after, removed = with_fact(data, "vendor", "3-1")
    assert (facts(after), sorted(removed)) == ({"vendor": ("3-1",)}, ["1-1", "2-1"])


# --- shards ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.text(min_size=1), min_size=1, max_size=8, unique=True), st.text())
def test_the_order_of_the_shards_does_not_matter(shards, entity):
    assert shard_of(entity, shards) == shard_of(entity, shards[::-1])


@given(st.lists(st.text(min_size=1), min_size=2, max_size=8, unique=True), st.text())
def test_a_shard_that_is_added_takes_entities_and_moves_none_between_the_others(shards, entity):
    *before, added = shards
    assert shard_of(entity, shards) in {shard_of(entity, before), added}


def test_shards_have_about_the_same_share():
    counts = Counter(shard_of(entity, ["a", "b", "c", "d"]) for entity in ENTITIES)
    assert all(400 < count < 600 for count in counts.values())


def test_a_shard_that_is_added_takes_its_share_and_no_more():
    moved = sum(shard_of(each, ["a", "b", "c"]) != shard_of(each, ["a", "b", "c", "d"]) for each in ENTITIES)
    assert 400 < moved < 600
