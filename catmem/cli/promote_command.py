"""``catmem promote``: what a specialist learned comes to the profile that it is seeded from."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from catmem.cli.command import Command
from catmem.cli.options import common_options, dry_run_option, open_with_store, profile_option, target_option
from catmem.cli.output import (
    emit,
    emit_json,
    first_line,
    in_json,
    print_error,
    printable,
    say,
    show_written,
    text_diff,
)
from catmem.errors import UnknownNameError
from catmem.names import TARGETS
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catmem.config.profile import Profile
    from catmem.proposals.promoting import Promoted
    from catmem.workspace.workspace import Workspace

_WIDTH = 72


@click.command(
    cls=Command,
    examples=(
        "catmem promote",
        "catmem promote -p neo 'Releases are cut on Tuesdays'",
        "catmem promote -p neo 'Releases are cut' --to orchestrator --propose --reason 'All of them need it.'",
        "catmem promote --all",
    ),
)
@click.argument("entry", required=False)
@profile_option(required=False)
@click.option("--to", metavar="NAME", help="Where it goes. By default the profile that -p is seeded from.")
@target_option
@click.option(
    "-c",
    "--category",
    "categories",
    multiple=True,
    metavar="SLUG",
    help="The category of the ENTRY; without one a selector, and can be given several times.",
)
@click.option("--reason", metavar="TEXT", help="Why, for the history and for the person who approves.")
@click.option("--propose", is_flag=True, help="Have it wait as a proposal.")
@click.option(
    "--all",
    "all_learned",
    is_flag=True,
    help="Propose all that specialists added or reworded, in the categories of -c, else of approval.promote in "
    "catmem.yaml, else in all that both profiles name.",
)
@dry_run_option
@common_options
def promote(  # noqa: PLR0913 - one parameter an option
    entry: str | None,
    profile: str | None,
    *,
    to: str | None,
    target: str | None,
    categories: tuple[str, ...],
    reason: str | None,
    propose: bool,
    all_learned: bool,
    dry_run: bool,
) -> None:
    """Bring what a specialist added or reworded to the profile that it is seeded from.

    Without ENTRY it lists what there is. The list has what specialists have and their source has not, each with the
    entry that it would replace. ENTRY is words of one entry of the profile of -p. If the other profile has an entry
    that says nearly the same, this rewords it; if another program changed that entry, the rewording waits as a
    proposal. What another program changed in the files of both is shown first. With --all each fact becomes a proposal,
    which 'catmem proposals' lists: so it is safe to run nightly. The exit status is that of what was refused, but for
    what you rejected before.
    """
    from catmem.proposals.promoting import promote as promoted
    from catmem.proposals.promoting import promote_learned, promoted_between, unmatched_selectors

    workspace = open_with_store()
    if all_learned or entry is None:
        if entry is not None or to is not None:
            raise click.UsageError("--all takes no ENTRY, and --to goes with an ENTRY.")
        for selector, hint in unmatched_selectors(workspace, categories).items():
            if categories:
                raise UnknownNameError(f"no category fits {selector}", code="unknown_category", hint=hint)
            say(f"no category fits {selector}, which approval.promote in catmem.yaml names. {hint}")
        dry_run = dry_run or not all_learned
        external = _show_external(workspace, promoted_between(workspace, profile), dry_run=dry_run)
        found = promote_learned(workspace, profile, categories=categories, dry_run=dry_run)
        status = _show(found, external, dry_run=dry_run)
        sys.exit(status if all_learned else 0)
    if profile is None:
        raise click.UsageError("Say whose entry it is: -p NAME ENTRY.")
    if len(categories) > 1:
        raise click.UsageError("With an ENTRY, -c names its one category.")
    external = _show_external(workspace, promoted_between(workspace, profile, to), dry_run=dry_run)
    category = categories[0] if categories else None
    which: dict[str, Any] = {"to": to, "target": target, "category": category}
    written = promoted(workspace, profile, entry, **which, reason=reason, proposes=propose, dry_run=dry_run).written
    if written is None:
        return
    if in_json():
        emit_json({**written.to_dict(), "external": external, "dry_run": dry_run})
    else:
        show_written(written, "promoted to", {"dry_run": dry_run})


def _show_external(
    workspace: Workspace, sides: Iterable[tuple[Profile, Profile]], *, dry_run: bool
) -> list[dict[str, Any]]:
    """Take what another program changed in the files of both sides into the history, and show it."""
    from catmem.workspace.history import adopt, shown_text

    found = []
    store = workspace.store
    for entity in dict.fromkeys(f"{each.name}/{target}" for pair in sides for each in pair for target in TARGETS):
        head, now = store.head(entity), store.read(entity)
        if head is None or head.digest == now.digest:
            continue
        before, after = (shown_text(workspace, entity, each.data) for each in (store.read(entity, head.revision), now))
        difference = text_diff(before, after, f"a/{entity}", f"b/{entity}")
        revision = None if dry_run else adopt(workspace, entity)
        found.append({"entity": entity, "revision": revision, "diff": difference})
        if not in_json():
            say(f"another program changed {entity}{f' (revision {revision})' if revision else ''}:")
            emit(difference)
    return found


def _show(found: list[Promoted], external: list[dict[str, Any]], *, dry_run: bool) -> int:
    """What became of each; the exit status, in which what a person rejected before is no failure."""
    failed = [each.error for each in found if each.error is not None and each.error.code != "rejected_before"]
    status = max((error.exit_status for error in failed), default=0)
    if in_json():
        emit_json({"promoted": [each.to_dict() for each in found], "external": external, "dry_run": dry_run})
        return status
    for each in found:
        where = f"{each.profile} -> {each.source}/{each.target}  {each.entry.category}: "
        emit(printable(f"{where}{first_line(each.entry.body, _WIDTH)}\n"))
        if each.replaced is not None:
            emit(printable(f"  in place of: {first_line(each.replaced.body, _WIDTH)}\n"))
        if each.error in failed:
            print_error(each.error)
        elif each.error is not None:
            say(f"  left: {each.error}")
    if not found:
        emit("Nothing to promote: the sources have all of these categories, or it waits there.\n")
        return status
    done = sum(each.error is None for each in found)
    refused = f", {len(failed)} refused" if failed else ""
    if dry_run:
        say(f"{done} to promote{refused}; nothing was written. Propose all: catmem promote --all.")
    else:
        say(f"{counted(done, 'proposal')} made{refused}. catmem proposals lists what waits.")
    return status
