"""Who sees and who may write what, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from catmem.names import FILE_NAMES
from catmem.server.page.reading import Page
from catmem.service.fleet import explain, read_access

if TYPE_CHECKING:
    from catmem.policy.fleet import Fleet
    from catmem.server.page.reading import Asked

_MOST_COLUMNS = 24
"""Profiles that stand side by side; of more, each category lists the names."""

MARKS = {
    "rw": "reads and may write",
    "r": "reads",
    "d": "may write and not read",
    ".": "neither",
}

QUESTIONS = {
    "user": "Reads it in USER.md",
    "memory": "Reads it in MEMORY.md",
    "write": "May write it",
    "verify": "May verify it",
}


class Row(NamedTuple):
    """A category: how many entries it has, what each profile may do in it, and the names by right, rarer ones first."""

    category: str
    declared: bool
    entries: int
    marks: tuple[tuple[str, str], ...]
    named: tuple[tuple[str, list[str]], ...]


def access(asked: Asked) -> Page:
    """The matrix of categories and profiles; the query may name a ``target``."""
    found = read_access(asked.workspace)
    target = asked.choice("target", FILE_NAMES)
    names = [profile.name for profile in found.fleet.profiles]
    return Page(
        "access.html",
        {
            "fleet": found.fleet,
            "names": names,
            "wide": len(names) > _MOST_COLUMNS,
            "rows": [_row(found.fleet, category, names, target) for category in found.fleet.categories],
            "marks": MARKS,
            "target": target,
            "targets": FILE_NAMES,
            "orphans": found.fleet.orphans(),
            "problems": found.problems,
        },
    )


def _row(fleet: Fleet, category: str, names: list[str], target: str | None) -> Row:
    marks = tuple((name, fleet.cells[category][name].mark(target)) for name in names)
    named = ((mark, [name for name, each in marks if each == mark]) for mark in ("rw", "rw?", "d", "r", "r?"))
    declared = fleet.is_declared(category) or category.startswith("_")
    return Row(category, declared, fleet.count(category, target), marks, tuple(each for each in named if each[1]))


def explained(asked: Asked) -> Page:
    """Why one profile may, or may not, read and write one category."""
    why = explain(asked.workspace, asked.path["name"], asked.path["category"])
    return Page("why.html", {"why": why, "questions": QUESTIONS, "root": asked.workspace.root})
