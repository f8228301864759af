"""``catmem list``: the entries that a profile sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from catmem.cli.options import (
    as_of_option,
    format_option,
    open_to_read,
    open_with_store,
    profile_option,
    root_option,
    target_option,
)
from catmem.cli.output import columns, emit, emit_json, first_line, printable, say, warn_of, warn_of_rows

if TYPE_CHECKING:
    from datetime import date

    from catmem.service.seen_entry import SeenEntry
    from catmem.service.workspace import Workspace

_WIDTH = 72


@click.command(epilog="Examples: catmem list -p trinity   catmem list -p trinity -t user -c communication-style")
@profile_option(required=True)
@target_option
@click.option("-c", "--category", metavar="SLUG", help="Only this category.")
@as_of_option
@root_option
@format_option
def command(  # noqa: PLR0913 - one parameter an option
    profile: str,
    target: str | None,
    category: str | None,
    as_of: date | None,
    root_folder: str | None,
    *,
    as_json: bool,
) -> None:
    """List the entries that a profile sees in its own files: place, category, state, first line.

    With --format json also the revision and digest of each file, as --expected takes them.
    """
    from catmem.service.writing.terms import undeclared

    if as_json:
        _print_json(open_with_store(root_folder), profile, target, category, as_of)
        return
    workspace = open_to_read(root_folder)
    warn_of_rows(workspace, profile, target)
    listed = workspace.list(profile, target=target, category=category, as_of=as_of)
    if not listed:
        say("No entries that this profile can see.")
    hint = None if category is None else undeclared(category, workspace.config.taxonomy)
    if hint is not None:
        say(printable(hint))
    emit(
        columns(
            [
                (
                    f"{entry.target}:{entry.line}",
                    entry.entry.category,
                    _state(entry),
                    first_line(entry.entry.body, _WIDTH),
                )
                for entry in listed
            ]
        )
    )


def _print_json(
    workspace: Workspace, profile: str, target: str | None, category: str | None, as_of: date | None
) -> None:
    from catmem.service.seen_entry import list_with_files

    warn_of_rows(workspace, profile, target)
    entries, files = list_with_files(workspace, profile, target=target, category=category, as_of=as_of)
    for file in files.values():
        warn_of(file)
    said = {each: file.to_dict() for each, file in files.items()}
    emit_json({"profile": profile, "files": said, "entries": [entry.to_dict() for entry in entries]})


def _state(entry: SeenEntry) -> str:
    if entry.threats:
        return f"blocked: {', '.join(entry.threats)}"
    return entry.freshness.note or entry.freshness.state
