"""A profile's prompt as it is now: its text, how full it is, and what stayed out and why."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from catmem import clock
from catmem.names import TARGETS
from catmem.policy.profile import limit_of
from catmem.policy.prompt import build_prompt
from catmem.server.page.reading import Page
from catmem.server.page.shown import bar_of
from catmem.service.fleet import documents_of
from catmem.text import size_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.policy.manifest import Manifest
    from catmem.server.page.reading import Asked
    from catmem.server.page.shown import Bar

_TEXT = 60_000
"""Characters of a prompt that the page shows; the whole is a link away."""


def profile_prompt(asked: Asked) -> Page:
    """The prompt of a profile. A file that cannot be read is an error: a prompt without it would be another one."""
    workspace = asked.workspace
    profile = workspace.profile(asked.path["name"])
    documents, problems = documents_of(workspace, profile)
    if problems:
        raise problems[0]
    prompt = build_prompt(documents, profile, as_of=clock.today(), config=workspace.config)
    manifest = prompt.manifest
    sizes = {target: size_of(document.text) for target, document in documents.items()}
    limits = {target: limit_of(profile, target, workspace.config) for target in TARGETS}
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
            "budgets": list(_budgets(manifest, len(prompt.text))),
            "files": [
                (target, len(documents[target].entries), sizes[target], _bar(target, sizes[target], limits[target]))
                for target in TARGETS
            ],
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


def _budgets(manifest: Manifest, size: int) -> Iterator[Bar]:
    sizes = {**manifest.sizes, "total": size}
    for name in (*TARGETS, "total"):
        if name in manifest.budget:
            yield bar_of(name, sizes.get(name, 0), manifest.budget[name])


def _bar(name: str, used: int, of: int | None) -> Bar | None:
    return None if of is None else bar_of(name, used, of)
