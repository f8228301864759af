"""``catmem verify``: entries that still hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from catmem.cli.options import (
    actor_option,
    day_option,
    how_options,
    narrow_option,
    open_with_store,
    profile_option,
    text_argument,
)
from catmem.cli.output import emit, emit_json, first_line, printable, say, show_written
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from catmem.model.document import Entry
    from catmem.service.workspace import Workspace
    from catmem.service.writing.written import How, Written

_WIDTH = 72


@click.command(
    epilog="Examples: catmem verify -p trinity 'Vendor is Acme'   catmem verify -p neo --as-of 2026-11-02 uv   "
    "catmem verify -p trinity --all -c approval-conventions --dry-run   catmem verify -p neo --search 'package manager'"
)
@text_argument("old", "[OLD]", required=False)
@click.option("--all", "whole_category", is_flag=True, help="Every entry of the category that -c names.")
@click.option(
    "--search", "query", metavar="QUERY", help="Every entry that the profile sees and that has all words of QUERY."
)
@profile_option(required=True)
@actor_option
@click.option(
    "-t",
    "--target",
    type=click.Choice(["user", "memory"]),
    help="USER.md or MEMORY.md. By default USER.md; with --all and --search both.",
)
@narrow_option
@day_option(
    "The day on which it was found to hold, YYYY-MM-DD: not before its last verification and not after today, which is "
    "the default."
)
@how_options
@click.pass_context
def command(  # noqa: PLR0913 - one parameter an option
    ctx: click.Context,
    old: str | None,
    profile: str,
    *,
    whole_category: bool,
    query: str | None,
    target: str | None,
    category: str | None,
    as_of: date | None,
    root_folder: str | None,
    as_json: bool,
    **how: Unpack[How],
) -> None:
    """Say that the entry that holds OLD still holds: its tag verified_date becomes the day.

    OLD is a piece of its text that no other entry holds, its id, or - for stdin. --all and --search take the place of
    OLD: they verify many entries, in one revision a file, and --dry-run lists them.
    """
    _refuse_mixture(ctx, old, query, category, whole_category=whole_category)
    workspace = open_with_store(root_folder)
    if old is not None:
        written = workspace.verify(profile, old, target=target or "user", category=category, as_of=as_of, **how)
        show_written(written, "verified in", how, as_json=as_json)
        return
    done = workspace.verify_all(profile, target=target, category=category, query=query, as_of=as_of, **how)
    _show_all([(each, _newly(workspace, each)) for each in done], dry_run=bool(how.get("dry_run")), as_json=as_json)


def _refuse_mixture(
    ctx: click.Context, old: str | None, query: str | None, category: str | None, *, whole_category: bool
) -> None:
    given = [name for name, is_given in (("OLD", old), ("--all", whole_category), ("--search", query)) if is_given]
    if old == "" or query == "":
        given.append("OLD" if old == "" else "--search")
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} exclude each other: each says which entries are meant.", ctx)
    if not given:
        raise click.UsageError("Say which entries: OLD for one, --all -c CATEGORY, or --search QUERY.", ctx)
    if whole_category and category is None:
        raise click.UsageError("--all needs -c CATEGORY, whose entries it verifies.", ctx)


def _newly(workspace: Workspace, written: Written) -> list[Entry]:
    """The entries that got another day: some may have had it."""
    before = {(entry.category, entry.id) for entry in workspace.parse(written.before).entries}
    return [entry for entry in written.entries if (entry.category, entry.id) not in before]


def _show_all(done: Sequence[tuple[Written, Sequence[Entry]]], *, dry_run: bool, as_json: bool) -> None:
    """What was verified, file by file; all entries for a dry run."""
    count = sum(len(entries) for _, entries in done)
    if as_json:
        emit_json({"verified": count, "files": [written.to_dict() for written, _ in done], "dry_run": dry_run})
        return
    for written, entries in done:
        for warning in (*written.warnings, *written.notes):
            say(printable(warning))
        if dry_run:
            lines = (f"{entry.category}: {first_line(entry.body, _WIDTH)}\n" for entry in entries)
            emit("".join(printable(line) for line in lines))
        elif written.changed:
            number = counted(len(entries), "entry")
            emit(printable(f"verified {number} in {written.entity} (revision {written.revision})\n"))
        else:
            number = counted(len(written.entries), "entry")
            emit(printable(f"{number} in {written.entity} verified already; nothing written\n"))
    if dry_run:
        say(f"Nothing was written. {counted(count, 'entry')} would be verified.")
