"""Where the words of a document stand: made from its text when it is first searched, and kept at will.

An index belongs to one ``Document``, whose text never changes, so it is never old. It reads no more than a search
needs: a word is looked for in the whole folded text, and tags are read only of entries that have one of the words.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from functools import partial
from string import whitespace
from typing import NamedTuple

from catmem.clock import read_date
from catmem.model.document import Document, Entry, first_of_each
from catmem.names import UNCATEGORIZED
from catmem.search.query import IN_CATEGORY, Term, fold, has_accents, language_of, words_of
from catmem.staleness.freshness import DATED_BY
from catmem.syntax import tags as tag_blocks
from catmem.syntax.scan import pieces

_BLANK = "\u00a7" + whitespace
_REMEMBERED = 64
"""Terms whose places an index keeps."""


class Facts(NamedTuple):
    """What a search needs of an entry: itself, where its body begins in the text, and its own dates.

    ``days`` are those that tags give, the one that counts first, as ordinals.
    """

    entry: Entry
    start: int
    days: tuple[int, ...]

    @property
    def length(self) -> int:
        """The characters of its body."""
        return self.entry.end - self.start


class Index:
    """The places of words in one document, by *piece*: what stands between two boundaries, an entry or a blank."""

    def __init__(self, document: Document) -> None:
        """Fold the text, and count what stands in each category."""
        text, scan = document.text, document.scan
        self.document = document
        self.hostile: dict[int, bool] = {}
        """Whether the threat scan found something in the entry that a piece is, as far as a search has asked."""
        self.counts: Counter[str] = Counter()
        """How many entries stand in each category, and below about how many characters."""
        self.characters: Counter[str] = Counter()
        firsts = [(UNCATEGORIZED, scan.title.end if scan.title else scan.start)]
        firsts += [(header.category, header.end) for header in scan.headers]
        for (category, first), last in zip(firsts, [*(each.start for each in scan.headers), len(text)], strict=True):
            # Blank pieces at both ends do not count: they change with the section that comes next.
            if section := text[first:last].strip(_BLANK):
                start = text.index(section, first)
                self.counts[category] += (
                    1 + scan.delimiters_before(start + len(section)) - scan.delimiters_before(start)
                )
                self.characters[category] += len(section)
        self.pieces = list(pieces(scan, 0, len(text)))
        """The category of each, its start and its end."""
        self._starts = [start for _, start, _ in self.pieces]
        self._text, self._accents = fold(text), has_accents(text)
        self._facts: dict[int, Facts] = {}
        self._languages: dict[int, str] = {}
        self._places: dict[Term, Mapping[int, float]] = {}

    def facts(self, piece: int) -> Facts:
        """What is known of the entry that a piece is, which is no blank."""
        if piece not in self._facts:
            self._facts[piece] = self._read_facts(*self.pieces[piece])
        return self._facts[piece]

    def _read_facts(self, category: str, start: int, end: int) -> Facts:
        raw = self.document.text[start:end].strip()
        start = self.document.text.index(raw[0], start)
        entry = Entry(category, start, start + len(raw), raw, self.document.limits.tag_block_chars)
        if raw[0] not in tag_blocks.MAY_BEGIN:
            return Facts(entry, start, ())
        text = entry.text
        pairs, body = tag_blocks.read(text, entry.tag_limit)
        tags = first_of_each(pairs)
        days = [day for key in DATED_BY if (day := read_date(tags.get(key)))]
        # Escapes and carriage returns make the stored text longer, line by line.
        before = text[: len(text) - len(body)]
        lines = raw.split("\n", before.count("\n"))[:-1]
        start += sum(len(line) + 1 for line in lines) + len(before.rpartition("\n")[2])
        return Facts(entry, start, tuple(day.toordinal() for day in days))

    def language(self, piece: int) -> str:
        """The language of the entry that a piece is."""
        if piece not in self._languages:
            entry, start, _ = self.facts(piece)
            self._languages[piece] = language_of(words_of(self._text[start : entry.end]))
        return self._languages[piece]

    def places(self, term: Term) -> Mapping[int, float]:
        """The pieces whose body has a term, or the name of whose category has it, each with what that counts."""
        if term not in self._places:
            if len(self._places) >= _REMEMBERED:
                self._places.clear()
            self._places[term] = self._look_for(term)
        return self._places[term]

    def _look_for(self, term: Term) -> Mapping[int, float]:
        text, starts, facts = self._text, self._starts, self._facts
        found: dict[int, float] = {}
        for start, end in term.found_in(text, accents=self._accents):
            piece = bisect_right(starts, start) - 1
            # It may stand in a header or in tags, and a phrase may go on in the next entry.
            if piece < 0 or end > self.pieces[piece][2] or start < (facts.get(piece) or self.facts(piece)).start:
                continue
            if worth := term.worth(text[start:end], partial(self.language, piece)):
                found[piece] = found.get(piece, 0.0) + worth
        named = {
            header.category
            for header in self.document.scan.headers
            if header.category != UNCATEGORIZED and term.is_in_name(f"{header.category} {header.title}")
        }
        for piece, (category, start, end) in enumerate(self.pieces) if named else ():
            if category in named and text[start:end].strip():
                found[piece] = found.get(piece, 0.0) + IN_CATEGORY
        return found
