"""``catmem verify``: an entry that still holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from catmem.cli.options import day_option, how_options, narrow_option, open_with_store, text_argument, whose_options
from catmem.cli.written import show_written

if TYPE_CHECKING:
    from datetime import date

    from catmem.service.writing import How


@click.command(
    epilog="Examples: catmem verify -p trinity 'Vendor is Acme'   catmem verify -p neo --as-of 2026-11-02 uv"
)
@text_argument("old", "OLD")
@whose_options
@narrow_option
@day_option(
    "The day on which it was found to hold, YYYY-MM-DD: not before its last verification and not after today, which is "
    "the default."
)
@how_options
def command(  # noqa: PLR0913 - one parameter an option
    old: str,
    profile: str,
    *,
    target: str,
    category: str | None,
    as_of: date | None,
    root_folder: str | None,
    as_json: bool,
    **how: Unpack[How],
) -> None:
    """Say that the entry that holds OLD still holds: its tag verified_date becomes the day.

    OLD is a piece of its text that no other entry holds, its id, or - for stdin.
    """
    workspace = open_with_store(root_folder)
    written = workspace.verify(profile, old, target=target, category=category, as_of=as_of, **how)
    show_written(written, "verified in", how, as_json=as_json)
