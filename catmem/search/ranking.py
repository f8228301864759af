"""Which entries a query finds, in what order, and the piece of each that shows why.

The order is how well the text fits times how recent the fact is. The text score is that of Okapi BM25 (Robertson and
others, 1994), with what a match counts in the place of a plain number of occurrences, and characters in the place of
words for the length. Nothing is cut before the ranking.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from math import exp, log
from typing import TYPE_CHECKING, NamedTuple

from catmem.search.query import Query, Term, fold, has_accents, language_of, words_of

if TYPE_CHECKING:
    from catmem.search.index import Index

_K1 = 1.2
"""How soon more matches in one entry stop to count more."""
_B = 0.5
"""How much a long entry has to have more matches than a short one."""


class SearchSource:
    """One document that is searched, as far as the caller sees it: its ``categories`` without ``hidden`` pieces."""

    def __init__(self, index: Index, categories: Collection[str]) -> None:
        """Nothing is hidden yet but other categories."""
        self.index = index
        self.categories = frozenset(categories)
        self.hidden: set[int] = set()
        self.entries = sum(index.counts[category] for category in self.categories)
        self.characters = sum(index.characters[category] for category in self.categories)

    def places(self, term: Term) -> Mapping[int, float]:
        """The pieces in sight that have a term, each with what that counts."""
        pieces, categories, hidden = self.index.pieces, self.categories, self.hidden
        places = self.index.places(term).items()
        return {piece: worth for piece, worth in places if pieces[piece][0] in categories and piece not in hidden}


class Match(NamedTuple):
    """An entry that a query finds: the number of its source, its piece there, and its text score, over 0."""

    source: int
    piece: int
    text: float


def matches(query: Query, sources: Sequence[SearchSource]) -> list[Match]:
    """Every entry in sight that has all phrases of the query, and any of its words or phrases."""
    count = sum(source.entries for source in sources)
    average = max(1.0, sum(source.characters for source in sources) / max(1, count))
    scores: list[dict[int, float]] = [{} for _ in sources]
    required: list[list[Mapping[int, float]]] = []
    for term in query.terms:
        found = [source.places(term) for source in sources]
        owners = sum(map(len, found))
        top = (_K1 + 1) * log(1 + (count - owners + 0.5) / (owners + 0.5))
        for source, texts, places in zip(sources, scores, found, strict=True):
            for piece, worth in places.items():
                length = source.index.facts(piece).length
                part = top * worth / (worth + _K1 * (1 - _B + _B * length / average))
                texts[piece] = texts.get(piece, 0.0) + part
        if term.is_phrase:
            required.append(found)
    return [
        Match(source, piece, text)
        for source, texts in enumerate(scores)
        for piece, text in texts.items()
        if all(piece in having[source] for having in required)
    ]


def ranked(found: Iterable[tuple[Match, int]], *, as_of: int, recency_days: float) -> list[tuple[Match, float]]:
    """The matches with their scores, the best first: the text score times exp(-age / ``recency_days``), in days."""
    # With each match comes the day that dates it, as an ordinal like `as_of`; one in the future counts as that. Of
    # equal scores the newer is first, then the one that stands first.
    # In logarithms: an old fact's recency would be nothing at all, and all of them alike.
    rows = [(max(0, as_of - day) / recency_days - log(match.text), -day, match) for match, day in found]
    return [(match, exp(-key)) for key, _, match in sorted(rows)]


# --- snippets --------------------------------------------------------------------------------------------------------

WIDTH = 160
"""Characters of a snippet, about."""

_MORE = "…"
_LOOKED = 24
"""Characters within which a cut looks for a blank, so that it falls between words."""
_BLANK = re.compile(r"\s")
_LAST_BLANK = re.compile(r"\s(?!.*\s)", re.DOTALL)


class Snippet(NamedTuple):
    """A text on one line, and where in it (start, end) the words that were looked for stand, in order."""

    text: str
    hits: tuple[tuple[int, int], ...]


def snippet(body: str, query: Query, width: int = WIDTH) -> Snippet:
    """About ``width`` characters of a body around the first of what was looked for; its beginning if it has nothing."""
    folded, accents = fold(body), has_accents(body)
    language = cache(lambda: language_of(words_of(body)))
    hits = sorted(
        (start, end)
        for term in query.terms
        for start, end in term.found_in(folded, accents=accents)
        if term.worth(folded[start:end], language)
    )
    first, last = hits[0] if hits else (0, 0)
    start = max(0, min(first - max(0, width - (last - first)) // 2, len(body) - width))
    end = min(len(body), start + width)
    if start and (blank := _BLANK.search(body, start, first)):
        start = blank.end()
    if end < len(body) and (blank := _LAST_BLANK.search(body, max(end - _LOOKED, first), end)):
        end = blank.start()
    before, behind = _MORE if start else "", _MORE if end < len(body) else ""
    shift = len(before) - start
    joined: list[tuple[int, int]] = []
    for one, other in ((max(one, start) + shift, min(other, end) + shift) for one, other in hits):
        if joined and one < joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], other)
        elif one < other:
            joined.append((one, other))
    return Snippet(before + _BLANK.sub(" ", body[start:end]) + behind, tuple(joined))
