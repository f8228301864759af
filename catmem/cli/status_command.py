"""``catmem status``: what is next, a line a kind."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from catmem.cli.command import Command
from catmem.cli.options import as_of_option, common_options, open_with_store
from catmem.cli.output import columns, emit, emit_json, in_json, print_unreadable, say, say_all, text_diff

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from catmem.workspace.workspace import Workspace


@click.command(cls=Command, examples=("catmem status", "catmem status --adopt", "catmem status --check --format json"))
@click.option("--adopt", is_flag=True, help="Show what other programs changed, and take it into the history.")
@click.option("--check", is_flag=True, help="Exit status 1 if anything is on the list.")
@as_of_option
@common_options
def status(as_of: date | None, *, adopt: bool, check: bool) -> None:
    """Print what is next, in the order in which you best do it, each line with its command.

    First come git's conflict markers, entries with a secret or hostile text, entries without a category, and
    categories that no specialist reads: a profile has to name them. Then come seeds, branches and proposals, what
    specialists added or reworded, files that another program changed, and facts with a date that are due for review.

    Exit status 0, also if something waits (then 1 with --check); 2 if a profile or a file cannot be read.
    """
    from catmem.workspace.overview import next_steps

    workspace = open_with_store()
    found = next_steps(workspace, as_of)
    adopted = _adopt(workspace, found.overview.outside) if adopt else []
    if adopted:
        found = next_steps(workspace, as_of)
    if in_json():
        emit_json({**found.to_dict(), **({"adopted": adopted} if adopt else {})})
    else:
        emit(columns([(step.what, step.command) for step in found.steps]))
        say_all([] if found.steps else ["Nothing waits for you."])
    sys.exit(print_unreadable(found.unreadable) or int(check and bool(found.steps)))


def _adopt(workspace: Workspace, entities: Sequence[str]) -> list[dict[str, str]]:
    """Show what another program changed in each, and take it into its history as seen."""
    from catmem.store.contract import EXTERNAL
    from catmem.workspace.history import adopt, shown_text

    adopted = []
    for entity in entities:
        now = workspace.store.read(entity)
        own = (each for each in workspace.store.log(entity) if each.agent != EXTERNAL and not each.is_branch)
        before = workspace.store.read(entity, next((each.revision for each in own), "0"))
        old, new = (shown_text(workspace, entity, each.data) for each in (before, now))
        difference = text_diff(old, new, f"a/{entity}", f"b/{entity}")
        revision = adopt(workspace, entity, expected=now.digest, seen=True)
        adopted.append({"entity": entity, "revision": revision, "diff": difference})
        if not in_json():
            emit(difference)
            say(f"what is there now is revision {revision} of {entity}")
    return adopted
