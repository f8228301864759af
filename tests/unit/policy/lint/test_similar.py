"""Similar entries: the same as when each is compared with each, without doing so."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catmem.policy.lint import similar
from catmem.policy.lint.facts import SKETCH, word_hashes
from catmem.policy.lint.similar import Pair, similar_pairs, similarity

few_entries = st.lists(st.lists(st.integers(0, 12), unique=True, max_size=10).map(tuple), max_size=similar._NEAREST)


@pytest.mark.parametrize("others", [0, similar._FEW], ids=["few", "among-many"])
@given(words=few_entries, at_least=st.sampled_from([0.3, 0.5, 0.6, 0.75, 0.8, 1.0]))
def test_entries_give_what_comparing_each_with_each_gives(words, at_least, others):
    words = [*words, *((1000 + 2 * number, 1001 + 2 * number) for number in range(others))]
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
    pairs = similar_pairs([word_hashes(text) for text in texts], 0.8)
    assert [(pair.first, pair.second) for pair in pairs] == [(17, 9_000)]
    assert pairs[0].similarity == pytest.approx(7 / 8)


class Counted(frozenset):
    """A set of words that counts how often it is compared."""

    comparisons = 0

    def __and__(self, other):
        type(self).comparisons += 1
        return super().__and__(other)


@pytest.mark.parametrize(
    "text",
    ["fact number {} is that the thing holds for the year", "the same words in every one of them", "{} {} of a few"],
)
def test_comparisons_grow_with_the_number_of_entries_and_no_faster(text):
    entries = [Counted(word_hashes(text.format(number, number % 7))) for number in range(3_000)]
    Counted.comparisons = 0
    list(similar._candidates(entries, 0.6))
    most_rare_words = max(len(words) for words in entries) // 2 + 1
    assert 0 < Counted.comparisons <= len(entries) * most_rare_words * similar._NEAREST


@pytest.mark.parametrize("shared", [0, 60, 120, 180, 240])
def test_the_similarity_of_long_entries_is_estimated(shared):
    one = {value for number in range(240) for value in word_hashes(f"w{number}")}
    other = {value for number in range(240 - shared, 480 - shared) for value in word_hashes(f"w{number}")}
    exact = len(one & other) / len(one | other)
    estimate = similarity(set(sorted(one)[:SKETCH]), set(sorted(other)[:SKETCH]))
    assert estimate == pytest.approx(exact, abs=0.25)
    assert shared not in {0, 240} or estimate == exact


def test_no_words_are_like_nothing():
    assert similarity(set(), set()) == 0.0
    assert similar_pairs([(), (), (1,)], 0.5) == []
