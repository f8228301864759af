"""Where in a file the things stand that rules speak of."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from catmem.syntax.scan import closed_spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.policy.lint.linted import LintedEntry, LintedFile


def tagged(file: LintedFile) -> Iterator[LintedEntry]:
    """The entries that have tags."""
    return (entry for entry in file.entries if entry.tags)


def first_line(entry: LintedEntry) -> tuple[int, int]:
    """The span of an entry's first line."""
    return entry.start, entry.start + len(entry.raw.partition("\n")[0].rstrip("\r"))


def key_span(entry: LintedEntry, key: str) -> tuple[int, int]:
    """The span of the first ``key`` in the tag block, without the colon."""
    found = re.search(rf"(?:[\[,\n]|\A)[ ]*({re.escape(key)}):", entry.raw)
    return (entry.start + found.start(1), entry.start + found.end(1)) if found else first_line(entry)


def value_span(entry: LintedEntry, key: str, value: object) -> tuple[int, int]:
    """The span of a plain value behind its key; of the key where the value is written in another form."""
    start, end = key_span(entry, key)
    written = re.compile(rf":[ ]+({re.escape(str(value))})(?=[ ]*[],\r\n])").match(entry.raw, end - entry.start)
    return (entry.start + written.start(1), entry.start + written.end(1)) if written else (start, end)


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
