"""Which entries a query finds, and in what order: how well the text fits times how recent the fact is.

The text score is that of Okapi BM25 (Robertson and others, 1994), with what a match counts in the place of a plain
number of occurrences, and characters in the place of words for the length. Nothing is cut before the ranking.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nsmallest
from math import exp, log
from typing import TYPE_CHECKING, NamedTuple

from catmem.policy.search_index import pieces_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from catmem.policy.search import Query
    from catmem.policy.search_index import Index

_K1 = 1.2
"""How soon more matches in one entry stop to count more."""
_B = 0.5
"""How much a long entry has to have more matches than a short one."""


@dataclass(frozen=True, slots=True)
class Source:
    """One document that is searched, as far as somebody sees it.

    ``seen`` has 1 for each piece that may be found. There are so many ``pieces`` in sight, with so many ``characters``.
    """

    index: Index
    seen: bytearray
    pieces: int
    characters: int

    @classmethod
    def of(cls, index: Index, categories: Container[str]) -> Source:
        """The document as somebody sees it who sees these categories."""
        chosen = [stretch for stretch in index.stretches if stretch.category in categories]
        pieces = sum(stretch.end - stretch.first for stretch in chosen)
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


def matches(query: Query, sources: Sequence[Source]) -> list[Match]:
    """Every entry in sight that has all phrases of the query, and any of its words or phrases."""
    count = sum(source.pieces for source in sources)
    average = max(1.0, sum(source.characters for source in sources) / max(1, count))
    scores: list[dict[int, float]] = [{} for _ in sources]
    required: list[set[int] | None] = [None for _ in sources]
    for term in query.terms:
        found = [_in_sight(source, source.index.places(term)) for source in sources]
        weight = _rarity(count, sum(map(len, found)))
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


def _in_sight(source: Source, places: Mapping[int, float]) -> Mapping[int, float]:
    seen = source.seen
    if 0 not in seen:
        return places
    return {piece: count for piece, count in places.items() if seen[piece]}


def _rarity(count: int, having: int) -> float:
    """What a term counts that so many of all entries have; always over 0."""
    return log(1 + (count - having + 0.5) / (having + 0.5))


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
