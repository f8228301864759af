"""``catmem merge``: bring branches together with the file that they stand beside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from catmem.cli.conflicts import ConflictDialogue, Quit, conflict_line, conflict_lines
from catmem.cli.options import (
    actor_option,
    dry_run_option,
    entity_argument,
    format_option,
    open_with_store,
    root_option,
)
from catmem.cli.output import emit, emit_json, printable, say, text_diff
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.service.merging.decisions import How
    from catmem.service.merging.merging import Joined

_CONFLICT = 3
_IN_TURN = "Several branches are merged one after the other: ours is the file, for a later one with those before it."


@click.command(
    epilog="Examples: catmem merge trinity   catmem merge trinity/user 8a --dry-run   "
    "catmem merge trinity --precedence auditor,planner   catmem merge trinity --interactive   "
    "catmem merge trinity 8a --drop"
)
@entity_argument
@click.argument("branches", metavar="[BRANCH]...", nargs=-1)
@click.option(
    "--precedence",
    metavar="AGENT,AGENT",
    help="Of a conflict the side wins whose agent, the last that changed the entry there, stands first here; agents "
    "that are not named come last, and of one agent's two changes the later wins.",
)
@click.option("--ours", is_flag=True, help="In conflicts, what the file says wins.")
@click.option("--theirs", is_flag=True, help="In conflicts, what the branch says wins.")
@click.option(
    "--keep-both",
    is_flag=True,
    help="In conflicts, keep both versions; of two tags, categories or titles that of the file.",
)
@click.option("-i", "--interactive", is_flag=True, help="Show each conflict, and ask.")
@click.option("--drop", is_flag=True, help="Close the branches, and take nothing from them; the history keeps them.")
@actor_option
@dry_run_option
@root_option
@format_option
def command(  # noqa: PLR0913 - one parameter an option
    entity: str,
    branches: tuple[str, ...],
    *,
    precedence: str | None,
    ours: bool,
    theirs: bool,
    keep_both: bool,
    interactive: bool,
    drop: bool,
    actor: str | None,
    dry_run: bool,
    root_folder: str | None,
    as_json: bool,
) -> None:
    """Merge the branches of ENTITY, or those that are named, into its file, as one revision.

    What was changed on one side only, or alike on both, merges by itself. Where both changed the same entry nothing is
    written until you say who wins: --precedence, --ours, --theirs, --keep-both or --interactive. Exit status 3 if that
    is left open. ENTITY is PROFILE/user or PROFILE/memory; PROFILE alone means PROFILE/user. 'catmem branches' lists
    what there is to merge.
    """
    words: dict[Literal["ours", "theirs", "both"], bool] = {"ours": ours, "theirs": theirs, "both": keep_both}
    how = [word for word, given in words.items() if given]
    chosen = _how(precedence, how, interactive=interactive, drop=drop, as_json=as_json)
    if drop and not branches:
        raise click.UsageError("Name the branches that --drop closes.")
    workspace = open_with_store(root_folder)
    try:
        joined = workspace.merge(entity, branches, precedence=chosen, drop=drop, actor=actor, dry_run=dry_run)
    except Quit:
        say("Nothing was written.")
        click.get_current_context().exit(_CONFLICT)
    _show(joined, dry_run=dry_run, as_json=as_json)
    if joined.plan.conflicts:
        click.get_current_context().exit(_CONFLICT)


def _how(
    precedence: str | None,
    how: Sequence[Literal["ours", "theirs", "both"]],
    *,
    interactive: bool,
    drop: bool,
    as_json: bool,
) -> How:
    """What the options say of conflicts; they exclude each other."""
    if (precedence is not None) + len(how) + interactive + drop > 1:
        raise click.UsageError(
            "--precedence, --ours, --theirs, --keep-both, --interactive and --drop exclude each other."
        )
    if interactive and as_json:
        raise click.UsageError("--interactive is for people; programs decide with --precedence, --ours or --theirs.")
    if precedence is not None:
        names = [name.strip() for name in precedence.split(",") if name.strip()]
        if not names:
            raise click.UsageError("--precedence needs the name of an agent, or several with commas between.")
        return names
    if interactive:
        return ConflictDialogue()
    return how[0] if how else None


def _show(joined: Joined, *, dry_run: bool, as_json: bool) -> None:
    plan = joined.plan
    if as_json:
        emit_json({**joined.to_dict(), "dry_run": dry_run})
        return
    for warning in plan.warnings:
        say(printable(f"warning: {warning}"))
    for note in joined.notes:
        say(printable(note))
    if not plan.merged:
        say(
            printable(f"No branch of {joined.entity} is left to merge." if not joined.notes else "Nothing was written.")
        )
        return
    if dry_run:
        _show_tried_out(joined)
        return
    done = "dropped" if plan.drop else "merged"
    same = "" if joined.changed else ", and no byte of the file changed"
    emit(printable(f"{done} {', '.join(plan.merged)} in {joined.entity} (revision {joined.revision}){same}\n"))
    if plan.settled:
        say(f"{counted(len(plan.settled), 'conflict')} decided:")
    for found, answer in plan.settled:
        say(printable(f"  {conflict_line(found)}: {answer if isinstance(answer, str) else 'edited'}"))


def _show_tried_out(joined: Joined) -> None:
    """The text that a merge would make, and its conflicts, the decided ones too."""
    plan, said = joined.plan, joined.to_dict()
    left = counted(len(plan.conflicts), "conflict")
    emit(text_diff(plan.before, plan.after, f"a/{joined.entity}", f"b/{joined.entity}"))
    if plan.conflicts:
        say(f"{left} to decide, of which the text above holds what it can of both sides:")
        say(printable("\n".join(conflict_lines(said["conflicts"]))))
    if plan.settled:
        say(f"{counted(len(plan.settled), 'conflict')} decided:")
        say(printable("\n".join(conflict_lines(said["settled"]))))
    if len(plan.merged) > 1 and (plan.conflicts or plan.settled):
        say(_IN_TURN)
    done = "would be closed" if plan.drop else "would be merged" if not plan.conflicts else "cannot be merged yet"
    say(printable(f"Nothing was written. {', '.join(plan.merged)} {done}."))
