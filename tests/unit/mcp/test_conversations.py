"""What a server remembers of who speaks to it, and for how long a refusal counts."""

from __future__ import annotations

import pytest

from catmem.mcp.server import MOST_SESSIONS, QUIET_SECONDS, Conversations


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_one_id_is_one_session_and_another_is_another(clock):
    known = Conversations(clock)
    assert known.session("a") is known.session("a")
    assert known.session("a") is not known.session("b")
    assert known.session(None) is not known.session("a")


def test_refusals_are_counted_while_calls_follow_each_other(clock):
    known = Conversations(clock)
    for _ in range(5):
        known.session("a").refusals += 1
        clock.now += QUIET_SECONDS - 1
    assert known.session("a").refusals == 5


def test_a_quiet_minute_ends_the_turn_and_forgets_nothing_else(clock):
    known = Conversations(clock)
    known.session("a").refusals = 3
    known.session("a").seen["user"] = "sha256:1"
    clock.now += QUIET_SECONDS
    assert known.session("a").refusals == 0
    assert known.session("a").seen == {"user": "sha256:1"}


def test_the_one_that_was_quiet_longest_is_forgotten_first(clock):
    known = Conversations(clock)
    first, second = known.session("first"), known.session("second")
    for number in range(MOST_SESSIONS - 2):
        known.session(str(number))
    assert known.session("first") is first
    known.session("one more")
    assert known.session("first") is first
    assert known.session("second") is not second
