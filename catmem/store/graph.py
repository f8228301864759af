"""The graph of an entity's revisions: which have no successor, and where two of them come from.

Every function takes revisions as ``Store.log`` gives them: the newest first, so that each stands before its parents.
So one walk from the newest on is enough, and it ends as soon as nothing can change the answer any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
    """The best common ancestors of two revisions, the newest first: those that are no ancestor of another such.

    A revision counts as an ancestor of itself. None: the two have nothing in common. There are several where two lines
    were merged crosswise. Reads the log as far as the oldest of them, and then no further than until it is sure.
    """
    marks: dict[str, int] = {one: _ONE}
    marks[other] = marks.get(other, 0) | _OTHER
    return [revision.revision for revision, mark in _walked(log, marks) if mark == _BOTH]


def ancestry(log: Iterable[Revision], tips: Iterable[str], until: Iterable[str]) -> list[Revision]:
    """The revisions that lead to ``tips``, these too, the newest first, without those that lead to ``until``."""
    marks = {**dict.fromkeys(tips, _ONE), **dict.fromkeys(until, _OLDER)}
    return [revision for revision, _ in _walked(log, marks)]


def _walked(log: Iterable[Revision], marks: dict[str, int]) -> Iterator[tuple[Revision, int]]:
    """Go down from the marked revisions, handing marks on to parents; gives those with a mark that is not older.

    What leads to both sides is given once, and what leads to that in turn is older. Ends when all that is left is.
    """
    ahead = sum(map(_is_open, marks.values()))
    for revision in log:
        if not ahead:
            return
        mark = marks.pop(revision.revision, 0)
        if not mark:
            continue
        if _is_open(mark):
            ahead -= 1
            yield revision, mark
        if mark == _BOTH:
            mark |= _OLDER
        for parent in revision.parents:
            before = marks.get(parent, 0)
            marks[parent] = before | mark
            ahead += _is_open(marks[parent]) - _is_open(before)


def _is_open(mark: int) -> bool:
    return mark != 0 and not mark & _OLDER
