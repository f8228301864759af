"""Two small edits of one string as one string.

Laws, which property tests hold: ``merge_strings(b, b, x) = x = merge_strings(b, x, b) = merge_strings(b, x, x)``;
``merge_strings(b, x, y) = merge_strings(b, y, x)``; a result has all that either side put in, and nothing that either
side took out, as often as they did.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import NamedTuple

SMALL = 16
"""Characters that an edit of each side has at most, where a caller does not say."""

_LONGEST = 4_000
"""Characters of a string that is compared; the time grows with their square."""
_PART = re.compile(r"\w+|\s|.", re.DOTALL)
_WORD = re.compile(r"\w")


class _Edit(NamedTuple):
    """Parts of the base, from ``begin`` to before ``end``, and the parts that stand in their place."""

    begin: int
    end: int
    instead: tuple[str, ...]


def merge_strings(base: str, ours: str, theirs: str, *, within: int = SMALL) -> str | None:
    """Both sides' edits of ``base`` in one string, or ``None``: a person has to decide.

    That is so if a side edits more than ``within`` characters (the longer of what it took out and put in, word by
    word), and if between an edit of one side and one of the other stands no word that both kept. So two values for one
    word are never made one.
    """
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    if max(map(len, (base, ours, theirs))) > _LONGEST:
        return None
    parts = _PART.findall(base)
    near, far = _edits(parts, ours), _edits(parts, theirs)
    if max(_size(parts, near), _size(parts, far)) > within:
        return None
    if not all(one == other or _apart(parts, *sorted((one, other))) for one in near for other in far):
        return None
    for edit in sorted({*near, *far}, reverse=True):
        parts[edit.begin : edit.end] = edit.instead
    return "".join(parts)


def _edits(parts: list[str], side: str) -> list[_Edit]:
    said = _PART.findall(side)
    blocks = SequenceMatcher(None, parts, said, autojunk=False).get_opcodes()
    return [_Edit(i, j, tuple(said[k:m])) for kind, i, j, k, m in blocks if kind != "equal"]


def _size(parts: list[str], edits: list[_Edit]) -> int:
    return sum(max(len("".join(parts[edit.begin : edit.end])), len("".join(edit.instead))) for edit in edits)


def _apart(parts: list[str], first: _Edit, second: _Edit) -> bool:
    return any(_WORD.match(part) for part in parts[first.end : second.begin])
