"""Which entries a query finds, in what order, and the piece of each that shows why.

The order is how well the text fits times how recent the fact is. The text score is that of Okapi BM25 (Robertson and
others, 1994), with what a match counts in the place of a plain number of occurrences, and characters in the place of
words for the length. Nothing is cut before the ranking.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from heapq import nsmallest
from math import exp, log
from typing import TYPE_CHECKING, NamedTuple

from catmem.search.index import pieces_of
from catmem.search.query import fold, has_accents, words_of
from catmem.search.stems import language_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from catmem.search.index import Index
    from catmem.search.query import Query, Term

_K1 = 1.2
"""How soon more matches in one entry stop to count more."""
_B = 0.5
"""How much a long entry has to have more matches than a short one."""


@dataclass(frozen=True, slots=True)
class SearchSource:
    """One document that is searched, as far as the caller sees it.

    ``seen`` has 1 for each piece that may be found. There are so many ``pieces`` in sight, with so many ``characters``.
    """

    index: Index
    seen: bytearray
    pieces: int
    characters: int

    @classmethod
    def of(cls, index: Index, categories: Container[str]) -> SearchSource:
        """The document as a caller sees it who sees these categories."""
        chosen = [stretch for stretch in index.stretches if stretch.category in categories]
        pieces = sum(stretch.pieces for stretch in chosen)
        return cls(index, pieces_of(index, categories), pieces, sum(stretch.characters for stretch in chosen))


class Match(NamedTuple):
    """An entry that a query finds: the number of its source, its piece there, and its text score, over 0."""

    source: int
    piece: int
    text: float


class Ranked(NamedTuple):
    """A match with its score, which is ``text`` times the recency of the fact."""

    match: Match
    score: float


def matches(query: Query, sources: Sequence[SearchSource]) -> list[Match]:
    """Every entry in sight that has all phrases of the query, and any of its words or phrases."""
    count = sum(source.pieces for source in sources)
    average = max(1.0, sum(source.characters for source in sources) / max(1, count))
    scores: list[dict[int, float]] = [{} for _ in sources]
    required: list[set[int] | None] = [None for _ in sources]
    for term in query.terms:
        found = [_in_sight(source, source.index.places(term)) for source in sources]
        owners = sum(map(len, found))
        weight = log(1 + (count - owners + 0.5) / (owners + 0.5))
        for number, places in enumerate(found):
            _add(scores[number], sources[number].index, places, weight, average)
            if term.is_phrase:
                having = required[number]
                required[number] = set(places) if having is None else having & places.keys()
    return [
        Match(number, piece, text)
        for number, (texts, having) in enumerate(zip(scores, required, strict=True))
        for piece, text in texts.items()
        if having is None or piece in having
    ]


def _in_sight(source: SearchSource, places: Mapping[int, float]) -> Mapping[int, float]:
    seen = source.seen
    if 0 not in seen:
        return places
    return {piece: count for piece, count in places.items() if seen[piece]}


def _add(scores: dict[int, float], index: Index, places: Mapping[int, float], weight: float, average: float) -> None:
    facts, old = index.facts, scores.get
    top, flat, by_length = weight * (_K1 + 1), _K1 * (1 - _B), _K1 * _B / average
    for piece, count in places.items():
        start, end, _ = facts(piece)
        scores[piece] = old(piece, 0.0) + top * count / (count + flat + by_length * (end - start))


def ranked(
    found: Iterable[tuple[Match, int]], *, as_of: int, recency_days: float, limit: int | None = None
) -> list[Ranked]:
    """The matches by score, the best first: the text score times exp(-age / ``recency_days``), the age in days.

    At most ``limit`` are given, after all were ranked. With each match comes the day that dates it, as an ordinal like
    ``as_of``; one in the future counts as that. Of equal scores the newer is first, then the one that stands first.
    """
    # In logarithms: an old fact's recency would be nothing at all, and all of them alike.
    rows = [((as_of - day if day < as_of else 0) / recency_days - log(match[2]), -day, match) for match, day in found]
    best = sorted(rows) if limit is None else nsmallest(limit, rows)
    return [Ranked(match, exp(-key)) for key, _, match in best]


# --- snippets ------------------------------------------------------------------------------------------------------

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


class _Hit(NamedTuple):
    start: int
    end: int
    term: Term


def snippet(body: str, query: Query, width: int = WIDTH) -> Snippet:
    """About ``width`` characters of a body with the most of what was looked for; its beginning if it has nothing."""
    hits = _hits(body, query)
    start, end = _window(body, _best(hits, width), width)
    before, behind = _MORE if start else "", _MORE if end < len(body) else ""
    text = before + _BLANK.sub(" ", body[start:end]) + behind
    shift = len(before) - start
    inside = [(max(hit.start, start) + shift, min(hit.end, end) + shift) for hit in hits if hit.start < end > start]
    return Snippet(text, _joined([(first, last) for first, last in inside if first < last]))


def _hits(body: str, query: Query) -> list[_Hit]:
    folded, accents = fold(body), has_accents(body)
    language = cache(lambda: language_of(words_of(body)))
    return sorted(
        _Hit(match.start(), match.end(), term)
        for term in query.terms
        for match in term.found_in(folded, accents=accents)
        if term.worth(match, language)
    )


def _best(hits: Sequence[_Hit], width: int) -> tuple[int, int]:
    """The stretch of at most ``width`` characters, from one hit to another, with the most different terms."""
    best, most = (0, 0), 0.0
    within: Counter[Term] = Counter()
    worth = 0.0
    last = 0
    for hit in hits:
        while last < len(hits) and hits[last].end <= max(hit.start + width, hit.end):
            term = hits[last].term
            worth += 0 if within[term] else term.weight
            within[term] += 1
            last += 1
        if worth > most + 1e-9:
            best, most = (hit.start, hits[last - 1].end), worth
        within[hit.term] -= 1
        worth -= 0 if within[hit.term] else hit.term.weight
    return best


def _window(body: str, found: tuple[int, int], width: int) -> tuple[int, int]:
    """About ``width`` characters around what was found, cut between words where there are blanks."""
    first, last = found
    spare = max(0, width - (last - first))
    start = max(0, min(first - spare // 2, len(body) - width))
    end = min(len(body), max(start + width, min(last, first + width)))
    if start:
        blank = _BLANK.search(body, start, min(first, start + _LOOKED))
        start = blank.end() if blank else start
    if end < len(body):
        blank = _LAST_BLANK.search(body, max(min(last, end), end - _LOOKED), end)
        end = blank.start() if blank else end
    # Blanks at the edges are no part of it.
    while start < end and body[start].isspace():
        start += 1
    while end > start and body[end - 1].isspace():
        end -= 1
    return start, end


def _joined(spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return tuple(joined)
