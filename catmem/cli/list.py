"""``catmem list``: the entries that a profile sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from catmem.cli.options import as_of_option, format_option, open_workspace, profile_option, root_option, target_option
from catmem.cli.output import columns, emit, emit_json, first_line, say

if TYPE_CHECKING:
    from datetime import date

    from catmem.service.workspace import ListedEntry

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
    """List the entries that a profile sees in its own files: place, category, state, first line."""
    listed = open_workspace(root_folder).list(profile, target=target, category=category, as_of=as_of)
    if as_json:
        emit_json({"profile": profile, "entries": [entry.to_dict() for entry in listed]})
        return
    if not listed:
        say("No entries that this profile can see.")
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


def _state(entry: ListedEntry) -> str:
    if entry.threats:
        return f"blocked: {', '.join(entry.threats)}"
    return entry.freshness.note or entry.freshness.state
