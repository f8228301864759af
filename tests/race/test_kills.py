"""Writers are killed at random moments: 50 of them here, 5,000 in `make torture`."""

from collections import Counter

import pytest

from tests.race.kills import judge, kill_writers
from tests.race.texts import line

A, B, C = line("a"), line("b"), line("c")


def test_no_acknowledged_write_is_lost_and_none_is_made_twice(tmp_path):
    killed = kill_writers(tmp_path, 50)
    assert killed.wrong == []
    assert killed.kills == 50
    assert killed.acknowledged > 20
    assert killed.repeated > 5


@pytest.mark.parametrize(
    ("replay", "asked", "acknowledged", "wrong"),
    [
        ([("a", A), ("b", A + B)], "ab", "ab", []),
        ([("a", A), ("b", A + B)], "abc", "a", []),
        ([("a", A)], "ab", "ab", ["b was acknowledged and is not there"]),
        ([("a", A), ("a", A + A)], "aa", "a", ["a is there 2 times"]),
        ([("a", A)], "aa", "aa", ["a was acknowledged 2 times"]),
        ([("a", A), ("x", A + line("x"))], "a", "a", ["x was never asked for"]),
        ([("a", A), ("b", A + B[:3])], "ab", "a", ["the revision of b is not the one before it and its line"]),
        ([("a", A), ("b", B)], "ab", "ab", ["the revision of b is not the one before it and its line"]),
    ],
)
def test_the_judge_finds_what_is_wrong(replay, asked, acknowledged, wrong):
    assert judge(replay, Counter(asked), Counter(acknowledged)) == wrong
