"""``catmem move``: an entry into another category."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from catmem.cli.options import how_options, open_with_store, text_argument, whose_options
from catmem.cli.output import show_written

if TYPE_CHECKING:
    from catmem.service.writing.written import How


@click.command(epilog="Examples: catmem move -p trinity 'Silence is not approval' -c workflow-rules-finance")
@text_argument("old", "OLD")
@whose_options
@click.option("-c", "--category", required=True, metavar="SLUG", help="Where it goes.")
@click.option("--from", "source", metavar="SLUG", help="Look for the entry in this category only.")
@how_options
def command(  # noqa: PLR0913 - one parameter an option
    old: str,
    profile: str,
    *,
    target: str,
    category: str,
    source: str | None,
    root_folder: str | None,
    as_json: bool,
    **how: Unpack[How],
) -> None:
    """Put the entry that holds OLD into another category of the same file, with its tags.

    OLD is a piece of its text that no other entry holds, its id, or - for stdin.
    """
    workspace = open_with_store(root_folder)
    written = workspace.move(profile, old, category, target=target, category=source, **how)
    show_written(written, "moved to", how, as_json=as_json)
