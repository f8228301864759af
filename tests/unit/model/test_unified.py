"""Unified diffs: right for any two texts, and quick for large ones."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catmem import text as unified
from catmem.text import unified_diff
from tests.patches import lines_of, patched
from tests.together import together

LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "§\n", "## c\n", "@@\n", "- x\n"]), max_size=30)


def diff(before, after):
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in unified_diff(before, after, "a/x", "b/x")
    )


@given(LINES, LINES, st.sampled_from(["", "tail"]), st.sampled_from(["", "tail"]), st.sampled_from([0, 4, 1000]))
def test_a_diff_makes_the_one_text_of_the_other(before, after, old_end, new_end, limit):
    before, after = before + [old_end][: bool(old_end)], after + [new_end][: bool(new_end)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unified, "_COMPARED", limit)
        assert patched("".join(before), diff(before, after)) == "".join(after)


@pytest.mark.parametrize(("old", "new"), [(0, 5_000), (5_000, 0), (1, 5_000), (3_000, 3_000)])
def test_texts_that_differ_very_widely_differ_as_a_whole(old, new):
    ends = [f"{number}\n" for number in range(10)]
    before = [*ends, *("a\n" for _ in range(old)), *ends]
    after = [*ends, *("b\n" for _ in range(new)), *ends]
    said = diff(before, after)
    assert patched("".join(before), said) == "".join(after)
    assert lines_of(said)[2] == f"@@ -8,{old + 6} +8,{new + 6} @@\n"
    assert len(lines_of(said)) == 3 + 6 + old + new


@together("kinds", [1, 2, 50, 10_000])
def test_the_work_on_a_large_text_grows_with_its_length(kinds):
    compared = []

    class Line(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            compared.append(1)
            return str.__eq__(self, other)

        def __ne__(self, other):
            return not self == other

    chance = random.Random(7)
    before = [Line(f"{chance.randrange(kinds)}\n") for _ in range(6_000)]
    after = [Line(f"{chance.randrange(kinds)}\n") for _ in range(6_000)]
    diff(before, after)
    assert len(compared) < 12_000 * 100


def test_a_small_change_of_a_large_text_has_a_short_diff():
    before = [f"{number}\n" for number in range(20_000)]
    after = [*before[:9_000], "new\n", *before[9_001:9_800], *before[9_801:]]
    said = diff(before, after)
    assert patched("".join(before), said) == "".join(after)
    assert len(lines_of(said)) == 2 + 9 + 8
