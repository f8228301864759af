"""``catmem promote``: what a specialist learned comes to the profile that it is seeded from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from catmem.cli.command import Command
from catmem.cli.options import common_options, dry_run_option, open_with_store, profile_option, target_option
from catmem.cli.output import emit, emit_json, first_line, in_json, printable, say, show_written
from catmem.errors import UnknownNameError

if TYPE_CHECKING:
    from catmem.proposals.promoting import Promoted

_WIDTH = 72


@click.command(
    cls=Command,
    examples=(
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
    help="The category of the entry; with --all a selector, and can be given several times.",
)
@click.option("--reason", metavar="TEXT", help="Why, for the history and for the person who approves.")
@click.option("--propose", is_flag=True, help="Have it wait as a proposal.")
@click.option(
    "--all",
    "all_learned",
    is_flag=True,
    help="Propose all that specialists learned, in the categories of approval.promote in catmem.yaml.",
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
    """Bring what a specialist learned to the profile that it is seeded from.

    ENTRY is words of one entry of the profile of -p. If that profile has an entry that says nearly the same, this
    rewords it. With --all each fact becomes a proposal, which 'catmem proposals' lists: so it is safe to run nightly.
    """
    from catmem.proposals.promoting import promote as promoted
    from catmem.proposals.promoting import promote_learned, promoted_categories, unmatched_selectors

    workspace = open_with_store()
    if all_learned:
        if entry is not None or to is not None:
            raise click.UsageError("--all takes no ENTRY and no --to: each fact goes to the profile it is seeded from.")
        for selector, hint in unmatched_selectors(workspace, categories).items():
            if categories:
                raise UnknownNameError(f"no category fits {selector}", code="unknown_category", hint=hint)
            say(f"no category fits {selector}, which approval.promote in catmem.yaml names. {hint}")
        found = promote_learned(workspace, profile, categories=categories, dry_run=dry_run)
        _show(found, dry_run=dry_run, is_any=bool(promoted_categories(workspace, categories).patterns))
        return
    if entry is None or profile is None:
        raise click.UsageError("Say which entry: -p NAME ENTRY, or --all.")
    if len(categories) > 1:
        raise click.UsageError("Without --all, -c names the one category of the ENTRY.")
    category = categories[0] if categories else None
    which: dict[str, Any] = {"to": to, "target": target, "category": category}
    done = promoted(workspace, profile, entry, **which, reason=reason, proposes=propose, dry_run=dry_run)
    if done.written is not None:
        show_written(done.written, "promoted to", {"dry_run": dry_run})


def _show(found: list[Promoted], *, dry_run: bool, is_any: bool) -> None:
    if in_json():
        emit_json({"promoted": [each.to_dict() for each in found], "dry_run": dry_run})
        return
    for each in found:
        where = f"{each.profile} -> {each.source}/{each.target}  {each.entry.category}: "
        emit(printable(f"{where}{first_line(each.entry.body, _WIDTH)}\n"))
        if each.error is not None:
            say(f"  left: {each.error}")
    proposed = sum(each.error is None for each in found)
    if not is_any:
        emit("No category is selected. Name some with -c, or in approval.promote of catmem.yaml.\n")
    elif not found:
        emit("Nothing to propose: the sources have all of these categories, or it waits there.\n")
    elif dry_run:
        say(f"Nothing was written. {proposed} would wait as proposals.")
    else:
        say(f"{proposed} wait as proposals: 'catmem proposals' lists them.")
