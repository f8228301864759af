"""How profiles stand to those that seed them, and what a seed would change."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from catmem.errors import UnknownNameError
from catmem.server.page.reading import Page
from catmem.server.page.shown import diff_of
from catmem.service.seeding.planning import seed_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catmem.policy.seed import FilePlan
    from catmem.server.page.reading import Asked
    from catmem.server.page.shown import Diff

_ROWS = 200

STATES = {
    "conflict": "conflict",
    "new": "new",
    "changed_in_source": "changed at the source",
    "changed_in_both": "changed on both sides, merged",
    "removed_from_source": "gone at the source",
    "changed_in_target": "changed here, kept",
    "removed_in_target": "removed here, kept so",
    "in_sync": "in step",
}


class SeedFile(NamedTuple):
    """One file of a target: the plan, what it would change, and how its entries stand."""

    plan: FilePlan
    diff: Diff
    counts: Mapping[str, int]


def seeds(asked: Asked) -> Page:
    """Every profile that another seeds, with what waits."""
    overview = asked.overviews.read()
    lines = [line for line in overview.lines if line.seeded is not None]
    return Page(
        "seeds.html",
        {"lines": sorted(lines, key=lambda line: (line.seeded.in_step if line.seeded else True, line.name)),
         "overview": overview},
    )  # fmt: skip


def one_seed(asked: Asked) -> Page:
    """What seeding one profile would change, file by file."""
    workspace = asked.workspace
    name = workspace.profile(asked.path["name"]).name
    source = next((source for source, targets in seed_order(workspace) if name in targets), None)
    if source is None:
        raise UnknownNameError(f"nothing seeds {name}", hint="Its profile names no source in seed_from.")
    plan = workspace.plan_seed(source, [name], every_entry=True)
    files = [
        SeedFile(each, diff_of(each.before, each.after), Counter(row.state for row in each.rows)) for each in plan.files
    ]
    return Page(
        "seed.html",
        {
            "name": name,
            "source": source,
            "plan": plan,
            "files": files,
            "states": STATES,
            "waiting": [(each, [row for row in each.plan.rows if row.state != "in_sync"][:_ROWS]) for each in files],
        },
    )
