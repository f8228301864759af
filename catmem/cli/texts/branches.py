"""Branches, merges and recovery copies, as people read them."""

from __future__ import annotations

from datetime import datetime

from catmem import clock
from catmem.cli.output import (
    CONFLICT_REASONS,
    columns,
    conflict_lines,
    emit,
    printable,
    say,
    say_all,
    show_written,
    text_diff,
)
from catmem.errors import EditError
from catmem.jsonable import jsonable
from catmem.merging.branches import Branch
from catmem.merging.merging import JoinedAll, LeftBranch, MergePlan
from catmem.merging.reconciling import Difference, Reconciliation
from catmem.ops.branches import BranchList, Reconciled
from catmem.ops.table import Call
from catmem.text import counted

_HOUR = 3_600
_DAY = 24 * _HOUR
"""In seconds."""
_IN_TURN = "Several branches are merged one after the other: ours is the file, for a later one with those before it."


def _branches(value: BranchList, _: Call) -> None:
    found = value.found
    now = clock.now()
    emit(columns([_row(branch, now) for branch in found]))
    if found:
        example = f"catmem merge {found[0].entity}"
        say(f"'{example} --dry-run' shows what a merge would do, '{example}' does it.")
    else:
        say("No branch is left to merge.")


def _row(branch: Branch, now: datetime) -> tuple[str, ...]:
    origin = f"from {', '.join(branch.parents)}" if branch.parents else "from nothing"
    entries = "" if branch.entries is None else counted(branch.entries, "entry")
    outlook = {
        "merges": "merges by itself",
        "conflicts": counted(branch.conflicts or 0, "conflict"),
        "nothing new": "nothing new: the file says it too",
        "unreadable": "cannot be merged: it, or the file, holds what no tool wrote",
    }[branch.state]
    age, agent = _age(branch.timestamp, now), printable(branch.who)
    return branch.entity, branch.revision, origin, agent, age, branch.op, entries, outlook


def _age(timestamp: str, now: datetime) -> str:
    """How long ago that was, in hours or days; clocks may differ, so what lies ahead is new."""
    seconds = int((now - datetime.fromisoformat(timestamp)).total_seconds())
    if seconds < _HOUR:
        return "< 1 h"
    return f"{seconds // _HOUR} h" if seconds < _DAY else f"{seconds // _DAY} d"


def _merged(plan: MergePlan, _: Call | None = None) -> None:
    for warning in plan.warnings:
        say(f"warning: {warning}")
    for note in plan.notes:
        say(note)
    if not plan.merged:
        say(f"No branch of {plan.entity} is left to merge." if not plan.notes else "Nothing was written.")
        return
    if plan.dry_run:
        _show_tried_out(plan)
        return
    done = "dropped" if plan.drop else "merged"
    same = "" if plan.changed else ", and no byte of the file changed"
    emit(printable(f"{done} {', '.join(plan.merged)} in {plan.entity} (revision {plan.revision}){same}\n"))
    if plan.settled:
        say(f"{counted(len(plan.settled), 'conflict')} decided:")
    for found in jsonable(plan.settled):
        where = f" in {found['category']}" if found["category"] else ""
        say(f"  branch {found['branch']}{where}: {CONFLICT_REASONS[found['reason']]}: {found['taken']}")


def _merged_all(found: JoinedAll, _: Call) -> None:
    for joined in found.merged:
        _merged(joined)
    for each in found.left:
        _show_left(each)
    if found.left:
        count, first = counted(len(found.left), "branch", "branches"), found.left[0]
        say(f"{count} left. 'catmem merge {first.entity} {first.branch} --interactive' asks who wins a conflict;")
        say("--precedence AGENT,AGENT, --ours, --theirs and --keep-both decide without questions, with --all too.")
    elif not found.merged:
        say("No branch is left to merge.")


def _show_left(each: LeftBranch) -> None:
    if each.error is not None:
        why = f"error[{each.error.code}]: {each.error.message}"
    else:
        why = counted(len(each.conflicts), "conflict")
    emit(printable(f"left {each.branch} in {each.entity}: {why}\n"))


def _show_tried_out(plan: MergePlan) -> None:
    said = jsonable(plan)
    left = counted(len(plan.conflicts), "conflict")
    emit(text_diff(plan.before, plan.after, f"a/{plan.entity}", f"b/{plan.entity}"))
    if plan.conflicts:
        say(f"{left} to decide, of which the text above holds what it can of both sides:")
        say("\n".join(conflict_lines(said["conflicts"])))
    if plan.settled:
        say(f"{counted(len(plan.settled), 'conflict')} decided:")
        say("\n".join(conflict_lines(said["settled"])))
    if len(plan.merged) > 1 and (plan.conflicts or plan.settled):
        say(_IN_TURN)
    done = "would be closed" if plan.drop else "would be merged" if not plan.conflicts else "cannot be merged yet"
    say(f"Nothing was written. {', '.join(plan.merged)} {done}.")


# --- what a file lacks of a recovery copy, as people read it ---------------------------------------------------------


def _listed(value: Reconciliation, _: Call) -> None:
    emit("".join(map(lines_of, value.differences)) or "Nothing is missing: the file has all that the copy has.\n")


def _reconciled(value: Reconciled, _: Call) -> None:
    found = value.found
    if value.written is not None:
        show_written(value.written, "brought over to", {"dry_run": value.dry_run})
    elif found.differences and not value.left:
        say("Nothing was written. Bring them over with --all, or one by one with --entry N.")
    say_all(line for each, error in value.left for line in _left_out(each, error))
    say_all(_over_limit(found, accepts=value.accepts))


def _left_out(each: Difference, error: EditError) -> list[str]:
    said = f"left out: entry {each.number} in {each.copy.category} ({error.code}: {error})"
    return [said, f"  {error.hint}"] if error.hint else [said]


def _over_limit(found: Reconciliation, *, accepts: bool) -> list[str]:
    done = "is accepted" if accepts else "keeps agents from changing this file; --all accepts it"
    return [f"an entry of {len(each.raw):,} characters in {each.category} {done}" for each in found.over]


def lines_of(each: Difference) -> str:
    """A difference for people: where it is, and what both say."""
    lines = [f"{each.number:,}. {each.state} in {each.copy.category}"]
    for name, entry in (("copy", each.copy), ("file", each.now)):
        if entry is not None:
            first, *more = entry.raw.split("\n")
            lines += [f"   {name}: {first}", *(f"         {line}".rstrip() for line in more)]
    return printable("".join(f"{line}\n" for line in lines))


TEXTS = {
    BranchList: _branches,
    MergePlan: _merged,
    JoinedAll: _merged_all,
    Reconciliation: _listed,
    Reconciled: _reconciled,
}
