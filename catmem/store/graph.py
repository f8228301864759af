"""The graph of an entity's revisions: which have no successor.

Every function takes revisions as ``Store.log`` gives them: the newest first, so that each stands before its parents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catmem.store.contract import Revision


def tips(log: Iterable[Revision]) -> list[Revision]:
    """The revisions that no other has as a parent: the head first, then the branches, the newest first."""
    parents: set[str] = set()
    found: list[Revision] = []
    for revision in log:
        if revision.revision not in parents:
            found.append(revision)
        parents.update(revision.parents)
    return sorted(found, key=lambda each: each.is_branch)
