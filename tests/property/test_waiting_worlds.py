"""A profile is told the same at every door, byte for byte, whatever others have waiting, and whatever is hidden from it.

So that a write has to wait tells nothing of a text that is hidden, and was there once.
"""

from functools import cache

import pytest

pytest.importorskip("anthropic", reason="NOT TESTED: the package anthropic is not installed")

from tests.property import waiting_worlds, worlds
from tests.property.test_two_worlds import Doors, day, listener

SEEDS = (*range(11), 30)
"""Among what is told in these stories is each kind of answer."""


__all__ = ["day"]  # the fixture: the day stands still


@cache
def told(seed, *, propose, hidden=0):
    return waiting_worlds.told(seed, propose=propose, make_doors=Doors, hidden=hidden)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_profile_is_told_the_same_in_both(seed):
    here, there = (told(seed, propose=each) for each in (False, True))
    for number, (one, other) in enumerate(zip(here, there, strict=True), 1):
        assert one == other, [call for call, _ in here[:number]]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_profile_has_to_wait_for_the_same_whatever_is_hidden(seed):
    here, there = (told(seed, propose=False, hidden=each) for each in (0, 1))
    for number, (one, other) in enumerate(zip(here, there, strict=True), 1):
        assert one == other, [call for call, _ in here[:number]]


@pytest.mark.parametrize("hidden", [0, 1])
@pytest.mark.parametrize("text", [*worlds.SECRETS[0][:2], *worlds.SECRETS[1][:2]])
def test_to_guess_a_hidden_text_and_change_it_again_never_waits(tmp_path, hidden, text):
    worlds.make(tmp_path, "verifies", 0, hidden)
    with (tmp_path / "catmem.yaml").open("a", encoding="utf-8") as config:
        config.write("approval: others\n")
    workspace = worlds.opened(tmp_path).workspace
    how = {"target": "user", "actor": "neo"}
    assert workspace.add("neo", text, category="talk", **how).changed
    assert workspace.verify("neo", text, **how).changed
    assert workspace.replace("neo", text, content="something else", **how).waiting is None
    assert workspace.replace("neo", worlds.SEEN[3], content="long dates", **how).waiting
    workspace.store.close()


def test_the_calls_propose_ask_and_withdraw():
    """So that the two could differ."""
    said = "".join(said for seed in SEEDS for _, said in told(seed, propose=True))
    for each in (
        "a person decides",
        '"state":"waiting"',
        "withdrawn",
        "unknown_proposal",
        "202 ",
        "too_many_proposals",
    ):
        assert each in said, each


def test_who_may_know_is_told_of_each_world_what_waits_in_it():
    assert [worlds.once("plain", 0, 0, lambda world, each=each: _waiting(world, each)) for each in (False, True)] == [
        0,
        7,
    ]


def _waiting(world, propose) -> int:
    waiting_worlds.Others(world, propose=propose).have("something")
    found = len(world.workspace.proposals())
    world.workspace.store.close()
    return found


def test_what_is_new_is_the_same_in_both():
    here, there = (worlds.once("plain", 4, 0, lambda world, each=each: _news(world, each)) for each in (False, True))
    assert here == there
    assert [each.count('"revision":') for each in here] == [0, 1, 1, 1]


def _news(world, propose) -> list[str]:
    workspace, hear = world.workspace, listener(world)
    others = waiting_worlds.Others(world, propose=propose)
    heard = [hear()]
    world.system.at(worlds.NOW)
    others.have("one")
    workspace.add("neo", "seen by neo", category="talk", actor="neo")
    heard.append(hear())
    own = workspace.add("neo", "this waits", category="talk", actor="neo", proposes=True).waiting
    others.have("two")
    workspace.approve(own)
    heard.append(hear())
    others.have("three")
    workspace.add("neo", "also seen by neo", category="talk", actor="neo")
    heard.append(hear())
    workspace.store.close()
    return [waiting_worlds.normal(each) for each in heard]
