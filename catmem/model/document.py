"""A memory file as a value: its text, and where sections and entries stand in it; and an entry apart from its place.

Nothing here renders text that exists: a document has the text that was parsed, and encoding it gives back the bytes.
Offsets are in code points of ``Document.text`` (a BOM is its first character).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypedDict

from catmem.clock import read_date
from catmem.digest import bytes_digest, content_digest
from catmem.errors import TooLargeError
from catmem.syntax import tags as tag_blocks
from catmem.syntax.scan import Categories, Scan, may_hide, pieces, scan, unclosed_spans, unescape
from catmem.text import MAX_ENTRY_CHARS, MAX_PARTS, MAX_TAG_CHARS, LineIndex, decode, dominant_newline, unify_newlines

FORMAT_VERSION = 1

LOOKS_TAGGED = re.compile(
    r"(?:[-*+] )?\[(?:verified|created|expires|domain|source)(?:[_ -]?date)?\s*(?:[:=]|\d{4}-\d)", re.IGNORECASE
)
"""An entry that begins like this and has no tags was meant to have some: a wrong name, no blank, no closing bracket."""

TagValue = str | list[str]
_DAYS: tuple[Literal["verified_date", "created", "expires"], ...] = ("verified_date", "created", "expires")


class Tags(TypedDict, total=False):
    """The tags of the format as values of Python. For tags of your own, ``class OurTags(catmem.Tags, total=False)``."""

    verified_date: date
    created: date
    expires: date
    domain: list[str]
    source: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a document that looks wrong. Nothing is lost by it; ``rule`` is a stable name."""

    rule: str
    start: int
    end: int
    message: str


@dataclass(frozen=True, slots=True)
class Section:
    """A section header and what follows it, up to the next header or the end of the file.

    ``start`` to ``header_end`` is the header line (without its newline), ``header_end`` to ``end`` what stands below.
    """

    category: str
    title: str
    start: int
    header_end: int
    end: int


class Entry(NamedTuple):
    """One entry: ``raw`` is its text as stored, stripped, which stands at ``start`` to ``end``.

    A named tuple, because a frozen dataclass costs four times as much to make and a large file has tens of thousands.
    Tags and body are read off ``raw`` each time they are asked for.
    """

    category: str
    start: int
    end: int
    raw: str

    @property
    def __json__(self) -> str:
        return "category body tags id"

    @property
    def text(self) -> str:
        """The whole text with its tag block, escapes undone, lines ending in LF."""
        return unify_newlines(unescape(self.raw))

    @property
    def body(self) -> str:
        """The text without its tag block; empty if the entry holds only tags."""
        raw = self.raw
        if raw[0] not in tag_blocks.MAY_BEGIN and "\\" not in raw and "\r" not in raw:
            return raw  # nearly every entry: the text as it stands
        return tag_blocks.read(self.text)[1]

    @property
    def tags(self) -> dict[str, TagValue]:
        """The tags in order, each a string or a list of strings; of a repeated key the first. A dict of your own."""
        if self.raw[0] not in tag_blocks.MAY_BEGIN:
            return {}
        return first_of_each(tag_blocks.read(self.text)[0])

    @property
    def typed_tags(self) -> Tags:
        """The tags of the format: dates as dates, and domains as a list. A value that does not fit is left out."""
        tags, typed = self.tags, Tags()
        for name in _DAYS:
            if day := read_date(tags.get(name)):
                typed[name] = day
        if domain := tags.get("domain"):
            typed["domain"] = [domain] if isinstance(domain, str) else domain
        if isinstance(source := tags.get("source"), str):
            typed["source"] = source
        return typed

    @property
    def repeated_tags(self) -> tuple[str, ...]:
        """Keys that the tag block gives more than once."""
        keys = [key for key, _ in tag_blocks.read(self.text)[0]]
        return tuple(dict.fromkeys(key for index, key in enumerate(keys) if key in keys[:index]))

    @property
    def id(self) -> str:
        """``b2:`` and a digest of body and tags: the same content has the same id, wherever it stands."""
        if self.raw[0] not in tag_blocks.MAY_BEGIN:
            return content_digest([self.body, {}])
        pairs, body = tag_blocks.read(self.text)
        return content_digest([body, first_of_each(pairs)])


def first_of_each(pairs: tag_blocks.TagPairs) -> dict[str, TagValue]:
    """The tags that count: of a repeated key the first."""
    tags: dict[str, TagValue] = {}
    for key, value in pairs:
        tags.setdefault(key, value if isinstance(value, str) else list(value))
    return tags


class Version(NamedTuple):
    """An entry apart from its place; ``text`` is its text with its tag block, escapes undone."""

    category: str
    body: str
    tags: dict[str, TagValue]
    text: str

    @classmethod
    def from_entry(cls, entry: Entry) -> Version:
        """The version that an entry is."""
        return cls(entry.category, entry.body, entry.tags, entry.text)

    @classmethod
    def read(cls, category: str, text: str) -> Version:
        """The version that a text with its tag block is, escapes undone."""
        pairs, body = tag_blocks.read(text)
        return cls(category, body, first_of_each(pairs), text)

    @classmethod
    def of_each(cls, *documents: Document) -> tuple[list[Version], ...]:
        """The versions that the entries of each document are."""
        return tuple([cls.from_entry(entry) for entry in document.entries] for document in documents)

    @property
    def id(self) -> str:
        """The id of an entry that says this."""
        return content_digest([self.body, self.tags])

    @property
    def key(self) -> tuple[str, str]:
        """Where it stands, and the id."""
        return self.category, self.id

    def same_as(self, other: Version) -> bool:
        """Whether both have the same category, body and tags, in whatever form."""
        return self[:3] == other[:3]


@dataclass(frozen=True)
class Document:
    """A parsed memory file. Make one with ``parse``; everything but the boundaries is computed when asked for."""

    scan: Scan = field(repr=False)

    def __post_init__(self) -> None:
        """Raises ``TooLargeError`` for a text with too many entries and sections."""
        parts = len(self.scan.newlines) + len(self.scan.headers)
        if parts > MAX_PARTS:
            raise TooLargeError("file", parts, MAX_PARTS, unit="entries and sections")

    @property
    def text(self) -> str:
        """The whole text, a BOM and all newlines included."""
        return self.scan.text

    def to_bytes(self) -> bytes:
        """The bytes of the file: exactly those that were parsed."""
        return self.text.encode()

    @property
    def digest(self) -> str:
        """The SHA-256 of the file's bytes, as ``sha256:…``."""
        return bytes_digest(self.to_bytes())

    @property
    def title(self) -> str | None:
        """The text of the level-1 heading that leads a file with sections."""
        return self.scan.title.text if self.scan.title else None

    @cached_property
    def newline(self) -> str:
        """The newline that most lines have, which new lines get."""
        return dominant_newline(self.text)

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections in file order, empty ones and repeated categories included."""
        headers = self.scan.headers
        ends = [*(header.start for header in headers[1:]), len(self.text)]
        return tuple(
            Section(header.category, header.title, header.start, header.end, end)
            for header, end in zip(headers, ends, strict=False)
        )

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, in file order."""
        return tuple(self.entries_between(0, len(self.text)))

    @property
    def by_category(self) -> Mapping[str, tuple[Entry, ...]]:
        """Each category that has entries, in order of its first, with its entries in file order."""
        grouped: dict[str, list[Entry]] = {}
        for entry in self.entries:
            grouped.setdefault(entry.category, []).append(entry)
        return MappingProxyType({category: tuple(entries) for category, entries in grouped.items()})

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What looks wrong, in file order."""
        return tuple(sorted(_problems(self), key=lambda problem: (problem.start, problem.rule)))

    def line(self, offset: int) -> int:
        """The line, from 1, of the character at ``offset``."""
        return self.line_index.line(offset)

    @cached_property
    def line_index(self) -> LineIndex:
        """Offsets to lines and columns."""
        return LineIndex(self.text)

    def entries_between(self, start: int, end: int) -> list[Entry]:
        """The entries of the stretches that touch ``start`` to ``end``, in file order."""
        text = self.text
        new = tuple.__new__  # what `Entry` itself does; large files have very many
        found: list[Entry] = []
        for category, first, last in pieces(self.scan, start, end):
            piece = text[first:last]
            raw = piece.strip()
            if raw is piece and raw:
                found.append(new(Entry, (category, first, last, raw)))  # nearly every entry
            elif raw:
                # Only white space stands before the entry, so its first character is found where the entry begins.
                at = text.index(raw[0], first)
                found.append(new(Entry, (category, at, at + len(raw), raw)))
        return found

    def reread(self, text: str, *, titled: bool | None = None) -> Document:
        """Another text, read as this one was: with its declared categories and their other names.

        ``titled`` says whether a leading level-1 heading is the title also without sections.
        """
        always_titled = self.scan.always_titled if titled is None else titled
        return Document(scan(text, self.scan.categories, always_titled=always_titled))

    def __json__(self) -> dict[str, Any]:
        """The JSON form (``schemas/document.schema.json``)."""
        return self.form(self.title, self.by_category, self.problems)

    def form(
        self, title: str | None, by_category: Mapping[str, Iterable[Entry]], problems: Iterable[Problem]
    ) -> dict[str, Any]:
        """The JSON form of a part of the document."""
        return {
            "format_version": FORMAT_VERSION,
            "title": title,
            "categories": {
                category: [
                    {"body": entry.body, "tags": entry.tags, "line": self.line(entry.start)} for entry in entries
                ]
                for category, entries in by_category.items()
            },
            "problems": [{"rule": problem.rule, "line": self.line(problem.start)} for problem in problems],
        }


def parse(
    data: str | bytes,
    declared: Mapping[str, str] | Iterable[str] | None = None,
    *,
    aliases: Mapping[str, str] | None = None,
) -> Document:
    """Parse a memory file's bytes or text; what looks wrong in it becomes ``Document.problems``, never an exception.

    ``declared`` are the slugs that open sections (a mapping gives each the category it stands for); a heading that is
    not among them is then entry text. Without it every level-2 heading opens a section. ``aliases`` maps further slugs
    to the categories they stand for, in either case.

    Raises ``NotUtf8Error`` and ``TooLargeError``.
    """
    stands_for = dict(aliases or {})
    if isinstance(declared, Mapping):
        stands_for.update(declared)
    elif declared is not None:
        stands_for.update({slug: slug for slug in declared})
    return Document(scan(decode(data), Categories(stands_for, only=declared is not None)))


# --- problems --------------------------------------------------------------------------------------------------------


def _problems(document: Document) -> Iterator[Problem]:
    yield from unclosed(document)
    yield from _heading_problems(document)
    for entry in document.entries:
        yield from _entry_problems(entry)


def unclosed(document: Document) -> Iterator[Problem]:
    """The ``unclosed-fence`` problems of a document alone, in file order."""
    text = document.text
    if not may_hide(text, 0, len(text)):
        return
    for start, end in document.scan.stretches():
        if may_hide(text, start, end):
            stretch = text[start:end]
            for opening, opening_end in unclosed_spans(stretch):
                what = "comment" if stretch[opening:opening_end].lstrip(" ").startswith("<") else "code fence"
                yield Problem(
                    "unclosed-fence",
                    start + opening,
                    start + opening_end,
                    f"this {what} is not closed before its entry ends, so it hides nothing",
                )


def _heading_problems(document: Document) -> Iterator[Problem]:
    for offset in document.scan.slugless:
        end = document.text.find("\n", offset)
        yield Problem(
            "empty-slug",
            offset,
            len(document.text) if end < 0 else end,
            "this heading has no letter or number to name a category with, so it is entry text",
        )
    first: dict[str, Section] = {}
    for section in document.sections:
        before = first.setdefault(section.category, section)
        if before is not section:
            yield Problem(
                "duplicate-section",
                section.start,
                section.header_end,
                f"a second section of category {section.category}; the first is on line {document.line(before.start)}",
            )


def _entry_problems(entry: Entry) -> Iterator[Problem]:
    if len(entry.raw) > MAX_ENTRY_CHARS:
        message = f"this entry has {len(entry.raw):,} characters, over the limit of {MAX_ENTRY_CHARS:,}"
        yield Problem("entry-too-large", entry.start, entry.end, message)
    if entry.raw[0] not in "[-*+":
        return  # the rest is about tag blocks
    if LOOKS_TAGGED.match(entry.raw) and not entry.tags:
        message = "this looks like a tag block and is not one, so it is text: see docs/format.md for the form"
        yield Problem("malformed-tags", entry.start, entry.end, message)
    if not entry.body:
        yield Problem("empty-body", entry.start, entry.end, "this entry has tags and no text")
    for key in entry.repeated_tags:
        yield Problem("duplicate-tag", entry.start, entry.end, f"the tag {key} is given twice; the first counts")
    size = 0 if entry.tags else tag_blocks.block_size(entry.text)
    if size > MAX_TAG_CHARS:
        message = f"this tag block has {size:,} characters, over the limit of {MAX_TAG_CHARS:,}; it is text"
        yield Problem("tag-block-too-large", entry.start, entry.end, message)


def gone_entries(old: Sequence[Entry], new: Sequence[Entry]) -> Iterator[Entry]:
    """The entries that others lack, in their category and as they are written; of equal ones as many as are gone."""
    left = Counter((entry.category, entry.raw) for entry in new)
    for entry in old:
        left[entry.category, entry.raw] -= 1
        if left[entry.category, entry.raw] < 0:
            yield entry
