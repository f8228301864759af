"""Where in a file the things stand that rules speak of, and taking an entry out."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING

from catmem.model.edit import TextEdit
from catmem.model.layout import delimiter_before, delimiter_behind, left_open, line_end_before
from catmem.syntax.scan import closed_spans
from catmem.text import BOM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from catmem.linting.linted import LintedEntry, LintedFile
    from catmem.model.document import Document


def first_line(entry: LintedEntry) -> tuple[int, int]:
    """The span of an entry's first line."""
    return entry.start, entry.start + len(entry.raw.partition("\n")[0].rstrip("\r"))


def key_span(entry: LintedEntry, key: str) -> tuple[int, int]:
    """The span of the first ``key`` in the tag block, without the colon."""
    found = re.search(rf"(?:\A|(?<=[\[,\n])) *({re.escape(key)}):", entry.raw)
    return (entry.start + found.start(1), entry.start + found.end(1)) if found else first_line(entry)


def value_span(entry: LintedEntry, key: str, value: object) -> tuple[int, int]:
    """The span of a plain value behind its key; of the key where the value is written in another form."""
    span = key_span(entry, key)
    found = re.compile(rf": +({re.escape(str(value))}) *[\],\r\n]").match(entry.raw, span[1] - entry.start)
    return (entry.start + found.start(1), entry.start + found.end(1)) if found else span


def entry_at(entries: Sequence[LintedEntry], offset: int) -> LintedEntry | None:
    """The entry that holds ``offset``, or begins behind the blanks there."""
    index = bisect_right(entries, offset, key=lambda entry: entry.start) - 1
    # Blanks before a fence on the first line of an entry are not part of the entry.
    for place in (index, index + 1):
        if 0 <= place < len(entries) and offset < entries[place].end:
            return entries[place]
    return None


def closed_places(file: LintedFile) -> Callable[[int], bool]:
    """Whether an offset is in a closed fence or comment of an entry, each of which is read once, when asked for."""
    spans = cache(lambda entry: closed_spans(entry.raw))

    def holds(offset: int) -> bool:
        entry = entry_at(file.entries, offset)
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


def removal(document: Document, entry: LintedEntry) -> TextEdit:
    """Take an entry out with the delimiter behind it, or the one in front; a fence left open keeps its delimiter."""
    text = document.text
    behind = delimiter_behind(document, entry.end)
    if behind and not left_open(document, entry.start):
        newline = text.find("\n", behind[1])
        # Blanks in front of the entry would come to stand in front of what follows, and make text of a header.
        start = max(text.rfind("\n", 0, entry.start) + 1, document.scan.start)
        return TextEdit(start, len(text) if newline < 0 else newline + 1, "")
    before = None if behind else delimiter_before(document, entry.start)
    if before and before[0] >= document.scan.start and not left_open(document, before[0]):
        end = entry.end + (2 if text.startswith("\r\n", entry.end) else 1 if text.startswith("\n", entry.end) else 0)
        if end > entry.end:
            return TextEdit(before[0] + 1, end, "")
        # Without its line end, a last line of odd blanks may read as a boundary.
        if text[text.rfind("\n", 0, before[0]) + 1] not in "§#":
            return TextEdit(line_end_before(document, before), entry.end, "")
    return TextEdit(entry.start, entry.end, "")
