"""How profiles stand to those that seed them, and what a seed would change."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from catmem.server.page.reading import Page
from catmem.server.page.settling.seed_form import SIDES, Seeds, seed_page, source_of

if TYPE_CHECKING:
    from catmem.server.page.reading import Asked


def seeds(asked: Asked) -> Page:
    """Every profile that another seeds, with what waits."""
    overview = asked.overviews.read()
    found = [(line, line.seeded) for line in overview.lines if line.seeded is not None]
    waiting = Counter(seeded.source for _, seeded in found if not seeded.in_step)
    return Page(
        "seeds.html",
        {
            "lines": [line for line, _ in sorted(found, key=lambda each: (each[1].in_step, each[0].name))],
            "sources": [source for source, count in sorted(waiting.items()) if count > 1],
            "overview": overview,
        },
    )


def one_seed(asked: Asked) -> Page:
    """What seeding one profile would change, file by file."""
    name = asked.workspace.profile(asked.path["name"]).name
    source = source_of(asked.workspace, name)
    return seed_page(Seeds(asked.workspace, source, name, asked.choice("resolve", SIDES)))


def seeds_of(asked: Asked) -> Page:
    """What seeding everybody that a profile seeds would change."""
    source = asked.workspace.profile(asked.path["source"]).name
    return seed_page(Seeds(asked.workspace, source, None, asked.choice("resolve", SIDES)))
