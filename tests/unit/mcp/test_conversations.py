"""What a server remembers of who speaks to it, and for how long a refusal counts."""

import pytest

from catmem.writing.drift_guard import MOST_SESSIONS, QUIET_SECONDS, Sessions
from tests.roots import make_root


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def known(clock, tmp_path):
    return Sessions(make_root(tmp_path, profiles={"neo": "tier: 1\n"}, files={"neo/user": "Tea.\n"}), clock)


def test_one_id_is_one_session_and_another_is_another(known, clock):
    assert known.session("a", "neo") is known.session("a", "neo")
    assert known.session("a", "neo") is not known.session("b", "neo")
    assert known.session(None, "neo") is not known.session("a", "neo")


def test_refusals_are_counted_while_calls_follow_each_other(known, clock):
    for _ in range(5):
        known.session("a", "neo").refusals[0] += 1
        clock.now += QUIET_SECONDS - 1
    assert known.session("a", "neo").refusals == {0: 5}


def test_a_quiet_minute_ends_the_turn_and_forgets_nothing_else(known, clock):
    session = known.session("a", "neo")
    session.refusals[0] = 3
    clock.now += QUIET_SECONDS
    assert not known.session("a", "neo").refusals
    assert known.session("a", "neo") is session


def test_the_one_that_was_quiet_longest_is_forgotten_first(known, clock):
    first, second = known.session("first", "neo"), known.session("second", "neo")
    for number in range(MOST_SESSIONS - 2):
        known.session(str(number), "neo")
    assert known.session("first", "neo") is first
    known.session("one more", "neo")
    assert known.session("first", "neo") is first
    assert known.session("second", "neo") is not second
