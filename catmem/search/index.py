"""Where the words of a document stand, which entries a query finds, in what order, and the piece that shows why.

An index is made from a document when it is first searched, and kept at will. It belongs to one ``Document``, whose
text never changes, so it is never old.

The order is how well the text fits, times how recent the fact is, which is a half at least. The text score is that of
Okapi BM25 (Robertson and others, 1994), with what a match counts in the place of a plain number of occurrences, and
characters in the place of words for the length. Nothing is cut before the ranking.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import accumulate
from math import exp, log
from typing import NamedTuple

from catmem.model.document import Document
from catmem.names import UNCATEGORIZED
from catmem.search.query import IN_CATEGORY, Query, Term, language_of, plain, plain_places, words_of

_REMEMBERED = 64
"""Terms whose places an index keeps."""


class Index:
    """The places of words in the bodies of one document, each known by the number of its entry."""

    def __init__(self, document: Document) -> None:
        self.document = document
        bodies = [entry.body for entry in document.entries]
        self.hostile: dict[int, bool] = {}
        """Whether the threat scan found something in an entry, as far as a search has asked."""
        self.counts: Counter[str] = Counter()
        """How many entries stand in each category, and below how many characters."""
        self.characters: Counter[str] = Counter()
        for entry, body in zip(document.entries, bodies, strict=True):
            self.counts[entry.category] += 1
            self.characters[entry.category] += len(body)
        self.lengths = list(map(len, bodies))
        """The characters of each body."""
        texts = list(map(plain, bodies))
        self._text = "\n".join(texts)
        self._starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
        self._languages: dict[int, str] = {}
        self._places: dict[Term, Mapping[int, float]] = {}

    def language(self, number: int) -> str:
        if number not in self._languages:
            body = self._text[self._starts[number] : self._starts[number + 1]]
            self._languages[number] = language_of(words_of(body))
        return self._languages[number]

    def places(self, term: Term) -> Mapping[int, float]:
        """The entries whose body has a term, or the name of whose category has it, each with what that counts."""
        if term not in self._places:
            if len(self._places) >= _REMEMBERED:
                self._places.clear()
            self._places[term] = self._look_for(term)
        return self._places[term]

    def _look_for(self, term: Term) -> Mapping[int, float]:
        text, starts = self._text, self._starts
        found: dict[int, float] = {}
        for start, end in term.found_in(text):
            number = bisect_right(starts, start) - 1
            # A phrase may go on in the next entry.
            if end < starts[number + 1] and (worth := term.worth(text[start:end], partial(self.language, number))):
                found[number] = found.get(number, 0.0) + worth
        named = {
            header.category
            for header in self.document.scan.headers
            if header.category != UNCATEGORIZED and term.is_in_name(f"{header.category} {header.title}")
        }
        for number, entry in enumerate(self.document.entries) if named else ():
            if entry.category in named:
                found[number] = found.get(number, 0.0) + IN_CATEGORY
        return found


# --- the order ---------------------------------------------------------------------------------------------------


_K1 = 1.2
"""How soon more matches in one entry stop to count more."""
_B = 0.5
"""How much a long entry has to have more matches than a short one."""


class SearchSource:
    """One document that is searched, as far as the caller sees it: its ``categories`` without ``hidden`` entries."""

    def __init__(self, index: Index, categories: Collection[str]) -> None:
        """Nothing is hidden yet but other categories."""
        self.index = index
        self.categories = frozenset(categories)
        self.hidden: set[int] = set()
        self.entries = sum(index.counts[category] for category in self.categories)
        self.characters = sum(index.characters[category] for category in self.categories)

    def places(self, term: Term) -> Mapping[int, float]:
        """The entries in sight that have a term, each with what that counts."""
        entries, categories, hidden = self.index.document.entries, self.categories, self.hidden
        places = self.index.places(term).items()
        return {each: worth for each, worth in places if entries[each].category in categories and each not in hidden}


class Match(NamedTuple):
    """An entry that a query finds: the number of its source, its own there, and its text score, over 0."""

    source: int
    number: int
    text: float


def matches(query: Query, sources: Sequence[SearchSource]) -> list[Match]:
    """Every entry in sight that has all phrases of the query, and any of its words or phrases."""
    count = sum(source.entries for source in sources)
    average = max(1.0, sum(source.characters for source in sources) / max(1, count))
    scores: list[dict[int, float]] = [{} for _ in sources]
    required: list[list[Mapping[int, float]]] = []
    for term in query:
        found = [source.places(term) for source in sources]
        owners = sum(map(len, found))
        top = (_K1 + 1) * log(1 + (count - owners + 0.5) / (owners + 0.5))
        for source, texts, places in zip(sources, scores, found, strict=True):
            for number, worth in places.items():
                length = source.index.lengths[number]
                part = top * worth / (worth + _K1 * (1 - _B + _B * length / average))
                texts[number] = texts.get(number, 0.0) + part
        if term.is_phrase:
            required.append(found)
    return [
        Match(source, number, text)
        for source, texts in enumerate(scores)
        for number, text in texts.items()
        if all(number in having[source] for having in required)
    ]


_RECENCY_DAYS = 30
"""Days in which what a new fact counts more falls to 1/e."""


def ranked(found: Iterable[tuple[Match, int]], *, as_of: int) -> list[tuple[Match, float]]:
    """The matches with their scores, the best first: the text score, of which great age leaves a half."""
    # With each match comes the day that dates it, as an ordinal like `as_of`; one in the future counts as that, and
    # 0 is long ago. Of equal scores the newer is first, then the one that stands first.
    ages = [(match, day, max(0, as_of - day)) for match, day in found]
    rows = [(-match.text * (1 + exp(-age / _RECENCY_DAYS)) / 2, -day, match) for match, day, age in ages]
    return [(match, -key) for key, _, match in sorted(rows)]


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
    text, places = plain_places(body)
    language = cache(lambda: language_of(words_of(body)))
    hits = sorted(
        (places[start], places[end])
        for term in query
        for start, end in term.found_in(text)
        if term.worth(text[start:end], language)
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
