"""``catmem remove``: an entry that goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from catmem.cli.options import how_options, narrow_option, open_with_store, text_argument, whose_options
from catmem.cli.output import show_written

if TYPE_CHECKING:
    from catmem.service.writing.written import How


@click.command(epilog="Examples: catmem remove -p trinity 'Book travel to cost centre'")
@text_argument("old", "OLD")
@whose_options
@narrow_option
@how_options
def command(  # noqa: PLR0913 - one parameter an option
    old: str,
    profile: str,
    *,
    target: str,
    category: str | None,
    root_folder: str | None,
    as_json: bool,
    **how: Unpack[How],
) -> None:
    """Remove the entry that holds OLD: a piece of its text that no other entry holds, its id, or - for stdin.

    It stays in the history: 'catmem restore' brings it back, and 'catmem purge' is for what must be forgotten.
    """
    workspace = open_with_store(root_folder)
    written = workspace.remove(profile, old, target=target, category=category, **how)
    show_written(written, "removed from", how, as_json=as_json)
