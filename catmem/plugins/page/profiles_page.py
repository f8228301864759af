"""All profiles at a glance; the prompt of one, how full it is, what stayed out and why; who may read and write what."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from catmem import clock
from catmem.config.profile import limit_of
from catmem.names import FILE_NAMES, TARGETS
from catmem.plugins.page.formats import bar_of
from catmem.plugins.page.page_view import Page
from catmem.prompt.prompt import build_prompt
from catmem.text import size_of
from catmem.workspace.everywhere import documents_of, explain, read_access
from catmem.workspace.overview import next_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.config.rights_table import Fleet
    from catmem.plugins.page.page_view import PageRequest
    from catmem.prompt.prompt import Manifest

_TEXT = 60_000
"""Characters of a prompt that the page shows; the whole is a link away."""


SCREENS = {
    "marked": "/page/lint?rule=CM113",
    "withheld": "/page/lint",
    "unread": "/page/access#orphans",
    "refused": "/page/seeds",
    "seed_conflicts": "/page/seeds",
    "seeds": "/page/seeds",
    "branch_conflicts": "/page/branches",
    "branches": "/page/branches",
    "proposals": "/proposals",
    "expired": "/proposals",
    "learned": "/page/promote",
    "due": "/page/queue",
}
"""Where what is next is done, by its kind."""


def overview(asked: PageRequest) -> Page:
    """What is next, as ``catmem status`` has it, and each profile with what it holds and what is due."""
    steps = next_steps(asked.workspace, overviews=asked.overviews)
    seen = steps.overview
    unsorted = (entity for line in seen.lines if line.measure for entity, n in line.measure.unsorted.items() if n)
    outside = next(iter(seen.outside), "")
    screens = SCREENS | {"unsorted": f"/page/sort/{next(unsorted, '')}", "outside": f"/page/history/{outside}/now"}
    return Page("overview.html", {"overview": seen, "steps": steps, "screens": screens})


def profile_prompt(asked: PageRequest) -> Page:
    """The prompt of a profile. A file that cannot be read is an error: a prompt without it would be another one."""
    workspace = asked.workspace
    profile = workspace.profile(asked.path["name"])
    documents, problems = documents_of(workspace, profile)
    if problems:
        raise problems[0]
    prompt = build_prompt(documents, profile, as_of=clock.today(), config=workspace.config)
    manifest = prompt.manifest
    sizes = {**manifest.sizes, "total": len(prompt.text)}
    bars = [
        bar_of(f"Prompt, {name}", sizes.get(name, 0), manifest.budget[name])
        for name in (*TARGETS, "total")
        if name in manifest.budget
    ]
    for target, document in documents.items():
        if (limit := limit_of(profile, target, workspace.config)) is not None:
            bars.append(bar_of(FILE_NAMES[target], size_of(document.text), limit))
    return Page(
        "profile.html",
        {
            "profile": profile,
            "watched": [(f"{profile.name}/{target}", documents[target].digest) for target in TARGETS],
            "text": prompt.text[:_TEXT],
            "size": len(prompt.text),
            "more": max(0, len(prompt.text) - _TEXT),
            "manifest": manifest,
            "states": Counter("blocked" if row.status == "blocked" else row.state for row in manifest.rows),
            "inside": sum(row.status == "in" for row in manifest.rows),
            "out": [row for row in manifest.rows if row.status != "in"],
            "left_out": sum(manifest.hidden.values()) + sum(row.status != "in" for row in manifest.rows),
            "hidden_in": list(_hidden(manifest)),
            "bars": bars,
            "missing": [path.name for path in workspace.missing_files(profile.name)],
            "notices": workspace.warnings(profile.name),
            "line": next((each for each in asked.overviews.read().lines if each.name == profile.name), None),
        },
    )


def _hidden(manifest: Manifest) -> Iterator[tuple[str, int, int]]:
    """Each file with how many of its entries are in categories that the profile does not read, or in none."""
    for target, hidden in manifest.hidden.items():
        loose = manifest.hidden_uncategorized[target]
        if hidden:
            yield target, hidden - loose, loose


# --- access --------------------------------------------------------------------------------------------------------

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


class AccessRow(NamedTuple):
    """A category: how many entries it has, what each profile may do in it, and the names by right, rarer ones first."""

    category: str
    declared: bool
    entries: int
    marks: tuple[tuple[str, str], ...]
    named: tuple[tuple[str, list[str]], ...]


def access(asked: PageRequest) -> Page:
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


def _row(fleet: Fleet, category: str, names: list[str], target: str | None) -> AccessRow:
    marks = tuple((name, fleet.cells[category][name].mark(target)) for name in names)
    named = ((mark, [name for name, each in marks if each == mark]) for mark in ("rw", "rw?", "d", "r", "r?"))
    declared = fleet.is_declared(category) or category.startswith("_")
    return AccessRow(category, declared, fleet.count(category, target), marks, tuple(each for each in named if each[1]))


def explained(asked: PageRequest) -> Page:
    """Why one profile may, or may not, read and write one category."""
    why = explain(asked.workspace, asked.path["name"], asked.path["category"])
    return Page("why.html", {"why": why, "questions": QUESTIONS, "root": asked.workspace.root})
