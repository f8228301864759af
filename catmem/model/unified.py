"""Unified diffs by difflib; where very many lines differ, the whole stretch that differs is one change."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CONTEXT = 3
_COMPARED = 4_000
"""How many lines of both texts together difflib compares: its time grows with the square of their number."""
_FIRST_LINE = re.compile(r"(?<=[-+])\d+")


def unified_diff(before: Sequence[str], after: Sequence[str], old_name: str, new_name: str) -> Iterator[str]:
    """The lines of a unified diff, with three lines of context; none for equal texts.

    Each line of ``before`` and ``after`` ends in its newline, but perhaps the last; so do those of the diff.
    """
    import difflib

    start, end = equal_ends(before, after)
    top, bottom = max(start - _CONTEXT, 0), max(end - _CONTEXT, 0)
    old, new = before[top : len(before) - bottom], after[top : len(after) - bottom]
    if len(old) + len(new) <= _COMPARED:
        for line in difflib.unified_diff(old, new, old_name, new_name, n=_CONTEXT):
            yield _FIRST_LINE.sub(lambda number: str(int(number[0]) + top), line) if line.startswith("@@") else line
        return
    yield f"--- {old_name}\n"
    yield f"+++ {new_name}\n"
    # Of no lines the header names the line before.
    yield f"@@ -{top + bool(old)},{len(old)} +{top + bool(new)},{len(new)} @@\n"
    lead, tail = start - top, end - bottom
    yield from (f" {line}" for line in old[:lead])
    yield from (f"-{line}" for line in old[lead : len(old) - tail])
    yield from (f"+{line}" for line in new[lead : len(new) - tail])
    yield from (f" {line}" for line in old[len(old) - tail :])


def equal_ends(before: Sequence[object], after: Sequence[object]) -> tuple[int, int]:
    """How many items the two begin and end with in common, none of them counted twice."""
    start = end = 0
    shorter = min(len(before), len(after))
    while start < shorter and before[start] == after[start]:
        start += 1
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return start, end
