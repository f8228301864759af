"""Where the words of a document stand: made from its text when it is first searched, and kept at will.

An index belongs to one ``Document``, whose text never changes, so it is never old. It reads no more than a search
needs: a word is looked for in the whole folded text, and tags are read only of entries that have one of the words.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from catmem.clock import read_date
from catmem.model.document import Entry
from catmem.names import UNCATEGORIZED
from catmem.search.query import IN_CATEGORY, Term, fold, has_accents, in_name, words_of
from catmem.search.stems import language_of
from catmem.staleness.freshness import DATED_BY
from catmem.syntax import tags as tag_blocks
from catmem.syntax.scan import unescape
from catmem.text import unify_newlines

if TYPE_CHECKING:
    import re
    from collections.abc import Container, Iterator, Mapping, Sequence
    from datetime import date

    from catmem.model.document import Document

_REMEMBERED = 64
"""Terms whose places an index keeps."""


class Stretch(NamedTuple):
    """The pieces ``first`` to ``end`` (not included) of a document, which stand under one header."""

    first: int
    end: int
    category: str
    title: str
    pieces: int
    characters: int
    """Of these pieces together. Blanks at both ends do not count: they change with the section that comes next."""


class Facts(NamedTuple):
    """What a search needs of an entry: where its body begins and ends in the text, and its own dates.

    ``days`` are those that tags give, the one that counts first, as ordinals.
    """

    start: int
    end: int
    days: tuple[int, ...]


class Index:
    """The places of words in one document, by *piece*: what stands between two boundaries, an entry or a blank."""

    def __init__(self, document: Document) -> None:
        """Read the boundaries of the document, and nothing else yet."""
        self.document = document
        scan = document.scan
        marks: list[tuple[int, int]] = [*scan.delimiters, *((header.start, header.end) for header in scan.headers)]
        if scan.title:
            marks.append((scan.title.start, scan.title.end))
        marks.sort()
        self._starts = [scan.start, *(end for _, end in marks)]
        self._ends = [*(start for start, _ in marks), len(scan.text)]
        self._ends[0] = max(self._ends[0], scan.start)  # a delimiter on the first line has no newline in front
        self._firsts = [0, *(bisect_left(self._starts, header.end) for header in scan.headers)]
        self.stretches = self._read_stretches()
        self.hostile: dict[int, bool] = {}
        """Whether the threat scan found something in the body or the tags of a piece, as far as a search has asked."""
        self._folded: str | None = None
        self._accents = False
        self._facts: dict[int, Facts] = {}
        self._languages: dict[int, str] = {}
        self._places: dict[Term, Mapping[int, float]] = {}

    def _read_stretches(self) -> tuple[Stretch, ...]:
        headers = self.document.scan.headers
        named = [(UNCATEGORIZED, ""), *((header.category, header.title) for header in headers)]
        ends = [*self._firsts[1:], len(self._starts)]
        return tuple(
            Stretch(first, end, category, title, *self._counted(first, end))
            for first, end, (category, title) in zip(self._firsts, ends, named, strict=True)
        )

    def _counted(self, first: int, end: int) -> tuple[int, int]:
        """How many pieces there are from the first to the last that is not blank, and their characters."""
        while first < end and self._is_blank(end - 1):
            end -= 1
        while first < end and self._is_blank(first):
            first += 1
        if first == end:
            return 0, 0
        head = self.document.text[self._starts[first] : self._ends[first]]
        tail = self.document.text[self._starts[end - 1] : self._ends[end - 1]]
        blanks = len(head) - len(head.lstrip()) + len(tail) - len(tail.rstrip())
        return end - first, sum(self._ends[first:end]) - sum(self._starts[first:end]) - blanks

    def entry(self, piece: int) -> Entry:
        """The entry that a piece is; a piece in which something was found is one."""
        start, text = self._starts[piece], self.document.text
        raw = text[start : self._ends[piece]].strip()
        start = text.index(raw[0], start)
        return Entry(self.category(piece), start, start + len(raw), raw, self.document.limits.tag_block_chars)

    def category(self, piece: int) -> str:
        """The category of a piece."""
        return self.stretches[bisect_right(self._firsts, piece) - 1].category

    def facts(self, piece: int) -> Facts:
        """What is known of the entry that a piece is; one of no length for a blank piece."""
        known = self._facts.get(piece)
        if known is None:
            known = self._facts[piece] = self._read_facts(self._starts[piece], self._ends[piece])
        return known

    def _read_facts(self, start: int, end: int) -> Facts:
        piece = self.document.text[start:end]
        raw = piece.strip()
        if not raw:
            return Facts(end, end, ())
        start += piece.index(raw[0])
        end = start + len(raw)
        if raw[0] not in tag_blocks.MAY_BEGIN:
            return Facts(start, end, ())
        text = unify_newlines(unescape(raw))
        pairs, body = tag_blocks.read(text, self.document.limits.tag_block_chars)
        # Escapes and carriage returns make the stored text longer, line by line.
        before = text[: len(text) - len(body)]
        return Facts(start + _same_place(raw, before), end, _days(pairs))

    # --- where terms stand ------------------------------------------------------------------------------------------

    def places(self, term: Term) -> Mapping[int, float]:
        """The pieces whose body has a term, or that stand under a name that has it, each with what that counts."""
        known = self._places.get(term)
        if known is None:
            if len(self._places) >= _REMEMBERED:
                self._places.clear()
            known = self._places[term] = self._look_for(term)
        return known

    def _look_for(self, term: Term) -> Mapping[int, float]:
        found = self._in_bodies(term)
        for stretch in self.stretches:
            words = frozenset((*words_of(stretch.category), *words_of(stretch.title)))
            if stretch.category != UNCATEGORIZED and in_name(term, words):
                for piece in range(stretch.first, stretch.end):
                    if piece in found or not self._is_blank(piece):
                        found[piece] = found.get(piece, 0.0) + IN_CATEGORY
        return found

    def _in_bodies(self, term: Term) -> dict[int, float]:
        starts, ends, facts = self._starts, self._ends, self._facts
        found: dict[int, float] = {}
        for match in self._matches(term):
            start, end = match.span()
            piece = bisect_right(starts, start) - 1
            if end > ends[piece]:
                continue  # in a header, or a phrase that goes on in the next entry
            known = facts.get(piece) or self.facts(piece)
            if known[0] <= start < known[1]:
                worth = term.worth(match, partial(self.language, piece))
                if worth:
                    found[piece] = found.get(piece, 0.0) + worth
        return found

    def language(self, piece: int) -> str:
        """The language of the entry that a piece is."""
        known = self._languages.get(piece)
        if known is None:
            start, end, _ = self.facts(piece)
            known = self._languages[piece] = language_of(words_of(self._text()[start:end]))
        return known

    def _matches(self, term: Term) -> Iterator[re.Match[str]]:
        folded = self._text()
        if not term.is_phrase:
            yield from term.found_in(folded, accents=self._accents)
            return
        pattern = term.pattern(accents=self._accents)
        # A phrase may begin within another that does not count, for it goes on in the next entry.
        position = 0
        while match := pattern.search(folded, position):
            yield match
            start, position = match.span()
            if position > self._ends[bisect_right(self._starts, start) - 1]:
                position = start + 1

    def _text(self) -> str:
        if self._folded is None:
            self._folded = fold(self.document.text)
            self._accents = has_accents(self.document.text)
        return self._folded

    def _is_blank(self, piece: int) -> bool:
        return (
            self._starts[piece] >= self._ends[piece]
            or self.document.text[self._starts[piece] : self._ends[piece]].isspace()
        )


def pieces_of(index: Index, categories: Container[str]) -> bytearray:
    """For each piece of a document, 1 if its category is one of some, else 0."""
    chosen = bytearray(index.stretches[-1].end)
    for stretch in index.stretches:
        if stretch.category in categories:
            chosen[stretch.first : stretch.end] = b"\1" * (stretch.end - stretch.first)
    return chosen


def _same_place(raw: str, before: str) -> int:
    """How long the beginning of the stored text is that ``before``, the beginning of the entry's text, is read from."""
    if raw.startswith(before):
        return len(before)
    position = 0
    for _ in range(before.count("\n")):
        position = raw.index("\n", position) + 1
    return position + len(before) - (before.rfind("\n") + 1)


def _days(pairs: Sequence[tuple[str, str | tuple[str, ...]]]) -> tuple[int, ...]:
    first: dict[str, str | tuple[str, ...]] = {}
    for key, value in pairs:
        first.setdefault(key, value)
    days: list[date | None] = [read_date(first.get(key)) for key in DATED_BY]
    return tuple(day.toordinal() for day in days if day is not None)
