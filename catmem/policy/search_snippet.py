"""The piece of an entry's body that shows best why a query found it."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from catmem.policy.search_fold import fold, has_accents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.policy.search import Query, Term

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
    return sorted(
        _Hit(match.start(), match.start("more") if match.lastgroup else match.end(), term)
        for term in query.terms
        for match in term.pattern(accents=accents).finditer(folded)
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
    """Spans in order, those that overlap as one."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return tuple(joined)
