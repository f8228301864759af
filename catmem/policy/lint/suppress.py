"""Marks in a memory file that suppress findings: ``<!-- catmem: ignore CM203 -->`` on a line of its own.

A mark covers the entry that it stands in; right above a section header it covers the header, and as an entry of its own
the entry after it. It belongs to the text of the entry (``docs/format.md``), so it stands below a tag block: above one
it would make the tags text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from catmem.policy.lint.diagnostic import Region

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.model.document import Document, Entry

_MARK = re.compile(r"<!--[ \t]{0,8}catmem:[ \t]{0,8}ignore((?:[ \t,]{1,4}[A-Z]{2}[0-9]{3}){1,20})[ \t]{0,8}-->")
_ATTEMPT = re.compile(r"<!--[ \t]{0,8}catmem[ \t]{0,8}:", re.IGNORECASE)
_LINE = re.compile(r"(?:\A|(?<=\n))[ \t]{0,8}<!--[ \t]{0,8}catmem:[^\n>]{0,256}-->[ \t]{0,8}(?=\n|\Z)")
_SIGN = "<!--"
_WORD = re.compile(r"catmem", re.IGNORECASE)


class Mark(NamedTuple):
    """One mark: its span, the span that it covers, and the codes that it names.

    ``covers`` is empty if nothing is there to cover, ``codes`` for a mark that cannot be read.
    """

    start: int
    end: int
    region: Region
    covers: tuple[int, int]
    codes: tuple[str, ...]


def without_marks(body: str) -> str:
    """A body without its marks: they are not part of what it says."""
    return _LINE.sub("", body).strip() if _SIGN in body else body


def is_only_marks(entry: Entry) -> bool:
    """Whether an entry holds nothing but marks, which speak of the entry after it."""
    return entry.raw.startswith(_SIGN) and all(
        _MARK.fullmatch(line.strip()) for line in entry.raw.split("\n") if line.strip()
    )


def marks(document: Document) -> tuple[Mark, ...]:
    """Every mark of a document, those that cannot be read too, in file order."""
    text = document.text
    if _SIGN not in text or not _WORD.search(text):
        return ()
    entries = document.entries
    found: list[Mark] = []
    for index, entry in enumerate(entries):
        if _SIGN in entry.raw:
            after = entries[index + 1] if index + 1 < len(entries) else None
            found += _marks_of(document, entry, after)
    return tuple(found)


def _marks_of(document: Document, entry: Entry, after: Entry | None) -> Iterator[Mark]:
    alone = is_only_marks(entry)
    for line_start, line in _lines(entry):
        stripped = line.strip()
        if not _ATTEMPT.match(stripped):
            continue
        start = line_start + line.index(stripped[0])
        end = start + len(stripped)
        match = _MARK.fullmatch(stripped)
        codes = tuple(dict.fromkeys(re.findall("[A-Z]{2}[0-9]{3}", match[1]))) if match else ()
        covers = _header_below(document, end)
        if covers is None:
            covered = after if alone else entry
            covers = (covered.start, covered.end) if covered else (end, end)
        position = document.line_index.position
        yield Mark(start, end, Region(*position(start), *position(end)), covers, codes)


def _lines(entry: Entry) -> Iterator[tuple[int, str]]:
    start = entry.start
    for line in entry.raw.split("\n"):
        yield start, line
        start += len(line) + 1


def _header_below(document: Document, end: int) -> tuple[int, int] | None:
    """The span of the section header on the line after a mark."""
    newline = document.text.find("\n", end)
    if newline < 0:
        return None
    headers = (header for header in document.scan.headers if header.start == newline + 1)
    return next(((header.start, header.end) for header in headers), None)


def covering(found: Sequence[Mark], code: str, start: int) -> Mark | None:
    """The mark that names the code and covers what begins at ``start``; of several the first."""
    for mark in found:
        if code in mark.codes and mark.covers[0] <= start < max(mark.covers[1], mark.covers[0] + 1):
            return mark
    return None
