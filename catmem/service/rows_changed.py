"""Which entries of a document an edit changed, and which of all entries these are, by looking at its place alone.

A large document has thousands of entries and an edit touches one or two, so none but those is read. That works because
entries between two delimiter lines are cut the same whatever stands elsewhere: it is enough to remember how many such
a stretch holds where that is not one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from catmem.model.document import category_at
from catmem.syntax.scan import out_of_reach, region_between

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.model.document import Document, Entry

_FIRST_STEP = 256
"""Characters that are compared at first."""


class Counted(NamedTuple):
    """A document with the stretches that hold not just one entry: the number of each, and how many it holds."""

    document: Document
    odd: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, document: Document) -> Counted:
        """Count all entries of a document."""
        held = _held(document, document.entries)
        stretches = range(len(document.scan.delimiters) + 1)
        return cls(document, [(number, held.get(number, 0)) for number in stretches if held.get(number, 0) != 1])

    @property
    def total(self) -> int:
        """How many entries there are."""
        return self.before(len(self.document.scan.delimiters) + 1)

    def before(self, stretch: int) -> int:
        """How many entries stand before a stretch."""
        return stretch + sum(count - 1 for number, count in self.odd if number < stretch)


class Difference(NamedTuple):
    """From the entry number ``first`` on, the entries ``gone`` give way to ``come``; ``after`` is the new document."""

    first: int
    gone: Sequence[Entry]
    come: Sequence[Entry]
    after: Counted


def difference(before: Counted, new: Document) -> Difference:
    """The entries in which two documents differ."""
    return _in_place(before, new) or _of_all(before, new)


def _in_place(before: Counted, new: Document) -> Difference | None:
    """The same, read off the stretches that the edit touches; ``None`` where it tells on others."""
    old, shift = before.document, len(new.text) - len(before.document.text)
    start, end = _differing(old.text, new.text)
    if bool(old.scan.title) != bool(new.scan.title) or old.scan.start != new.scan.start or start < old.scan.start:
        return None
    first, last = out_of_reach(old.scan, start, end)
    region_start, region_end = region_between(old.scan, first, last)
    if category_at(old.scan, region_end) != category_at(new.scan, region_end + shift):
        return None
    moved = len(new.scan.delimiters) - len(old.scan.delimiters)
    come = new.entries_between(region_start, region_end + shift)
    held = _held(new, come)
    odd = [
        *(each for each in before.odd if each[0] < first),
        *((number, held.get(number, 0)) for number in range(first, last + moved + 1) if held.get(number, 0) != 1),
        *((number + moved, count) for number, count in before.odd if number > last),
    ]
    was = old.entries_between(region_start, region_end)
    return _trimmed(before.before(first), was, come, Counted(new, odd))


def _of_all(before: Counted, new: Document) -> Difference:
    return _trimmed(0, before.document.entries, new.entries, Counted.of(new))


def _held(document: Document, entries: Sequence[Entry]) -> defaultdict[int, int]:
    """How many of some entries each stretch holds."""
    delimiters = document.scan.delimiters
    held: defaultdict[int, int] = defaultdict(int)
    for entry in entries:
        held[bisect_left(delimiters, (entry.start,))] += 1
    return held


def _trimmed(first: int, was: Sequence[Entry], come: Sequence[Entry], after: Counted) -> Difference:
    """Without what says the same in the same order at the start, and at the end."""
    shorter = min(len(was), len(come))
    start = 0
    while start < shorter and _alike(was[start], come[start]):
        start += 1
    end = 0
    while end < shorter - start and _alike(was[-1 - end], come[-1 - end]):
        end += 1
    return Difference(first + start, was[start : len(was) - end], come[start : len(come) - end], after)


def _alike(one: Entry, other: Entry) -> bool:
    return one.raw == other.raw and one.category == other.category


def _differing(old: str, new: str) -> tuple[int, int]:
    """Where ``old`` gives way to something else: the offsets of its first and behind its last other character."""
    start = _same_start(old, new)
    return start, len(old) - _same_end(old, new, min(len(old), len(new)) - start)


def _same_start(old: str, new: str) -> int:
    """How many characters are equal at the start: by slices that grow and shrink, which compare at C speed."""
    length = min(len(old), len(new))
    same, step, grows = 0, _FIRST_STEP, True
    while step and same < length:
        step = min(step, length - same)
        if old.startswith(new[same : same + step], same):
            same += step
            step *= 2 if grows else 1
        else:
            grows = False
            step //= 2
    return same


def _same_end(old: str, new: str, length: int) -> int:
    """How many characters are equal at the end, of ``length`` at most."""
    old_end, new_end = len(old), len(new)
    same, step, grows = 0, _FIRST_STEP, True
    while step and same < length:
        step = min(step, length - same)
        if old.endswith(new[new_end - same - step : new_end - same], 0, old_end - same):
            same += step
            step *= 2 if grows else 1
        else:
            grows = False
            step //= 2
    return same
