"""The words of the scan: the same places with the automaton of the extra ``fast`` and without it."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catmem.threats import Words

WORDS = ("ab", "abc", "b", "bb", "::", "c")


@pytest.fixture(params=["with the extra", "without it"])
def made(request, monkeypatch):
    if request.param == "without it":
        monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)
    words = Words(WORDS)
    words.places(b"")  # the automaton is made, or not
    return words


def test_each_place_is_found_also_where_words_overlap(made):
    expected = {"ab": [0], "abc": [0], "b": [1, 4, 5], "bb": [4], "c": [2, 6], "::": [7, 8]}
    assert made.places(b"abc bbc:::") == expected


@given(st.text(alphabet="abc: ", max_size=40))
def test_both_ways_find_what_a_regular_expression_finds(text):
    plain = Words(WORDS)
    plain.__dict__["_automaton"] = None
    expected = {word: [each.start() for each in re.finditer(f"(?={re.escape(word)})", text)] for word in WORDS}
    expected = {word: places for word, places in expected.items() if places}
    assert plain.places(text.encode()) == Words(WORDS).places(text.encode()) == expected
