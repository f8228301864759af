"""Where in a file the things stand that rules speak of, and taking an entry out."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from catmem.model.edit import TextEdit
from catmem.model.layout import delimiter_before, delimiter_behind, left_open, line_end_before
from catmem.syntax.scan import closed_spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.linting.linted import LintedEntry, LintedFile
    from catmem.model.document import Document


def first_line(entry: LintedEntry) -> tuple[int, int]:
    """The span of an entry's first line."""
    return entry.start, entry.start + len(entry.raw.partition("\n")[0].rstrip("\r"))


def key_span(entry: LintedEntry, key: str) -> tuple[int, int]:
    """The span of the first ``key`` in the tag block, without the colon."""
    raw = entry.raw
    start = raw.find(f"{key}:")
    while start >= 0:
        before = start
        while before and raw[before - 1] == " ":
            before -= 1
        if before == 0 or raw[before - 1] in "[,\n":
            return entry.start + start, entry.start + start + len(key)
        start = raw.find(f"{key}:", start + 1)
    return first_line(entry)


def value_span(entry: LintedEntry, key: str, value: object) -> tuple[int, int]:
    """The span of a plain value behind its key; of the key where the value is written in another form."""
    span = key_span(entry, key)
    raw, text = entry.raw, str(value)
    colon = span[1] - entry.start
    start = _behind_blanks(raw, colon + 1)
    if raw[colon : colon + 2] != ": " or not raw.startswith(text, start):
        return span
    end = start + len(text)
    behind = _behind_blanks(raw, end)
    return (entry.start + start, entry.start + end) if raw[behind : behind + 1] in _ENDS_VALUE else span


_ENDS_VALUE = ("]", ",", "\r", "\n")


def _behind_blanks(text: str, position: int) -> int:
    while text.startswith(" ", position):
        position += 1
    return position


def entry_at(entries: Sequence[LintedEntry], offset: int) -> LintedEntry | None:
    """The entry that holds ``offset``, or begins behind the blanks there."""
    index = bisect_right(entries, offset, key=lambda entry: entry.start) - 1
    # Blanks before a fence on the first line of an entry are not part of the entry.
    for place in (index, index + 1):
        if 0 <= place < len(entries) and offset < entries[place].end:
            return entries[place]
    return None


class ClosedSpans:
    """The closed fences and comments of a file's entries, each entry read once and only when asked for."""

    __slots__ = ("_entries", "_spans")

    def __init__(self, file: LintedFile) -> None:
        """Nothing is read yet."""
        self._entries = file.entries
        self._spans: dict[int, list[tuple[int, int]]] = {}

    def hold(self, offset: int) -> bool:
        """Whether an offset of the file lies within one of them."""
        entry = entry_at(self._entries, offset)
        if entry is None:
            return False
        spans = self._spans.get(entry.start)
        if spans is None:
            spans = self._spans[entry.start] = closed_spans(entry.raw)
        index = bisect_right(spans, offset - entry.start, key=lambda span: span[0]) - 1
        return index >= 0 and offset - entry.start < spans[index][1]


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
