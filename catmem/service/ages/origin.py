"""Which entry of an older text an entry comes from: what was reworded, tagged, moved or split stays as old as it was.

Only the stretches that differ are looked at, so that a long history of a large file is quick to go through.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from catmem.model.document import Document
from catmem.model.pairing import alike, pair_entries
from catmem.store.changes import splice
from catmem.syntax.scan import rescan, touched_region

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from catmem.model.document import Entry

_WORD = re.compile(r"\w+")
_RARE, _REACH = 4, 64
"""By how many of its rarest words, and among how many entries, the origin of an entry in a new category is sought."""


class Differing(NamedTuple):
    """The entries of two texts in the stretches in which they differ, in file order."""

    old: Sequence[Entry]
    new: Sequence[Entry]


def changed_document(old: Document, data: bytes) -> tuple[Document, Differing]:
    """The document that ``data`` is, read off ``old`` where the two are equal, and what differs.

    Raises ``UnicodeDecodeError``.
    """
    text = data.decode()
    start, end = _differing(old.text, text)
    new = Document(rescan(old.scan, text, start, end), old.limits)
    return new, _between(old, new, start, end)


def differing(old: Document, new: Document) -> Differing:
    """The entries that differ, and perhaps some beside them that do not."""
    return _between(old, new, *_differing(old.text, new.text))


def _between(old: Document, new: Document, start: int, end: int) -> Differing:
    if bool(old.scan.title) != bool(new.scan.title) or _categories(old) != _categories(new):
        return Differing(old.entries, new.entries)  # the title is an entry in one of them, or a section has moved
    region_start, region_end = touched_region(old.scan, start, end)
    shift = len(new.text) - len(old.text)
    return Differing(
        old.entries_between(region_start, region_end), new.entries_between(region_start, region_end + shift)
    )


def _categories(document: Document) -> list[str]:
    return [header.category for header in document.scan.headers]


def _differing(old: str, new: str) -> tuple[int, int]:
    """Where ``old`` gives way to something else: the offsets of its first and behind its last other character."""
    before, after = old.encode(), new.encode()
    found = splice(before, after)
    # An edge may lie within a character: half of one at the edge is left out of what is equal.
    start = len(before[: found.offset].decode(errors="ignore"))
    equal_end = before[found.offset + found.removed :].decode(errors="ignore")
    return start, len(old) - len(equal_end)


def origins(found: Differing, wanted: Collection[int], reworded: Collection[str] = ()) -> dict[int, Entry]:
    """The old entry that each of the ``wanted`` new ones (by start) comes from, for those that come from any.

    By equal body or similar words as ``pair_entries`` has it; then those whose ids are ``reworded``, of which catmem
    itself says that they replaced an entry; then similar words in another category; then a piece of an old entry.
    """
    pairs = pair_entries(found.old, found.new)
    by_start = {found.new[there].start: found.old[here] for here, there in pairs.items()}
    free = [entry for index, entry in enumerate(found.old) if index not in pairs]
    left = [entry for entry in found.new if entry.start in wanted and entry.start not in by_start]
    for entry in left:
        if free and reworded and entry.id in reworded:
            same = [each for each in free if each.category == entry.category]
            by_start[entry.start] = (same or free)[0]
            free.remove(by_start[entry.start])
    there = {entry.body for entry in found.new}
    gone = [entry for entry in found.old if entry.body not in there]
    by_start |= _by_words(gone, {entry.start for entry in free}, [each for each in left if each.start not in by_start])
    return {start: entry for start, entry in by_start.items() if start in wanted}


def _by_words(gone: Sequence[Entry], free: Collection[int], left: Sequence[Entry]) -> dict[int, Entry]:
    """For each entry that is left a gone one that holds all of it, or a ``free`` one that shares half of its words."""
    holding: dict[str, list[int]] = defaultdict(list)
    words = [_words(entry.body) for entry in gone]
    for index, own in enumerate(words):
        for word in own:
            holding[word].append(index)
    by_start: dict[int, Entry] = {}
    for entry in left:
        own, body = _words(entry.body), entry.body
        rarest = sorted((word for word in own if word in holding), key=lambda word: (len(holding[word]), word))
        near = dict.fromkeys(index for word in rarest[:_RARE] for index in holding[word][:_REACH])
        for index in near:
            if (gone[index].start in free and alike(own, words[index])) or body in gone[index].body:
                by_start[entry.start] = gone[index]
                break
    return by_start


def _words(body: str) -> frozenset[str]:
    return frozenset(_WORD.findall(body.lower()))
