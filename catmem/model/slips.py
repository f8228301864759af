"""What looks like structure and is text of an entry: where a line stands, and headings that open no section."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Protocol, TypeVar

from catmem.model.document import Document
from catmem.names import UNCATEGORIZED, slugify
from catmem.syntax.scan import closed_spans
from catmem.text import BOM

_HEADING = re.compile(r"([ \t]{0,3}+(#{1,6}+)[ \t]*+)([^\n#][^\n]{0,128}+)(?=\n|\Z)")


class _Spanned(Protocol):
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


_P = TypeVar("_P", bound=_Spanned)


def entry_at(entries: Sequence[_P], offset: int) -> _P | None:
    """The entry that holds ``offset``, or begins behind the blanks there."""
    index = bisect_right(entries, offset, key=lambda entry: entry.start) - 1
    # Blanks before a fence on the first line of an entry are not part of the entry.
    for place in (index, index + 1):
        if 0 <= place < len(entries) and offset < entries[place].end:
            return entries[place]
    return None


def closed_places(document: Document) -> Callable[[int], bool]:
    """Whether an offset is in a closed fence or comment of an entry, each of which is read once, when asked for."""
    spans = cache(lambda entry: closed_spans(entry.raw))

    def holds(offset: int) -> bool:
        entry = entry_at(document.entries, offset)
        if entry is None:
            return False
        index = bisect_right(spans(entry), offset - entry.start, key=lambda span: span[0]) - 1
        return index >= 0 and offset - entry.start < spans(entry)[index][1]

    return holds


def lines_with(text: str, sign: str) -> Iterator[tuple[int, str]]:
    """Each line that holds ``sign``, without blanks and CR at its end, with its place."""
    position = text.find(sign)
    while position >= 0:
        start = text.rfind("\n", 0, position) + 1 or (1 if text.startswith(BOM) else 0)
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        yield start, text[start:end].rstrip(" \t\r")
        position = text.find(sign, end)


def heading_slips(document: Document, named: Callable[[str], str | None]) -> Iterator[tuple[int, int, str]]:
    """The spans and titles of such headings; ``named`` gives the category that the root has for a slug."""
    text, closed = document.text, closed_places(document)
    headers = document.scan.headers
    starts = {header.start for header in headers}
    if document.scan.title:
        starts.add(document.scan.title.start)
    present = {header.category for header in headers}
    for start, _ in lines_with(text, "#"):
        match = _HEADING.match(text, start)
        if match is None or start in starts or closed(start):
            continue
        level, title = len(match[2]), match[3].strip().rstrip("#").rstrip()
        slug = slugify(title)
        known = named(slug) is not None or slug in present
        near_header = level == len("##") and bool(starts) and match[1][-1:] != "\t" and match[1] != "## "
        spaced = match[1][-1:] in " \t" or level == len("##")
        if slug and slug != UNCATEGORIZED and ((known and spaced) or near_header):
            yield start, start + len(match[0].rstrip()), title
