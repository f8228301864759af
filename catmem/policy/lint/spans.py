"""Where in a file the things stand that rules speak of."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from catmem.syntax.scan import closed_spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.policy.lint.linted import LintedEntry, LintedFile


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
