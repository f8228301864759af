"""For which entity a rollout enforces refusals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catmem.config.config import SOFT, Rollout, enforces, place_of

PLACES = {"neo/user": 21, "neo/memory": 51, "trinity/user": 15, "orchestrator/memory": 86, "\ud800/user": 68}


@pytest.mark.parametrize(("entity", "place"), PLACES.items())
def test_the_place_of_an_entity_never_changes(entity, place):
    assert place_of(entity) == place


@pytest.mark.parametrize(
    ("rollout", "enforced"),
    [
        (Rollout(), True),
        (Rollout("enforce"), True),
        (Rollout("shadow"), False),
        (Rollout("canary", 0), False),
        (Rollout("canary", 21), False),
        (Rollout("canary", 22), True),
        (Rollout("canary", 100), True),
    ],
)
def test_what_is_enforced_for_the_entity_at_place_21(rollout, enforced):
    assert enforces(rollout, "neo/user") is enforced


@given(st.text(), st.integers(0, 100), st.integers(0, 100))
def test_who_is_in_at_a_share_is_in_at_every_larger_one(entity, one, other):
    few, many = sorted((one, other))
    assert enforces(Rollout("canary", many), entity) or not enforces(Rollout("canary", few), entity)


def test_what_protects_others_is_never_let_pass():
    never = {"drift", "forbidden", "hash_collision", "schema", "structure", "threat", "over_budget", "merge_conflict"}
    assert not never & SOFT
