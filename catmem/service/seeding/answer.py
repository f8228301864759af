"""What the memory tool answers to ``seed``: a row for each file, in numbers, without the text of any entry.

The one who asks is a profile of tier 1, and even that one need not see what stands in a target's file. So the answer
has counts and codes; the conflicts themselves are for a person, with ``catmem seed --status``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catmem.errors import OverBudgetError, RefusedError
from catmem.service.seeding.planning import refuse_bounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.service.seeding.plan import Refusal, SeededFile, SeedResult
    from catmem.service.workspace import Workspace

_MOST_ROWS = 50
_NOTED = "catmem.seed.lock is not whole: entries were added and none was taken away. Tell a person."


def seed_answer(
    workspace: Workspace,
    name: str,
    targets: Sequence[str] | None,
    only: str | None,
    categories: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Seed the profiles ``targets`` (by default all that name it) from the files of the profile ``name``, and tell.

    ``only`` keeps to ``user`` or ``memory``, ``categories`` to some categories. Raises what ``Workspace.plan_seed``
    and ``apply_seed`` raise.
    """
    refuse_bounded(workspace, name)
    plan = workspace.plan_seed(name, targets, target=only, actor=name, categories=categories)
    result = workspace.apply_seed(plan)
    rows = [*map(_refused_row, result.refused), *map(_row, sorted(result.files, key=_rank))]
    left_out = len(rows) - _MOST_ROWS
    answer: dict[str, Any] = {
        "success": not (result.refused or result.unreadable),
        "action": "seed",
        "source": name,
        "files": rows[:_MOST_ROWS],
    }
    if left_out > 0:
        answer |= {"files_left_out": left_out}
    if plan.basis.lock.notes:
        answer |= {"note": _NOTED}
    if plan.warnings:
        answer |= {"warnings": list(plan.warnings)}
    if result.refused:
        count = len(result.refused)
        answer |= {
            "error": f"{count} of {len(rows)} files {'was' if count == 1 else 'were'} not seeded",
            "reason": result.refused[0].error.code,
            "remediation": "Do not try again now: the files that were refused are for a person to look at.",
        }
    elif result.unreadable:
        answer |= {
            "error": "profiles are not right, so nobody knows whether they are to be seeded",
            "reason": result.unreadable[0].code,
            "remediation": "The others were seeded. Do not try again now: the profiles are for a person to mend.",
        }
    if result.unreadable:
        answer |= {"unreadable": [{"code": error.code} for error in result.unreadable]}
    return {**answer, "message": _message(result)}


def _rank(each: SeededFile) -> int:
    """What needs a look comes first, then what changed."""
    return 0 if each.plan.conflicts else 1 if each.revision is not None else 2


def _row(each: SeededFile) -> dict[str, Any]:
    plan = each.plan
    settled = 0 if plan.conflicts else plan.count("conflict")
    return {
        "entity": plan.target,
        "added": plan.count("new"),
        "changed": plan.count("changed_in_source", "changed_in_both") + settled,
        "removed": plan.count("removed_from_source"),
        "conflicts": len(plan.conflicts),
        "revision": each.revision,
    }


def _refused_row(refusal: Refusal) -> dict[str, Any]:
    error = refusal.error
    row: dict[str, Any] = {"entity": refusal.target, "refused": error.code}
    if isinstance(error, OverBudgetError):
        row |= {"size": error.size, "limit": error.limit, "over_by": error.size - error.limit}
    if isinstance(error, RefusedError) and error.drift_backup is not None:
        row |= {"drift_backup": error.drift_backup}
    return row


def _message(result: SeedResult) -> str:
    written = sum(each.revision is not None for each in result.files)
    conflicts = sum(len(each.plan.conflicts) for each in result.files)
    said = f"{written} written, {len(result.files) - written} unchanged, {len(result.refused)} refused."
    if conflicts:
        said += f" {conflicts} in conflict: the targets' entries stay, and a person settles it."
    return said
