"""Two small edits of one string: what becomes one string, and what a person decides."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catmem.model.merged_string import merge_strings

BASE = "Invoices are due on the 15th, by mail."


@pytest.mark.parametrize(
    ("ours", "theirs", "merged"),
    [
        ("Invoices are due on the 20th, by mail.", "Bills are due on the 15th, by mail.", "Bills are due on the 20th, by mail."),
        ("Invoices are due on the 15th, by mail.", "Bills are due.", "Bills are due."),
        ("Invoices are due on the 20th, by mail.", "Invoices are due on the 20th, by post.", "Invoices are due on the 20th, by post."),
        ("Invoices are due on the 20th, by mail.", "Invoices are due on the 25th, by mail.", None),
        ("Invoices are not due on the 15th, by mail.", "Invoices are due on the 15th, by post.", "Invoices are not due on the 15th, by post."),
        ("All invoices are due on the 15th, by mail.", "Most invoices are due on the 15th, by mail.", None),
        ("Invoices are due on the 15th, by mail, twice.", "Invoices are due on the 15th, by mail, once.", None),
        ("Invoices and reminders are due on the 15th, by mail.", "Invoices are due on the 15th, by post.", None),
    ],
    ids=[
        "apart", "one side only", "one the same, one more", "two values for one word", "put in and changed",
        "put in at one place", "appended twice", "a long edit",
    ],
)  # fmt: skip
def test_cases(ours, theirs, merged):
    assert merge_strings(BASE, ours, theirs, within=12) == merged
    assert merge_strings(BASE, theirs, ours, within=12) == merged


def test_edits_of_neighbours_are_decided_by_a_person():
    assert merge_strings("red car", "blue car", "red bike") is None
    assert merge_strings("a red old car", "a blue old car", "a red old bike") == "a blue old bike"


def test_a_long_string_is_left_to_a_person():
    base = "word " * 1_000
    assert merge_strings(base, f"x{base}", f"{base}y") is None


STRINGS = st.text(st.sampled_from("ab ,.\nÄ1"), max_size=30)


@given(STRINGS, STRINGS, st.integers(0, 20))
def test_a_side_without_changes_gives_the_other_side(base, other, within):
    for sides in ((base, other), (other, base), (other, other)):
        assert merge_strings(base, *sides, within=within) == other


@given(STRINGS, STRINGS, STRINGS)
def test_it_does_not_matter_which_side_is_which(base, ours, theirs):
    assert merge_strings(base, ours, theirs) == merge_strings(base, theirs, ours)


@st.composite
def edited(draw):
    """A base of words of its own, and two sides that each put in, take out or change words in their own way."""
    base = draw(st.lists(st.sampled_from([f"w{number}" for number in range(20)]), min_size=1, max_size=12, unique=True))
    sides = []
    for name in "xy":
        words = []
        for place, word in enumerate(base):
            kind = draw(st.sampled_from(["keep"] * 6 + ["put in", "take out", "change"]))
            words += {"keep": [word], "put in": [f"{name}{place}", word], "take out": [], "change": [f"{name}{place}"]}[
                kind
            ]
        sides.append(words)
    return base, *sides


@given(edited())
def test_what_either_side_put_in_is_there_and_what_either_took_out_is_not(sides):
    base, ours, theirs = sides
    merged = merge_strings(*(" ".join(words) for words in sides), within=1_000)
    if merged is None:
        return
    found = Counter(merged.split())
    for side in (ours, theirs):
        assert Counter(side) - Counter(base) <= found
        assert not (Counter(base) - Counter(side)) & found


@given(st.integers(0, 9), st.integers(0, 9))
def test_edits_are_merged_exactly_where_a_word_is_between(one, other):
    words = [f"w{number}" for number in range(10)]
    ours, theirs, both = [words.copy() for _ in range(3)]
    ours[one] = both[one] = "x"
    theirs[other] = both[other] = "y"
    merged = merge_strings(*map(" ".join, (words, ours, theirs)))
    assert merged == (" ".join(both) if abs(one - other) > 1 else None)
