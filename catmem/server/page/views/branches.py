"""What was written on an older revision, and waits beside the head: all of it, and one branch side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.server.page.reading import Page
from catmem.server.page.shown import paged
from catmem.service.merging.beside import beside

if TYPE_CHECKING:
    from catmem.server.page.reading import Asked

_SIZE = 40

OUTLOOKS = {
    "merges": "merges by itself",
    "conflicts": "needs a decision",
    "nothing new": "nothing new: the file says it too",
    "unreadable": "cannot be merged: it, or the file, holds what no tool wrote",
}

REASONS = {
    "body": "both sides reworded this entry",
    "removed": "one side changed this entry and the other removed it",
    "tags": "the sides gave this entry different tags",
    "category": "the sides moved this entry to different categories",
    "title": "the sides gave the document different titles",
}


def all_branches(asked: Asked) -> Page:
    """The branches of all files that are not merged yet."""
    return Page("branches.html", {"branches": asked.workspace.branches(), "outlooks": OUTLOOKS})


def one_branch(asked: Asked) -> Page:
    """A branch, the head and what both come from, entry by entry."""
    found = beside(asked.workspace, f"{asked.path['name']}/{asked.path['target']}", asked.path["branch"])
    some = paged(found.pairs, asked.number("page"), _SIZE)
    owner, _, target = found.entity.partition("/")
    return Page(
        "branch.html",
        {"beside": found, "paged": some, "name": owner, "target": target, "reasons": REASONS},
    )
