"""The checker itself: histories that it must take, and histories that it must not."""

import pytest

from tests.linearizability.checker import UNKNOWN, Operation, check

pytestmark = pytest.mark.torture


def read(invoked, returned, revision, value):
    return Operation("r", "read", invoked, returned, revision, value)


def write(invoked, returned, revision, value, *swap):
    return Operation("w", "write", invoked, returned, revision, value, *swap)


def refused(invoked, returned, found, expected):
    return Operation("s", "refused", invoked, returned, found, expected=expected)


def retry(invoked, returned, revision, value):
    return Operation("w", "retry", invoked, returned, revision, value)


GOOD = [
    pytest.param([], [], id="nothing"),
    pytest.param([read(0, 1, 0, "")], [], id="a read of nothing"),
    pytest.param([write(0, 1, 1, "a", 0, (0, "")), write(2, 3, 2, "b", 1, (1, "a"))], ["a", "b"], id="one by one"),
    pytest.param([write(0, 9, 2, "b"), write(1, 8, 1, "a")], ["a", "b"], id="two at once, the first called is second"),
    pytest.param([write(0, 9, 1, "a"), read(1, 2, 0, ""), read(3, 4, 1, "a")], ["a"], id="reads before and after, within a write"),
    pytest.param([write(0, 9, 1, "a"), read(1, 2, 1, "a"), read(1, 9, 0, "")], ["a"], id="a long read of the old, a short one of the new"),
    pytest.param([write(0, 1, 1, "a"), write(2, 9, 2, "b"), refused(3, 4, 2, 1)], ["a", "b"], id="refused for a write that is not answered yet"),
    pytest.param([write(0, 1, 1, "a"), refused(2, 3, 1, 0), read(2, 3, 1, "a")], ["a"], id="refused, and a read, at the same time"),
    pytest.param([write(0, 1, 1, "a"), write(2, 3, 2, "b"), retry(4, 5, 1, "a")], ["a", "b"], id="a retry gets an old answer"),
    pytest.param([write(0, 5, 1, "a"), write(5, 9, 2, "b")], ["a", "b"], id="one ends in the moment in which the next begins"),
]  # fmt: skip

BAD = [
    pytest.param([write(0, 1, 1, "a")], [], "lost", id="acknowledged, and not there"),
    pytest.param([write(0, 1, 1, "a"), write(2, 3, 1, "b")], ["b"], "lost", id="two writes, one revision"),
    pytest.param([write(0, 1, 1, "a"), write(2, 3, 2, "b")], ["b", "a"], "lost", id="replayed in another order"),
    pytest.param([write(0, 1, 1, "a")], ["a", "a"], "twice", id="applied twice"),
    pytest.param([write(0, 1, 1, "a")], ["a", "x"], "foreign", id="a value of nobody"),
    pytest.param([write(0, 1, 1, "a"), write(2, 3, 2, "b", 0)], ["a", "b"], "swap", id="swapped what it did not expect"),
    pytest.param([write(0, 1, 1, "a"), write(2, 3, 2, "b", 1, (0, ""))], ["a", "b"], "swap", id="update shown an old revision"),
    pytest.param([write(0, 1, 1, "a"), write(2, 3, 2, "b", 1, (1, "x"))], ["a", "b"], "swap", id="update shown wrong bytes"),
    pytest.param([write(0, 1, 1, "a"), read(2, 3, 1, "x")], ["a"], "read", id="read of wrong bytes"),
    pytest.param([write(0, 1, 1, "a"), read(2, 3, 2, "b")], ["a"], "read", id="read of a revision that never was"),
    pytest.param([write(0, 1, 1, "a"), read(2, 3, UNKNOWN, "a")], ["a"], "read", id="read of bytes that the store says nobody recorded"),
    pytest.param([write(0, 1, 1, "a"), refused(2, 3, 1, 1)], ["a"], "refused", id="refused what it expected"),
    pytest.param([write(0, 1, 1, "a"), refused(2, 3, 2, 1)], ["a"], "refused", id="refused for a revision that never was"),
    pytest.param([write(0, 1, 1, "a"), retry(2, 3, 2, "a")], ["a", "b"], "retry", id="a retry got another answer"),
    pytest.param([write(0, 1, 1, "a"), read(2, 3, 0, "")], ["a"], "order", id="stale read after the answer"),
    pytest.param([read(0, 1, 1, "a"), write(2, 3, 1, "a")], ["a"], "order", id="read before it was written"),
    pytest.param([write(0, 1, 2, "b"), write(2, 3, 1, "a")], ["a", "b"], "order", id="numbered against the clock"),
    pytest.param([write(0, 9, 1, "a"), read(1, 2, 1, "a"), read(3, 4, 0, "")], ["a"], "order", id="a read goes back, within a write"),
    pytest.param([write(0, 1, 1, "a"), write(2, 3, 2, "b"), refused(4, 5, 1, 0)], ["a", "b"], "order", id="refused for a head that is gone"),
    pytest.param([write(0, 9, 1, "a"), write(0, 9, 2, "b"), read(1, 2, 2, "b"), read(3, 4, 1, "a")], ["a", "b"], "order", id="two reads disagree on the order"),
]  # fmt: skip


@pytest.mark.parametrize(("operations", "replay"), GOOD)
def test_a_linearizable_history_is_taken(operations, replay):
    assert check(operations, replay) == []
    assert check(operations[::-1], replay) == []


@pytest.mark.parametrize(("operations", "replay", "code"), BAD)
def test_another_history_is_not(operations, replay, code):
    assert code in {violation.code for violation in check(operations, replay)}
    assert code in {violation.code for violation in check(operations[::-1], replay)}


def test_a_violation_says_who_and_when():
    violations = check([write(0, 1, 1, "a"), read(2, 3, 0, "")], ["a"])
    assert [violation.text for violation in violations] == [
        "write of revision 1 by w (0..1) had its answer before read of revision 0 by r (2..3) began"
    ]
