"""The graph of an entity's revisions: which have no successor, and where two of them come from.

Every function takes revisions as ``Store.log`` gives them: the newest first, so that each stands before its parents.
So one walk from the newest on is enough, and it ends as soon as nothing can change the answer any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from catmem.store.contract import Revision

_ONE, _OTHER, _OLDER = 1, 2, 4
_BOTH = _ONE | _OTHER


def tips(log: Iterable[Revision]) -> list[Revision]:
    """The revisions that no other has as a parent: the head first, then the branches, the newest first."""
    parents: set[str] = set()
    found: list[Revision] = []
    for revision in log:
        if revision.revision not in parents:
            found.append(revision)
        parents.update(revision.parents)
    return sorted(found, key=lambda each: each.is_branch)


def merge_bases(log: Iterable[Revision], one: str, other: str) -> list[str]:
    """The best common ancestors of two revisions, the newest first: those that are no ancestor of another such."""
    # A revision counts as an ancestor of itself. None: the two have nothing in common. There are several where two
    # lines were merged crosswise. Reads the log as far as the oldest of them, and then no further than until it is
    # sure.
    marks: dict[str, int] = {one: _ONE}
    marks[other] = marks.get(other, 0) | _OTHER
    ahead = len(marks)
    found: list[str] = []
    for revision in log:
        if not ahead:
            break
        mark = marks.pop(revision.revision, 0)
        ahead -= _is_open(mark)
        if mark == _BOTH:
            found.append(revision.revision)
            mark |= _OLDER  # what leads to it is the base of nothing better
        for parent in revision.parents if mark else ():
            before = marks.get(parent, 0)
            marks[parent] = before | mark
            ahead += _is_open(marks[parent]) - _is_open(before)
    return found


def _is_open(mark: int) -> bool:
    return mark != 0 and not mark & _OLDER
