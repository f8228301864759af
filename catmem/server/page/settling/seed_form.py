"""What seeds would change, file by file, each to be chosen: the page, and what its form says."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from catmem.digest import bytes_digest
from catmem.errors import UnknownNameError
from catmem.server.page.reading import Page
from catmem.server.page.shown import DIFF_LINES, diff_of
from catmem.service.seeding.applying import file_is_due, shown_digest
from catmem.service.seeding.order import seed_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catmem.policy.seed import FilePlan, SeedRow
    from catmem.server.page.refused import Refusal
    from catmem.server.page.shown import Diff
    from catmem.service.seeding.plan import SeedPlan, SeedResult
    from catmem.service.workspace import Workspace

Side: TypeAlias = Literal["target", "source"]

SIDES: tuple[Side, ...] = ("target", "source")
FIELD = "file-"
"""What the names of the fields begin with that choose files; each holds the digest of what was shown."""

_ROWS = 200
_MOST = 20
_LINES_OF_MANY = 150

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


class Seeds(NamedTuple):
    """What is looked at: what ``source`` seeds, or of that the profile ``name`` alone.

    ``resolve`` is the side for which conflicts are settled, ``None`` leaves them open.
    """

    workspace: Workspace
    source: str
    name: str | None
    resolve: Side | None = None

    @property
    def targets(self) -> Sequence[str]:
        """The profiles that are seeded. Raises ``UnknownNameError`` for a source that seeds nobody."""
        if self.name is not None:
            return [self.name]
        targets = seed_order(self.workspace).targets(self.source)
        if not targets:
            raise UnknownNameError(f"{self.source} seeds nobody", hint="A profile names its source with seed_from.")
        return targets


class SeedFile(NamedTuple):
    """One file of a target: the plan, what it would change, and how its entries stand.

    ``digest`` names all that a seed makes of it, ``None`` where there is nothing to do.
    """

    plan: FilePlan
    diff: Diff
    counts: Mapping[str, int]
    rows: Sequence[SeedRow]
    digest: str | None


def source_of(workspace: Workspace, name: str) -> str:
    """The profile that seeds another. Raises ``UnknownNameError``."""
    source = next((source for source, targets in seed_order(workspace).sources if name in targets), None)
    if source is None:
        raise UnknownNameError(f"nothing seeds {name}", hint="Its profile names no source in seed_from.")
    return source


def seed_page(asked: Seeds, refusal: Refusal | None = None, result: SeedResult | None = None) -> Page:
    """What a seed would change by now. ``result`` is one that did not write everything, ``refusal`` why none did."""
    is_one = asked.name is not None
    plan = asked.workspace.plan_seed(asked.source, asked.targets, resolve=asked.resolve, every_entry=is_one)
    found = [each for each in plan.files if is_one or each.conflicts or file_is_due(each, plan)]
    most = DIFF_LINES if is_one else _LINES_OF_MANY
    return Page(
        "seed.html",
        {
            "name": asked.name,
            "source": asked.source,
            "resolve": asked.resolve,
            "plan": plan,
            "files": [_file(each, plan, most) for each in found[:_MOST]],
            "more": len(found) - _MOST,
            "states": STATES,
            "refusal": refusal,
            "result": result,
            "watched": [
                *((each.target, bytes_digest(each.before.encode())) for each in found[:_MOST]),
                *((entity, read.digest) for entity, read in plan.read.items()),
            ],
        },
        status=200 if result is None else 409,
    )


def _file(plan: FilePlan, whole: SeedPlan, most: int) -> SeedFile:
    hidden = {"in_sync", "conflict"} if plan.conflicts else {"in_sync"}  # open conflicts are shown with both sides
    return SeedFile(
        plan=plan,
        diff=diff_of(plan.before, plan.after, most),
        counts=Counter(row.state for row in plan.rows),
        rows=[row for row in plan.rows if row.state not in hidden][:_ROWS],
        digest=shown_digest(plan) if file_is_due(plan, whole) else None,
    )
