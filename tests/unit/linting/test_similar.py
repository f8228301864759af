"""Similar entries: the same as when each is compared with each, without doing so."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catmem.linting import similar
from catmem.linting.similar import Pair, distinct_words, similar_pairs

few_entries = st.lists(st.lists(st.integers(0, 12).map(str), unique=True, max_size=10), max_size=similar._NEAREST)


@pytest.mark.parametrize("others", [0, similar._FEW], ids=["few", "among-many"])
@given(words=few_entries, at_least=st.sampled_from([0.3, 0.5, 0.6, 0.75, 0.8, 1.0]))
def test_entries_give_what_comparing_each_with_each_gives(words, at_least, others):
    words = [*words, *((f"a{number}", f"b{number}") for number in range(others))]
    expected = [
        Pair(first, second, len(set(words[first]) & set(words[second])) / len(set(words[first]) | set(words[second])))
        for first, second in combinations(range(len(words)), 2)
        if words[first] and words[second]
    ]
    expected = [pair for pair in expected if pair.similarity >= at_least]
    assert similar_pairs(words, at_least) == sorted(expected, key=lambda pair: (pair.second, pair.first))


def test_a_pair_is_found_among_many_other_entries():
    texts = [f"note {number} speaks of subject{number} and thing{number} at place{number}" for number in range(10_000)]
    texts[17] = "the user prefers short answers with british spelling"
    texts[9_000] = "user prefers short answers with british spelling"
    pairs = similar_pairs([distinct_words(text) for text in texts], 0.8)
    assert [(pair.first, pair.second) for pair in pairs] == [(17, 9_000)]
    assert pairs[0].similarity == pytest.approx(7 / 8)


@pytest.mark.parametrize(
    "text",
    ["fact number {} is that the thing holds for the year", "the same words in every one of them", "{} {} of a few"],
)
def test_comparisons_grow_with_the_number_of_entries_and_no_faster(text):
    entries = [frozenset(distinct_words(text.format(number, number % 7))) for number in range(3_000)]
    compared = sum(len(others) for _, others in similar._sharing(entries, 0.6))
    most_rare_words = max(len(words) for words in entries) // 2 + 1
    assert 0 < compared <= len(entries) * most_rare_words * similar._NEAREST


@pytest.mark.parametrize("shared", [0, 60, 120, 180, 240])
def test_the_similarity_of_long_entries_is_exact(shared):
    one = [f"w{number}" for number in range(240)]
    other = [f"w{number}" for number in range(240 - shared, 480 - shared)]
    pairs = similar_pairs([one, other], 0.1)
    assert [pair.similarity for pair in pairs] == [shared / (480 - shared)] * bool(shared)


def test_no_words_are_like_nothing():
    assert similar_pairs([(), (), ("a",)], 0.5) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Vendor is Acme", "vendor, is; ACME!"),
        ("a b a b", "a b"),
        ("\uff21cme", "acme"),
        ("version 3.11", "Version: 3.11."),
    ],
)
def test_words_are_the_same_whatever_case_form_and_punctuation(one, other):
    assert distinct_words(one) == distinct_words(other)


def test_words_without_blanks_between_are_read_by_twos():
    assert distinct_words("中文回答") == ("中文", "文回", "回答")
    assert set(distinct_words("中文回答")) & set(distinct_words("用中文")) == {"中文"}


def test_among_few_entries_none_is_passed_over():
    words = [["a", "b", "c", "d", f"e{number}"] for number in range(similar._FEW)]
    assert len(similar_pairs(words, 0.6)) == similar._FEW * (similar._FEW - 1) // 2
