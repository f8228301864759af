"""How profiles stand to those that seed them, and what a seed would change, file by file, each to be chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from catmem.config.json_schema import shown
from catmem.digest import bytes_digest
from catmem.errors import RequestError, UnknownNameError
from catmem.names import FILE_NAMES
from catmem.plugins.page.page_view import Page, PageRequest
from catmem.plugins.page.rendering import DIFF_LINES, diff_of
from catmem.plugins.page.writing import Redirect, SentForm, bad_form, refuse_partly
from catmem.seeding.applying import file_is_due
from catmem.seeding.plan import SeedPlan, seed_order
from catmem.seeding.slices import Choice, FilePlan, Resolve, conflict_id
from catmem.server.requests import bad_parameter
from catmem.workspace.workspace import Workspace

SIDES: tuple[Choice, ...] = ("target", "source", "both")
FIELD = "file-"
"""What the names of the fields begin with that choose files."""

_ROWS = 200
_MOST = 20
_LINES_OF_MANY = 150

STATES = {
    "conflict": "conflict",
    "settled": "conflict, settled",
    "new": "new",
    "changed_in_source": "changed at the source",
    "changed_in_both": "changed on both sides, merged",
    "removed_from_source": "gone at the source",
    "changed_in_target": "changed here, kept",
    "removed_in_target": "removed here, kept so",
    "in_sync": "in step",
}


def seeds(asked: PageRequest) -> Page:
    """Every profile that another seeds, with what waits."""
    overview = asked.overviews.read()
    found = [(line, line.seeded) for line in overview.lines if line.seeded is not None]
    waiting = Counter(seeded.source for _, seeded in found if not seeded.in_step)
    return Page(
        "seeds.html",
        {
            "lines": [line for line, _ in sorted(found, key=lambda each: (each[1].in_step, each[0].name))],
            "sources": [source for source, count in sorted(waiting.items()) if count > 1],
            "behind": waiting.total(),
            "problems": overview.problems,
        },
    )


def one_seed(asked: PageRequest) -> Page:
    """What seeding one profile would change, file by file. Raises ``UnknownNameError`` for one that nothing seeds."""
    name = asked.workspace.profile(asked.path["name"]).name
    source = next((source for source, targets in seed_order(asked.workspace)[0].items() if name in targets), None)
    if source is None:
        raise UnknownNameError(f"nothing seeds {name}", hint="Its profile names no source in seed_from.")
    return _page(asked.workspace, source, name, asked.query.get("resolve", ""))


def seeds_of(asked: PageRequest) -> Page:
    """What seeding everybody that a profile seeds would change."""
    source = asked.workspace.profile(asked.path["source"]).name
    return _page(asked.workspace, source, None, asked.query.get("resolve", ""))


def _page(workspace: Workspace, source: str, name: str | None, resolve: str) -> Page:
    """What a seed of ``name``, or of all that ``source`` seeds, would change by now."""
    is_one = name is not None
    targets = _targets(workspace, source, name)
    plan = workspace.plan_seed(source, targets, resolve=_resolved(resolve), every_entry=is_one)
    found = [each for each in plan.files if is_one or each.conflicts or file_is_due(each, plan)]
    most = DIFF_LINES if is_one else _LINES_OF_MANY
    return Page(
        "seed.html",
        {
            "name": name,
            "source": source,
            "resolve": resolve,
            "begun": f"{resolve}." if resolve and resolve not in SIDES else "",
            "plan": plan,
            "files": [_file(each, plan, most) for each in found[:_MOST]],
            "more": len(found) - _MOST,
            "states": STATES,
            "watched": [
                *((each.target, bytes_digest(each.before.encode())) for each in found[:_MOST]),
                *((entity, read.digest) for entity, read in plan.read.items()),
            ],
        },
    )


def _resolved(said: str) -> Resolve | None:
    """What an address or a form says of conflicts: a side for all, or ``ID-SIDE`` of some with ``.`` between."""
    sides: dict[str, Choice] = {each: each for each in SIDES}
    if not said or said in sides:
        return sides.get(said)
    pairs = [each.partition("-") for each in said.split(".")]
    if any(not name or side not in sides for name, _, side in pairs):
        raise bad_parameter(f"resolve is {shown(said)}", f"It is one of {', '.join(SIDES)}, or ID-SIDE.")
    return {name: sides[side] for name, _, side in pairs}


def _targets(workspace: Workspace, source: str, name: str | None) -> Sequence[str]:
    """The profiles that are seeded. Raises ``UnknownNameError`` for a source that seeds no profile."""
    targets = [name] if name else seed_order(workspace)[0].get(source, [])
    if not targets:
        raise UnknownNameError(f"{source} seeds no profile", hint="A profile names its source with seed_from.")
    return targets


def _file(plan: FilePlan, whole: SeedPlan, most: int) -> dict[str, Any]:
    """One file of a target: its plan, what it would change, its entries by how they stand, and its open conflicts."""
    hidden = {"in_sync", "conflict"} if plan.conflicts else {"in_sync"}  # open conflicts are shown with both sides
    counts = Counter[str](row.state for row in plan.rows)
    settled = counts["conflict"] - sum(conflict.reason != "title" for conflict in plan.conflicts)
    counts += Counter(settled=settled, conflict=-settled)
    return {
        "plan": plan,
        "diff": diff_of(plan.before, plan.after, most),
        "counts": counts,
        "rows": [row for row in plan.rows if row.state not in hidden][:_ROWS],
        "conflicts": [(conflict_id(plan.target, conflict), conflict) for conflict in plan.conflicts],
        "due": file_is_due(plan, whole),
    }


# --- forms -----------------------------------------------------------------------------------------------------------


def apply(sent: SentForm) -> Redirect:
    """Seed the files that were chosen, from what is there now. What was refused is named; the others are done."""
    workspace, source, resolve = sent.workspace, sent.get("source"), sent.get("resolve")
    chosen = {name.removeprefix(FIELD) for name in sent.fields if name.startswith(FIELD)}
    if not chosen:
        raise RequestError(
            "no file is chosen", code="nothing_chosen", hint="Nothing was written. Tick the files to be seeded."
        )
    targets = _targets(workspace, source, sent.get("only") or None)
    files = {target: [each for each in targets if f"{each}/{target}" in chosen] for target in FILE_NAMES}
    if len(chosen) > sum(map(len, files.values())):
        raise bad_form("the form chooses a file that was not on its page")
    results = [
        workspace.apply_seed(workspace.plan_seed(source, names, target=target, resolve=_resolved(resolve)))
        for target, names in files.items()
        if names
    ]
    written = [(each.target, each.revision) for result in results for each in result.files]
    refused = [each for result in results for each in result.refused]
    refuse_partly([f"{each.name}: {each.error}" for each in refused], len(written), "seeded")
    return Redirect(urlsplit(sent.back).path, written)
