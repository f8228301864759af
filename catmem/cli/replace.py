"""``catmem replace``: other words or tags for an entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from catmem.cli.options import how_options, narrow_option, open_with_store, tag_option, text_argument, whose_options
from catmem.cli.output import show_written

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catmem.service.writing.written import How


@click.command(
    epilog="Examples: catmem replace -p trinity 'Vendor is Acme' 'Vendor is Zenith Ltd.'   "
    "catmem replace -p trinity 'Vendor is' --tag domain=finance --tag owner="
)
@text_argument("old", "OLD")
@text_argument("new", "[NEW]", required=False)
@whose_options
@narrow_option
@tag_option("A tag to set; KEY=[a, b] for a list, KEY= to take it away. Can be given several times; other tags stay.")
@how_options
def command(  # noqa: PLR0913 - one parameter an option
    old: str,
    new: str | None,
    profile: str,
    *,
    target: str,
    category: str | None,
    tags: Mapping[str, str | list[str] | None] | None,
    root_folder: str | None,
    as_json: bool,
    **how: Unpack[How],
) -> None:
    """Give the entry that holds OLD the words of NEW. Its tags stay; without NEW only tags change.

    OLD is a piece of its text that no other entry holds, or its id. One of OLD and NEW may be - for stdin.
    """
    if new is None and tags is None:
        raise click.UsageError("Give the new words, or tags with --tag, or both.")
    workspace = open_with_store(root_folder)
    written = workspace.replace(profile, old, new, target=target, category=category, tags=tags, **how)
    show_written(written, "replaced in", how, as_json=as_json)
