"""The words of the scan: all their places, also where they overlap."""

import re

from hypothesis import given
from hypothesis import strategies as st

from catmem.threats.finding import Words

WORDS = ("ab", "abc", "b", "bb", "::", "c")


def test_each_place_is_found_also_where_words_overlap():
    expected = {"ab": [0], "abc": [0], "b": [1, 4, 5], "bb": [4], "c": [2, 6], "::": [7, 8]}
    assert Words(WORDS).places("abc bbc:::") == expected


@given(st.text(alphabet="abc: \xff", max_size=40))
def test_the_places_are_those_that_a_regular_expression_finds(text):
    expected = {word: [each.start() for each in re.finditer(f"(?={re.escape(word)})", text)] for word in WORDS}
    expected = {word: places for word, places in expected.items() if places}
    assert Words(WORDS).places(text) == expected
