"""The plan of a simulation."""

from __future__ import annotations

import pytest

from catmem.plugins.simulate.simulation import Trial
from tests.together import together


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


def test_thinking_takes_the_mean_that_was_asked_for():
    trial = Trial(agents=1, writes=10_000, think=0.01)
    assert sum(pause for _, pause in trial.steps(1)) / 10_000 == pytest.approx(0.01, rel=0.1)
