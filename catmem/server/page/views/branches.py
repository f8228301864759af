"""What was written on an older revision, and waits beside the head: all of it, and one branch side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.server.page.reading import Page
from catmem.server.page.settling.branch_form import Branch, branch_page
from catmem.service.merging.branches import branches_of_all

if TYPE_CHECKING:
    from catmem.server.page.reading import Asked

OUTLOOKS = {
    "merges": "merges by itself",
    "conflicts": "needs a decision",
    "nothing new": "nothing new: the file says it too",
    "unreadable": "cannot be merged: it, or the file, holds what no tool wrote",
}


def all_branches(asked: Asked) -> Page:
    """The branches of all files that are not merged yet."""
    found = branches_of_all(asked.workspace)
    return Page("branches.html", {**found._asdict(), "outlooks": OUTLOOKS})


def one_branch(asked: Asked) -> Page:
    """A branch, the head and what both come from, entry by entry, with what there is to decide."""
    entity = f"{asked.path['name']}/{asked.path['target']}"
    return branch_page(Branch(asked.workspace, entity, asked.path["branch"], asked.number("page")))
