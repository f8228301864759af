"""``catmem review``: the facts that are due, one by one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from catmem.cli.dialogue import Dialogue, print_json, say_passed, take_back
from catmem.cli.options import as_of_option, format_option, open_with_store, root_option
from catmem.cli.output import columns, emit, first_line, print_unreadable, printable, say

if TYPE_CHECKING:
    from datetime import date

    from catmem.service.review import DueState, Review

_WIDTH = 72


@click.command(
    epilog="Examples: catmem review   catmem review -p trinity --state stale   catmem review --list --format json   "
    "catmem review --answers answers.txt"
)
@click.option(
    "-p",
    "--profile",
    "profiles",
    multiple=True,
    metavar="NAME",
    help="Only the memory of this profile; may be given several times. By default all, tier 1 first.",
)
@click.option("-c", "--category", metavar="SLUG", help="Only this category.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(["stale", "expired", "unverified", "future"]),
    help="Only facts that are this; may be given several times. future: dated in the future.",
)
@click.option("--list", "only_list", is_flag=True, help="List what is due, and ask nothing.")
@click.option(
    "--answers",
    metavar="FILE",
    help="Read the answers from FILE, one a line, - for standard input. By default from standard input.",
)
@click.option("--undo", is_flag=True, help="Take the last answer back, that of an earlier run too, and ask nothing.")
@click.option("--restart", is_flag=True, help="Begin a new round: ask again about what was skipped in this one.")
@as_of_option
@root_option
@format_option
def command(  # noqa: PLR0913 - one parameter an option
    profiles: tuple[str, ...],
    category: str | None,
    states: tuple[DueState, ...],
    *,
    only_list: bool,
    answers: str | None,
    undo: bool,
    restart: bool,
    as_of: date | None,
    root_folder: str | None,
    as_json: bool,
) -> None:
    """Walk the facts that are due, one by one: keep, edit, expire, remove or skip each.

    Due is what is stale or expired, what nobody ever verified and is older than it would take to be stale, and what is
    dated in the future. Each answer is written at once. A review that was stopped goes on where it was.

    The answers, one a line: k keeps and verifies, e WORDS gives it other words, x says that it no longer holds, r
    removes it, s skips it in this round, u takes the last answer back, q quits, ? explains.

    Exit status 1: some are left without an answer.
    """
    from catmem.service.review import Review
    from catmem.service.writing.terms import undeclared

    if only_list + undo + restart > 1:
        raise click.UsageError("--list, --undo and --restart exclude each other.")
    if answers is not None and (only_list or undo):
        raise click.UsageError("--answers is for a review that asks; --list and --undo ask nothing.")
    workspace = open_with_store(root_folder)
    review = Review.open(workspace, profiles=profiles, category=category, states=states, as_of=as_of, restart=restart)
    hint = None if category is None else undeclared(category, workspace.config.taxonomy)
    if hint is not None:
        say(printable(hint))
    left = 0
    if only_list:
        _list(review, as_json=as_json)
    elif undo:
        take_back(review, as_json=as_json)
    else:
        left = Dialogue(review, answers, as_json=as_json).run()
    _end(review, left, as_json=as_json)


def _end(review: Review, left: int, *, as_json: bool) -> None:
    """Say what could not be looked at, and give the exit status; ``left`` facts have no answer yet."""
    _say_notes(review)
    status = print_unreadable(review.unreadable, as_json=as_json)
    if status or left:
        sys.exit(status or 1)


def _say_notes(review: Review) -> None:
    from catmem.service.ages import notes_of

    for note in (*([review.round.note] if review.round.note else []), *notes_of(review.workspace)):
        say(printable(f"note: {note}"))


def _list(review: Review, *, as_json: bool) -> None:
    due = review.due()
    if as_json:
        print_json(review, ())
        return
    emit(
        columns(
            [
                (f"{each.entity}:{each.line}", each.entry.category, each.why, first_line(each.entry.body, _WIDTH))
                for each in due
            ]
        )
    )
    if not due:
        say("Nothing is due.")
    say_passed(review)
