"""Where in a document a new entry or section goes, and which boundaries it needs there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from catmem.model.layout import is_shared
from catmem.model.surroundings import delimiter_behind, left_open
from catmem.syntax.slug import UNCATEGORIZED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.model.document import Document, Entry, Section

_FIRST_LOOK = 4096
"""Characters, from the end of a section, in which its last entry is looked for first."""


class Place(NamedTuple):
    """An offset, and what stands between it and the new entry's text on both sides."""

    position: int
    before: str
    after: str


def has_place_for(document: Document, category: str) -> bool:
    """Whether an entry of this category needs no new section."""
    return category == UNCATEGORIZED or any(header.category == category for header in document.scan.headers)


def place_for_entry(document: Document, category: str, *, must_end: bool) -> Iterator[Place]:
    """Places at the end of a category for which ``has_place_for`` holds, the plainest first.

    ``must_end``: the entry holds a fence or a comment that is not closed, so a delimiter line has to follow it.
    """
    sections = [section for section in document.sections if section.category == category]
    if sections:
        return _in_section(document, sections[-1], must_end=must_end)
    return _before_sections(document, must_end=must_end)


def place_for_section(document: Document, title: str, *, must_end: bool) -> Place:
    """The place of a new section with its first entry: at the end, in the ``shared`` layout before the last section."""
    newline = document.newline
    if is_shared(document):
        return Place(document.sections[-1].start, f"## {title}{newline}§{newline}", f"{newline}§{newline}")
    text = document.text
    lead = "" if len(text) == document.scan.start or text.endswith("\n") else _last_newline(document)
    if left_open(document, len(text)):
        lead += f"§{2 * newline}"
    elif len(text) > document.scan.start and not text.endswith(2 * newline):
        lead += newline
    return Place(len(text), f"{lead}## {title}{newline}", (f"{newline}§" if must_end else "") + newline)


def ending(document: Document, position: int) -> str:
    """The delimiter line to follow an entry that ends at ``position`` and holds something unclosed, if it has none."""
    if delimiter_behind(document, position):
        return ""
    at_end = not document.text[position:].strip()
    return "" if at_end and is_shared(document) else f"{document.newline}§"


def _last_newline(document: Document) -> str:
    """The newline that ends a last line without one; a CR at the end of the file is half of it already."""
    return "\n" if document.text.endswith("\r") else document.newline


def line_end(document: Document, position: int) -> int:
    """Where the line that holds ``position`` ends, in front of its LF."""
    found = document.text.find("\n", position)
    return len(document.text) if found < 0 else found


def _in_section(document: Document, section: Section, *, must_end: bool) -> Iterator[Place]:
    newline = document.newline
    last = _last_entry(document, section.start + 1, section.end)
    if last is not None:
        yield from places_behind(document, last.end, must_end=must_end)
        return
    after = ending(document, section.header_end) if must_end else ""
    if not is_shared(document):
        yield Place(section.header_end, newline, after)
    # A delimiter of its own keeps it apart from a fence that an entry before the header leaves open.
    yield Place(section.header_end, f"{newline}§{newline}", after)


def _before_sections(document: Document, *, must_end: bool) -> Iterator[Place]:
    newline = document.newline
    start = document.scan.start
    end = document.sections[0].start if document.sections else len(document.text)
    last = _last_entry(document, 0, end)
    title = document.scan.title
    if last is not None:
        yield from places_behind(document, last.end, must_end=must_end)
    elif title:
        yield Place(title.end, 2 * newline, ending(document, title.end) if must_end else "")
    elif document.sections:
        after = f"{newline}§" if must_end else ""
        yield Place(start, "", after + 2 * newline)
        yield Place(start, newline, after + 2 * newline)  # a text that begins with a BOM may not begin the file
    else:
        # No entry at all: behind whatever blanks and delimiters there are.
        starts_line = end == start or document.text.endswith("\n")
        yield Place(end, "" if starts_line else _last_newline(document), newline)
        yield Place(end, newline, newline)


def _last_entry(document: Document, start: int, end: int) -> Entry | None:
    """The last entry that begins from ``start`` on and before ``end``; looked for from behind, as files are long."""
    width = _FIRST_LOOK
    while True:
        begin = max(start, end - width)
        found = [entry for entry in document.entries_between(begin, end) if start <= entry.start < end]
        if found or begin == start:
            return found[-1] if found else None
        width *= 8


def places_behind(document: Document, position: int, *, must_end: bool) -> Iterator[Place]:
    """Places behind an entry that ends at ``position``, the plainest first."""
    newline = document.newline
    after = ending(document, position) if must_end else ""
    yield Place(position, f"{newline}§{newline}", after)
    # What white space follows on its line may be all that keeps the entry's last line from being a delimiter.
    yield Place(line_end(document, position), f"\n§{newline}", after)
