"""Unified diffs of two lists of lines, in time that grows with their length.

``difflib`` finds the shorter differences, and takes time that grows with the square of the length; so it sees only what
lies between the common beginning and end, and only if that is not much. What is longer is walked once, side by side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CONTEXT = 3
_COMPARED = 4_000
"""How many lines of both texts together difflib is given."""
_AHEAD = 6
"""How many lines ahead the walk looks for a place where the texts agree again."""


class _Change(NamedTuple):
    """Lines ``old_start`` to ``old_end`` of the one text that are ``new_start`` to ``new_end`` of the other."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def unified_diff(before: Sequence[str], after: Sequence[str], old_name: str, new_name: str) -> Iterator[str]:
    """The lines of a unified diff, with three lines of context; none for equal texts.

    Each line of ``before`` and ``after`` ends in its newline, but perhaps the last; so do those of the diff.
    """
    changes = _changes(before, after)
    if changes:
        yield f"--- {old_name}\n"
        yield f"+++ {new_name}\n"
    for hunk in _hunks(changes):
        yield from _written(hunk, before, after)


def _changes(before: Sequence[str], after: Sequence[str]) -> list[_Change]:
    """What differs, in order; something equal lies between any two changes."""
    start, old_end, new_end = 0, len(before), len(after)
    while start < min(old_end, new_end) and before[start] == after[start]:
        start += 1
    while start < min(old_end, new_end) and before[old_end - 1] == after[new_end - 1]:
        old_end, new_end = old_end - 1, new_end - 1
    old, new = before[start:old_end], after[start:new_end]
    found = _compared(old, new) if len(old) + len(new) <= _COMPARED else _walked(old, new)
    return [_Change(*(start + place for place in change)) for change in found]


def _compared(old: Sequence[str], new: Sequence[str]) -> list[_Change]:
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, old, new)
    return [_Change(*places) for tag, *places in matcher.get_opcodes() if tag != "equal"]


def _walked(old: Sequence[str], new: Sequence[str]) -> list[_Change]:
    """The differences by looking a few lines ahead: formatting mostly adds or removes single lines."""
    found: list[_Change] = []
    at_old = at_new = 0
    while at_old < len(old) or at_new < len(new):
        skip_old, skip_new = _until_equal(old, new, at_old, at_new)
        if skip_old or skip_new:
            change = _Change(at_old, at_old + skip_old, at_new, at_new + skip_new)
            last = found[-1] if found else None
            if last and (last.old_end, last.new_end) == (at_old, at_new):
                found[-1] = change._replace(old_start=last.old_start, new_start=last.new_start)
            else:
                found.append(change)
        at_old, at_new = at_old + skip_old, at_new + skip_new
        if at_old < len(old) and at_new < len(new) and old[at_old] == new[at_new]:
            at_old, at_new = at_old + 1, at_new + 1
    return found


def _until_equal(old: Sequence[str], new: Sequence[str], at_old: int, at_new: int) -> tuple[int, int]:
    """How many lines to pass over on either side to where both agree: the fewest, or one of each if it is far."""
    left_old, left_new = len(old) - at_old, len(new) - at_new
    if not left_old or not left_new:
        return left_old, left_new
    for skipped in range(2 * _AHEAD):
        for skip_old in range(max(0, skipped - left_new + 1), min(skipped, left_old - 1) + 1):
            if old[at_old + skip_old] == new[at_new + skipped - skip_old]:
                return skip_old, skipped - skip_old
    return 1, 1


def _hunks(changes: Sequence[_Change]) -> Iterator[list[_Change]]:
    """The changes, together where their lines of context meet."""
    hunk: list[_Change] = []
    for change in changes:
        if hunk and change.old_start - hunk[-1].old_end > 2 * _CONTEXT:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _written(hunk: Sequence[_Change], before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    first, last = hunk[0], hunk[-1]
    lead = min(_CONTEXT, first.old_start)
    end = min(_CONTEXT, len(before) - last.old_end)
    old_stretch = _stretch(first.old_start - lead, last.old_end + end)
    yield f"@@ -{old_stretch} +{_stretch(first.new_start - lead, last.new_end + end)} @@\n"
    position = first.old_start - lead
    for change in hunk:
        yield from (f" {line}" for line in before[position : change.old_start])
        yield from (f"-{line}" for line in before[change.old_start : change.old_end])
        yield from (f"+{line}" for line in after[change.new_start : change.new_end])
        position = change.old_end
    yield from (f" {line}" for line in before[position : position + end])


def _stretch(start: int, end: int) -> str:
    """Lines of a text as a hunk's header names them: the first, from 1, and how many if not one."""
    if end - start == 1:
        return str(end)
    # No lines: they stand behind the one that is named.
    return f"{start + (end > start)},{end - start}"
