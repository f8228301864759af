"""Which categories a text most likely belongs to, by its words alone.

Naive Bayes over stems (Maron, 1961). What a category is like is learned from the words of its slug, title and aliases,
from the entries that it has, and from everyday words of the subjects that its names speak of (``topics.txt``): a file
that has no sections yet has no examples either.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from math import log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from catmem.resources import topics_text
from catmem.search.query import fold
from catmem.search.stems import DEFAULT, FUNCTION_WORDS, language_of, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_WORD = re.compile(r"[^\W\d_][^\W_]*")
_NAMES_COUNT = 2
"""A word of a category's names counts as one that so many of its entries have."""
_SMOOTHING = 0.1
"""How much every category is taken to have of every word, by the share that the word has of all words."""


class Likely(NamedTuple):
    """A category, and how much better its words explain a text than the words of all do (a logarithm).

    ``shared`` is the number of different words that it has in common with the text.
    """

    category: str
    score: float
    shared: int


class LikelyCategories:
    """What the categories of a root are like."""

    def __init__(
        self, names: Mapping[str, Sequence[str]], known: Iterable[tuple[str, str]], texts: Iterable[str] = ()
    ) -> None:
        """``names`` are the slug, title and aliases of each category, ``known`` pairs of a category and a text of it.

        ``texts`` are those without a category: they say how frequent each word is.
        """
        self._like: dict[str, dict[str, float]] = {}
        self._frequent: Counter[str] = Counter()
        for category, words in names.items():
            own = stems(" ".join(words).replace("-", " "))
            like = self._like[category] = dict.fromkeys(own, float(_NAMES_COUNT))
            for _, heads, topic in _topics():
                shared = len(heads & own.keys()) / sqrt(len(own) or 1)
                like.update((word, max(like.get(word, 0), shared)) for word in (topic if shared else ()))
        for category, text in known:
            found = stems(text)
            self._frequent.update(found)
            if category in self._like:
                like = self._like[category]
                like.update((word, like.get(word, 0) + count) for word, count in found.items())
        for text in texts:
            self._frequent.update(stems(text))
        for like in self._like.values():
            self._frequent.update(like.keys())
        self._all = self._frequent.total() or 1
        self._weight = _SMOOTHING * len(self._frequent)
        self._sizes = {category: sum(like.values()) + self._weight for category, like in self._like.items()}

    def of(self, text: str) -> list[Likely]:
        """The categories that share a word with the text, the likeliest first; none if no category does."""
        words = stems(text)
        found = [
            Likely(category, sum(count * self._worth(word, category) for word, count in words.items()), shared)
            for category, like in self._like.items()
            if (shared := sum(word in like for word in words))
        ]
        return sorted(found, key=lambda each: -each.score)

    def _worth(self, word: str, category: str) -> float:
        share = self._frequent[word] / self._all
        if not share:
            return 0.0
        return log((self._like[category].get(word, 0) + self._weight * share) / self._sizes[category] / share)


def stems(text: str) -> Counter[str]:
    """The stems of a text's words, with how often each stands there; without numbers and words that only join."""
    words = _WORD.findall(fold(text))
    language = language_of(words)
    return Counter(stem(word, language) for word in words if word not in FUNCTION_WORDS[language])


def subject_of(text: str) -> str | None:
    """The name of the subject that shares most words with a text, if one shares any."""
    words = stems(text).keys()
    shared = {name: len(words & topic) for name, _, topic in _topics()}
    best = max(shared, key=shared.__getitem__)
    return best if shared[best] else None


@cache
def _topics() -> tuple[tuple[str, frozenset[str], frozenset[str]], ...]:
    """The subjects: a name, stems that may stand in the names of a category, and stems that its entries may have."""
    lines = [line for line in topics_text().split("\n") if line and not line.startswith("#")]
    topics = [subject.partition(":") for subject in re.split(r"\n(?! )", "\n".join(lines))]
    return tuple((heads.split()[0], _english(heads), _english(words)) for heads, _, words in topics)


def _english(text: str) -> frozenset[str]:
    return frozenset(stem(word, DEFAULT) for word in _WORD.findall(fold(text)))
