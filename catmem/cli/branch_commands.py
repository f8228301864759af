"""``catmem branches`` and ``catmem merge``: what was written on an older revision, and how it comes into the file."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Literal

import click

from catmem import clock
from catmem.cli.command import Command
from catmem.cli.dialogue import ConflictDialogue
from catmem.cli.options import actor_option, common_options, dry_run_option, open_with_store, secret_option
from catmem.cli.output import (
    CONFLICT_REASONS,
    columns,
    conflict_lines,
    emit,
    emit_json,
    in_json,
    print_unreadable,
    printable,
    say,
    text_diff,
)
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.errors import CatmemError
    from catmem.merging.branches import Branch
    from catmem.merging.decisions import Answer, Disagreement, How
    from catmem.merging.merging import Joined
    from catmem.merging.merging_all import JoinedAll, LeftBranch

_HOUR = 3_600
_DAY = 24 * _HOUR
"""In seconds."""
_CONFLICT = 3
_IN_TURN = "Several branches are merged one after the other: ours is the file, for a later one with those before it."
_HELP = """\
  o        ours: what the file says
  t        theirs: what the branch says
  b        both: the two stand one after the other (of tags, categories and titles: ours)
  e WORDS  edit: the entry says WORDS instead of either
  q        quit: nothing is written"""
_ANSWERS: dict[str, Literal["ours", "theirs", "both"]] = {"o": "ours", "t": "theirs", "b": "both"}


@click.command(cls=Command, examples=("catmem branches", "catmem branches trinity/user --format json"))
@click.argument("entity", metavar="[ENTITY]", required=False)
@common_options
def branches(entity: str | None) -> None:
    """List the branches of ENTITY, or of all files, that are not merged yet: name, origin, who, age, what, outlook.

    A branch is a write that was made on an older revision (--on-stale branch, or on_stale in catmem.yaml). What it says
    is not in the file until 'catmem merge' brings the two together. ENTITY is PROFILE/user or PROFILE/memory; PROFILE
    alone means PROFILE/user.
    """
    from catmem.merging.branches import branches_of_all

    workspace = open_with_store()
    found: Sequence[Branch]
    unreadable: Sequence[CatmemError] = ()
    if entity is None:
        found, unreadable = branches_of_all(workspace)
    else:
        found = workspace.branches(entity)
    if in_json():
        emit_json({"branches": [branch.to_dict() for branch in found]})
    else:
        _show_branches(found)
    sys.exit(print_unreadable(unreadable))


def _show_branches(found: Sequence[Branch]) -> None:
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


@click.command(
    cls=Command,
    examples=(
        "catmem merge trinity",
        "catmem merge trinity/user 8a --dry-run",
        "catmem merge trinity --precedence auditor,planner",
        "catmem merge trinity --interactive",
        "catmem merge trinity 8a --drop",
        "catmem merge --all --dry-run",
    ),
)
@click.argument("entity", metavar="[ENTITY]", required=False)
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
@click.option("--all", "every", is_flag=True, help="Merge the branches of all files that merge by themselves.")
@secret_option
@actor_option
@dry_run_option
@common_options
def merge(  # noqa: PLR0913 - one parameter an option
    entity: str | None,
    branches: tuple[str, ...],
    *,
    precedence: str | None,
    ours: bool,
    theirs: bool,
    keep_both: bool,
    interactive: bool,
    drop: bool,
    every: bool,
    allow_secret: bool,
    actor: str | None,
    dry_run: bool,
) -> None:
    """Merge the branches of ENTITY, or those that are named, into its file, as one revision.

    What was changed on one side only, or alike on both, merges by itself. Where both changed the same entry nothing is
    written until you say who wins: --precedence, --ours, --theirs, --keep-both or --interactive. Exit status 3 if that
    is left open. ENTITY is PROFILE/user or PROFILE/memory; PROFILE alone means PROFILE/user. 'catmem branches' lists
    what there is to merge.

    With --all in the place of ENTITY every branch of the root that merges by itself is merged, one revision a file;
    those with conflicts are left, with exit status 3.
    """
    from catmem.merging.branches import branches_of_all

    if every == (entity is not None):
        raise click.UsageError("Give either the ENTITY whose branches are merged, or --all for those of all files.")
    if every and (drop or interactive):
        raise click.UsageError("--drop and --interactive are for the branches of one ENTITY, and not for --all.")
    words: dict[Literal["ours", "theirs", "both"], bool] = {"ours": ours, "theirs": theirs, "both": keep_both}
    how = [word for word, given in words.items() if given]
    chosen = _how(precedence, how, interactive=interactive, drop=drop)
    if drop and not branches:
        raise click.UsageError("Name the branches that --drop closes.")
    workspace = open_with_store()
    if interactive:
        chosen = _MergeDialogue(workspace.config, {"actor": actor, "allow_secret": allow_secret})
    if entity is None:
        sys.exit(_show_all(workspace.merge_all(precedence=chosen, actor=actor, dry_run=dry_run), dry_run=dry_run))
    try:
        # The dialogue has asked about each secret.
        joined = workspace.merge(
            entity, branches, precedence=chosen, drop=drop, actor=actor, dry_run=dry_run, allow_secret=interactive
        )
    except _Quit:
        say("Nothing was written.")
        click.get_current_context().exit(_CONFLICT)
    _show_merged(joined, dry_run=dry_run)
    others = [] if joined.plan.merged or branches or in_json() else branches_of_all(workspace)[0]
    if others:
        say(f"{others[0].entity} has some: catmem merge {others[0].entity}")
    if joined.plan.conflicts:
        click.get_current_context().exit(_CONFLICT)


def _how(
    precedence: str | None, how: Sequence[Literal["ours", "theirs", "both"]], *, interactive: bool, drop: bool
) -> How:
    if (precedence is not None) + len(how) + interactive + drop > 1:
        raise click.UsageError(
            "--precedence, --ours, --theirs, --keep-both, --interactive and --drop exclude each other."
        )
    if interactive and in_json():
        raise click.UsageError("--interactive is for people; programs decide with --precedence, --ours or --theirs.")
    if precedence is not None:
        names = [name.strip() for name in precedence.split(",") if name.strip()]
        if not names:
            raise click.UsageError("--precedence needs the name of an agent, or several with commas between.")
        return names
    return how[0] if how else None


def _show_merged(joined: Joined, *, dry_run: bool) -> None:
    plan = joined.plan
    if in_json():
        emit_json({**joined.to_dict(), "dry_run": dry_run})
        return
    for warning in plan.warnings:
        say(f"warning: {warning}")
    for note in joined.notes:
        say(note)
    if not plan.merged:
        say(f"No branch of {joined.entity} is left to merge." if not joined.notes else "Nothing was written.")
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
        say(f"  {conflict_line(found)}: {answer if isinstance(answer, str) else 'edited'}")


def _show_all(found: JoinedAll, *, dry_run: bool) -> int:
    """Say what became of each branch; the exit status for it."""
    if in_json():
        emit_json({**found.to_dict(), "dry_run": dry_run})
    else:
        for joined in found.merged:
            _show_merged(joined, dry_run=dry_run)
        for each in found.left:
            _show_left(each)
        if found.left:
            count, first = counted(len(found.left), "branch", "branches"), found.left[0]
            say(f"{count} left. 'catmem merge {first.entity} {first.branch} --interactive' asks who wins a conflict;")
            say("--precedence AGENT,AGENT, --ours, --theirs and --keep-both decide without questions, with --all too.")
        elif not found.merged:
            say("No branch is left to merge.")
    return max(print_unreadable(found.unreadable), _CONFLICT if found.left else 0)


def _show_left(each: LeftBranch) -> None:
    if each.error is not None:
        why = f"error[{each.error.code}]: {each.error.message}"
    else:
        why = counted(len(each.conflicts), "conflict")
    emit(printable(f"left {each.branch} in {each.entity}: {why}\n"))


def _show_tried_out(joined: Joined) -> None:
    plan, said = joined.plan, joined.to_dict()
    left = counted(len(plan.conflicts), "conflict")
    emit(text_diff(plan.before, plan.after, f"a/{joined.entity}", f"b/{joined.entity}"))
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


class _Quit(Exception):  # noqa: N818 - no error: the person has had enough
    """The person does not go on, so nothing is written."""


def conflict_line(found: Disagreement) -> str:
    """A conflict in a line, without its texts."""
    said = found.to_dict()
    where = f" in {said['category']}" if said["category"] else ""
    return f"branch {found.branch}{where}: {CONFLICT_REASONS[said['reason']]}"


class _MergeDialogue(ConflictDialogue):
    """Shows one conflict after the other and asks what becomes of it; called with each by the merge."""

    keys = "otbq?"
    letters = "o, t, b, e WORDS, q or ?"
    explained = _HELP
    _asked = 0

    def __call__(self, found: Disagreement) -> Answer:
        """The answer to one conflict. Raises ``_Quit``, and ``ConfigError`` (``bad_answer``) off a terminal."""
        self._asked += 1
        emit(printable("".join(f"{line}\n" for line in conflict_lines([found.to_dict()], self._asked))))
        while True:
            line = self.read()
            if line is None or line.letter == "q":
                raise _Quit
            if line.letter in _ANSWERS and not line.rest:
                return _ANSWERS[line.letter]
            if line.letter == "e" and found.conflict.reason != "title":
                own = self.own_words(line, found.conflict)
                if own is not None:
                    return own
            else:
                self.explain(line)
