"""The entries in which two documents differ, found from where their texts do and not by a look at all entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from catmem.model.document import Document
from catmem.store.changes import splice
from catmem.syntax.scan import rescan, touched_region

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.model.document import Entry


class Differing(NamedTuple):
    """The entries of two texts in the stretches in which they differ, in file order."""

    old: Sequence[Entry]
    new: Sequence[Entry]


def changed_document(old: Document, data: bytes) -> tuple[Document, Differing]:
    """The document that ``data`` is, read off ``old`` where the two are equal, and what differs."""
    text = data.decode()
    place = _changed(old.text, text)
    new = Document(rescan(old.scan, text, *place), old.limits)
    return new, differing(old, new, place)


def differing(old: Document, new: Document, place: tuple[int, int] | None = None) -> Differing:
    """The entries that differ, and perhaps some beside them that do not; ``place`` is where, if that is known."""
    start, end = differing_stretches(old, new, place)
    behind = end + len(new.text) - len(old.text)
    return Differing(old.entries_between(start, end), new.entries_between(start, behind))


def differing_stretches(old: Document, new: Document, place: tuple[int, int] | None = None) -> tuple[int, int]:
    """Where in the old text the stretches lie in which the two differ; the entries around them are the same."""
    if bool(old.scan.title) != bool(new.scan.title) or _categories(old) != _categories(new):
        return old.scan.start, len(old.text)  # the title is an entry in one of them, or a section has moved
    return touched_region(old.scan, *(place or _changed(old.text, new.text)))


def _categories(document: Document) -> list[str]:
    return [header.category for header in document.scan.headers]


def _changed(old: str, new: str) -> tuple[int, int]:
    """Where ``old`` gives way to something else: the offsets of its first and behind its last other character."""
    before, after = old.encode(), new.encode()
    found = splice(before, after)
    # An edge may lie within a character: half of one at the edge is left out of what is equal.
    start = len(before[: found.offset].decode(errors="ignore"))
    equal_end = before[found.offset + found.removed :].decode(errors="ignore")
    return start, len(old) - len(equal_end)
