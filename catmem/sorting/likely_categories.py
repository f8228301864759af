"""Which categories a text most likely belongs to, by its words alone.

Naive Bayes over stems (Maron, 1961). What a category is like is learned from the words of its slug, title and aliases,
from the entries that it has, and from everyday words of the subjects that its names speak of (``topics.txt``): a file
that has no sections yet has no examples either.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cache
from math import log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from catmem.resources import topics_text
from catmem.search.query import fold
from catmem.search.stems import DEFAULT, FUNCTION_WORDS, language_of, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

_WORD = re.compile(r"[^\W\d_][^\W_]*")
_NAMES_COUNT = 2
"""A word of a category's names counts as one that so many of its entries have."""
_TAUGHT = 2
"""So many entries of one category that have a word, and none of another that has, make it a sign."""
_EVERYDAY = (
    "never always must without before rule require required day time ask leave go back end work use want need check "
    "call open start next contact name email phone"
)
"""Words of subjects that stand in entries of all subjects: they are no signs."""
_SMOOTHING = 0.1
"""How much every category is taken to have of every word, by the share that the word has of all words."""


class Likely(NamedTuple):
    """A category, and how much better its words explain a text than the words of all do (a logarithm).

    ``signs`` counts what in the text speaks of it and of no other: one of its names, words of its subject, words that
    several of its entries have. There are none if the text names another category.
    """

    category: str
    score: float
    signs: int


class LikelyCategories:
    """What the categories of a root are like."""

    def __init__(
        self, names: Mapping[str, Sequence[str]], known: Iterable[tuple[str, str]], texts: Iterable[str] = ()
    ) -> None:
        """``names`` are the slug, title and aliases of each category, ``known`` pairs of a category and a text of it.

        ``texts`` are those without a category: they say how frequent each word is.
        """
        known = list(known)
        self._names = {
            slug: tuple(dict.fromkeys(frozenset(stems(name.replace("-", " "))) for name in some))
            for slug, some in names.items()
        }
        self._sign_of = _signs_of(self._names, known)
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
        named = [(slug, name) for slug, names in self._names.items() for name in names if name and name <= words.keys()]
        found = [
            Likely(
                category,
                sum(count * self._worth(word, category) for word, count in words.items()),
                self._signs(category, words.keys(), named),
            )
            for category, like in self._like.items()
            if not like.keys().isdisjoint(words)
        ]
        return sorted(found, key=lambda each: -each.score)

    def _signs(self, category: str, words: AbstractSet[str], named: Sequence[tuple[str, AbstractSet[str]]]) -> int:
        """A name is one sign, however many words it has; ``named`` are those in the text, each with its category."""
        if any(slug != category for slug, _ in named):
            return 0
        left = words - {word for _, name in named for word in name}
        return len(named) + sum(self._sign_of.get(word) == category for word in left)

    def _worth(self, word: str, category: str) -> float:
        share = self._frequent[word] / self._all
        if not share:
            return 0.0
        return log((self._like[category].get(word, 0) + self._weight * share) / self._sizes[category] / share)


def _signs_of(names: Mapping[str, Sequence[AbstractSet[str]]], known: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The words that speak of one category alone, with that category.

    But for the slug, a name of several words, such as "rental car", brings none of a subject: it is of a part of one.
    """
    about: defaultdict[str, set[str]] = defaultdict(set)
    for category, own in names.items():
        heads = set().union(own[0], *(name for name in own if len(name) == 1))
        for word in heads.union(*(topic for _, shared, topic in _topics() if shared & heads)) - _english(_EVERYDAY):
            about[word].add(category)
    taught: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for category, text in known:
        for word in stems(text):
            taught[word][category] += 1
    signs = {word: min(categories) for word, categories in about.items() if len(categories) == 1}
    often = {word: min(counts) for word, counts in taught.items() if len(counts) == 1 and counts.total() >= _TAUGHT}
    return {**signs, **often}


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
