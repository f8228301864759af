"""``catmem repair``: a file that holds what no tool wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from catmem.cli.options import entity_argument, format_option, open_with_store, root_option
from catmem.cli.output import emit, emit_json, printable, say, show_written, shown_path, text_diff

if TYPE_CHECKING:
    from catmem.service.repairing import Remedy, RepairPlan

_TO_DO = 1


@click.command(epilog="Examples: catmem repair trinity/user   catmem repair trinity/user --how split --yes")
@entity_argument
@click.option(
    "--how",
    type=click.Choice(["split", "move", "keep"]),
    help="split: several entries of one that is too long. move: what does not fit goes to a file beside. keep: bytes "
    "that are not UTF-8 are read as Windows-1252, and long entries stay. By default what fits the harm.",
)
@click.option("--yes", is_flag=True, help="Do what the plan says.")
@root_option
@format_option
def command(entity: str, how: Remedy | None, root_folder: str | None, *, yes: bool, as_json: bool) -> None:
    """Plan how to mend ENTITY, which catmem refuses to rewrite: not UTF-8, or with an entry over every limit.

    Without --yes the plan is shown and nothing is written: exit status 1 if there is something to mend. ENTITY is
    PROFILE/user or PROFILE/memory; PROFILE alone means PROFILE/user.
    """
    from catmem.service.repairing import apply_repair, plan_repair

    workspace = open_with_store(root_folder)
    plan = plan_repair(workspace, entity, how)
    if not plan.changes:
        _show_plan(plan, as_json=as_json)
        return
    if not yes:
        _show_plan(plan, as_json=as_json)
        raise SystemExit(_TO_DO)
    show_written(apply_repair(workspace, plan), "mended", {}, as_json=as_json)
    if plan.moved and plan.moved_to:
        say(printable(f"What did not fit was moved to {shown_path(plan.moved_to)}."))


def _show_plan(plan: RepairPlan, *, as_json: bool) -> None:
    if as_json:
        emit_json(plan.to_dict())
        return
    say(printable(plan.message))
    # A person looks at this, so bytes that are no text are shown as escapes.
    before, after = (data.decode(errors="backslashreplace") for data in (plan.before, plan.after))
    emit(text_diff(before, after, f"a/{plan.entity}", f"b/{plan.entity}"))
    if plan.changes:
        say("Nothing was written. Do it with --yes.")
