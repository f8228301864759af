"""What was imported or brought back, as people read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from catmem.cli.output import columns, emit, say, say_all
from catmem.cli.texts import on_uncategorized, show_plan
from catmem.ops.table import Call
from catmem.plugins.importers.operations import FinishedImport, ImportPlan, remarks_on, sort_command
from catmem.plugins.importers.source_files import LeftOut
from catmem.text import first_line, printable, text_diff
from catmem.workspace.change_plan import ChangePlan

_SHOWN = 5
_WIDTH = 60


def _brought_back(plan: ChangePlan, call: Call) -> None:
    show_plan(plan, call, "as in the snapshot")
    if not plan.changed:
        emit("all is as in the snapshot; nothing written\n")
    elif not plan.done:
        say("Nothing was written.")


def _imported(done: FinishedImport, call: Call) -> None:
    plan, written, dry_run = done.plan, done.written, call.dry_run
    for each in written:
        if dry_run:
            emit(text_diff(each.before, each.after, f"a/{each.entity}", f"b/{each.entity}"))
        else:
            emit(printable(f"added {len(each.entries):,} to {each.entity} (revision {each.revision})\n"))
    if not written:
        emit("nothing new; nothing written\n")
    for line in (*remarks_on(written), *_remarks(plan)):
        say(line)
    if dry_run and written:
        shown = sum(len(each.entries) for each in written)
        new = sum(each.outcome == "new" for each in plan.entries)
        more = f" {shown:,} of {new:,} new entries are shown." if shown < new else ""
        say(f"Nothing was written.{more}")
    say_all(on_uncategorized(plan.profile, plan.uncategorized))
    say_all(f"Next: {sort_command(plan.profile, target)}{call.root_words}" for target in plan.uncategorized)


def _remarks(plan: ImportPlan) -> Iterator[str]:
    there = sum(each.outcome == "there" for each in plan.entries)
    if there:
        yield f"{there:,} there already"
    yield from plan.notes
    if plan.left_out:
        yield f"{len(plan.left_out):,} left out, because they have no place here:"
        yield from columns(_rows(plan.left_out)).rstrip("\n").split("\n")


def _rows(left_out: Sequence[LeftOut]) -> Iterator[tuple[str, ...]]:
    """A few of each kind, and how many more there are."""
    kind = attrgetter("what", "why")
    for (what, why), some in groupby(sorted(left_out, key=kind), key=kind):
        found = list(some)
        for each in found[:_SHOWN]:
            place, value = first_line(each.place, _WIDTH), first_line(each.value, _WIDTH)
            yield "", place, first_line(what, _WIDTH), f"{value} ({why})"
        if (more := len(found) - _SHOWN) > 0:
            yield "", "…", first_line(what, _WIDTH), f"and {more:,} more, with --format json ({why})"


TEXTS = {"FinishedImport": _imported, "ChangePlan": _brought_back}
