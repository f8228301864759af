"""Seeds, their conflicts and promotions, as people read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from catmem.cli.output import (
    CONFLICT_REASONS,
    columns,
    emit,
    emit_text,
    first_line,
    print_error,
    printable,
    say,
    say_all,
    show_written,
    side_lines,
    text_diff,
)
from catmem.model.version import Conflict, Reason, Version
from catmem.ops.seeding import Promotions, Seeds
from catmem.ops.shared import ExternalChange
from catmem.ops.table import Call
from catmem.seeding.plan import SeedPlan
from catmem.seeding.slices import FilePlan, State, conflict_id
from catmem.text import counted
from catmem.writing.written import Written

_WIDTH = 60


# --- plans -----------------------------------------------------------------------------------------------------------


def _seeds(value: Seeds, call: Call) -> None:
    done = value.done
    check, status, everybody = (call.values[name] for name in ("check", "status", "everybody"))
    # Of all targets a line each is enough to see where to look.
    shown = plan_line if done or check or (status and everybody) else _status if status else plan_diff
    for plan in value.plans:
        show_plan(plan, shown)
    files = [each for plan in value.plans for each in plan.files]
    for source in (plan.asked.source for plan in value.plans if not (plan.files or plan.refused)):
        # Mostly the entries have no category yet.
        say(f"{source} has no entry in a category that its targets read. See catmem sort -p {source}.")
    if value.in_sync and not done:
        what = "In sync as far as it could be looked at" if value.unreadable else "In sync"
        say(f"{what}: {counted(len(files), 'file')}. Nothing was written.")
        return
    changed = sum((each.revision is not None) if done else each.changes for each in files)
    conflicts, refused = sum(len(each.conflicts) for each in files), sum(len(plan.refused) for plan in value.plans)
    parts = [f"{counted(changed, 'file')} {'written' if done else 'would change'}", f"{len(files) - changed} unchanged"]
    parts += [f"{refused} refused"] if refused else []
    if conflicts:
        parts.append(f"{counted(conflicts, 'conflict')} left to you (--interactive asks who wins, --resolve says it)")
    say(f"{'' if done else 'Nothing was written. '}{', '.join(parts)}.")


def show_plan(plan: SeedPlan, shown: Callable[[FilePlan], str]) -> None:
    """What a seed would do, or did, file by file as ``shown``, with the conflicts, the notes and the refusals."""
    for each in plan.files:
        emit(shown(each) + conflict_lines(each))
        say_all(f"{each.target}: {note}" for note in each.notes)
    say_all(plan.notes)
    for refusal in plan.refused:
        say(f"{refusal.target}: refused")
        print_error(refusal.error)


def plan_diff(plan: FilePlan) -> str:
    """What would change in one file."""
    return text_diff(plan.before, plan.after, f"a/{plan.target}", f"b/{plan.target}") if plan.changes else ""


def plan_line(plan: FilePlan) -> str:
    """What would become of one file, or became of it, in a line."""
    revision = "" if plan.revision is None else f" (revision {plan.revision})"
    return printable(f"{plan.target}: {_said(plan)}{revision}\n")


def _status(plan: FilePlan) -> str:
    head = printable(f"{plan.target} from {plan.source}: {_said(plan)}\n")
    found = [(row.state.replace("_", " "), row.version) for row in plan.rows]
    found += [(f"not seeded: {each.withheld}", each.version) for each in plan.withheld]
    return head + columns([("", state, version.category, first_line(version.body, _WIDTH)) for state, version in found])


_WORDS: dict[State, str] = {
    "new": "added",
    "changed_in_source": "changed",
    "changed_in_both": "merged",
    "removed_from_source": "removed",
}
_KEPT: dict[State, str] = {"changed_in_target": "kept as changed here", "removed_in_target": "kept removed here"}


def _said(plan: FilePlan) -> str:
    counts = Counter(row.state for row in plan.rows)
    parts = [f"{counts[state]} {word}" for state, word in _WORDS.items() if counts[state]]
    done = counts["conflict"] - sum(conflict.reason != "title" for conflict in plan.conflicts)
    parts += [f"{done} settled"] if done else []
    parts += [f"{len(plan.conflicts)} in conflict"] if plan.conflicts else []
    if not plan.changes and not plan.conflicts:
        parts = [f"{done} settled"] if done else ["in sync"]
    parts = parts or [f"{plan.cloned} taken out"]
    parts += [f"{counts[state]} {word}" for state, word in _KEPT.items() if counts[state]]
    kinds = Counter(str(each.withheld).partition(" ")[0].rstrip(":") for each in plan.withheld)
    parts += [f"{count} {kind} left out" for kind, count in sorted(kinds.items())]
    return ", ".join(parts)


# --- conflicts -------------------------------------------------------------------------------------------------------


def conflict_lines(plan: FilePlan) -> str:
    """The conflicts of one file, with what both sides say and said; empty if none is open."""
    return "".join(conflict_text(plan, each) for each in plan.conflicts)


def conflict_text(plan: FilePlan, conflict: Conflict, newline: str = "\\n") -> str:
    """One conflict, with the whole texts of what both come from, of the target and of the source."""
    sides = (("base", conflict.base), ("target", conflict.ours), ("source", conflict.theirs))
    either = conflict.ours or conflict.theirs
    where = f" in {either.category}" if either is not None and either.category else ""
    head = f"  {plan.target}: conflict {conflict_id(plan.target, conflict)}{where}: {CONFLICT_REASONS[conflict.reason]}"
    said = [(name, side and _text(side, conflict.reason).replace("\n", newline)) for name, side in sides]
    return printable("".join(f"{line}\n" for line in (head, *side_lines(said, "     "))))


def _text(side: Version, reason: Reason) -> str:
    text = side.text if reason == "tags" else side.body
    return f"{side.category}: {text}" if reason == "category" else text


# --- what was promoted, as people read it ----------------------------------------------------------------------------


_PROMOTED_WIDTH = 72


def _external(changed: ExternalChange, _: Call) -> None:
    say(f"another program changed {changed.entity}{f' (revision {changed.revision})' if changed.revision else ''}:")
    emit(changed.diff)


def _promoted(done: Promotions, _: Call) -> None:
    failed = done.failed
    for each in done.each:
        where = f"{each.profile} -> {each.source}/{each.target}  {each.entry.category}: "
        emit(printable(f"{where}{first_line(each.entry.body, _PROMOTED_WIDTH)}\n"))
        if each.replaced is not None:
            emit(printable(f"  in place of: {first_line(each.replaced.body, _PROMOTED_WIDTH)}\n"))
        if each.error is not None and each.error in failed:
            print_error(each.error)
        elif each.error is not None:
            say(f"  left: {each.error}")
    if not done.each:
        emit("Nothing to promote: the sources have all of these categories, or it waits there.\n")
        return
    made = sum(each.error is None for each in done.each)
    refused = f", {len(failed)} refused" if failed else ""
    if done.dry_run:
        say(f"{made} to promote{refused}; nothing was written. Propose all: catmem promote --all.")
    else:
        say(f"{counted(made, 'proposal')} made{refused}. catmem proposals lists what waits.")


def _written(written: Written, call: Call) -> None:
    show_written(written, "promoted to", {"dry_run": call.values["dry_run"]})


TEXTS = {
    str: lambda text, _: emit_text(text),
    Seeds: _seeds,
    ExternalChange: _external,
    Promotions: _promoted,
    Written: _written,
}
