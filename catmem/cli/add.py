"""``catmem add``: a new entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from catmem.cli.options import day_option, how_options, open_with_store, tag_option, text_argument, whose_options
from catmem.cli.output import show_written

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from catmem.service.writing.written import How


@click.command(
    epilog="Examples: catmem add -p trinity -c workflow-rules-finance 'Vendor is Acme Ltd.'   "
    "catmem add -p trinity -c workflow-rules-finance --tag domain=finance - < fact.txt"
)
@text_argument("content", "TEXT")
@whose_options
@click.option(
    "-c",
    "--category",
    metavar="SLUG",
    help="Where it goes. By default the one category that the profile of --as may write; in a file without sections "
    "it needs none.",
)
@tag_option("A tag; KEY=[a, b] for a list. Can be given several times.")
@day_option("The day for its tag created, YYYY-MM-DD. By default today.")
@how_options
def command(  # noqa: PLR0913 - one parameter an option
    content: str,
    profile: str,
    *,
    target: str,
    category: str | None,
    tags: Mapping[str, str | list[str] | None] | None,
    as_of: date | None,
    root_folder: str | None,
    as_json: bool,
    **how: Unpack[How],
) -> None:
    """Add an entry with the words of TEXT, which may be - for stdin.

    The same words are not added to a category twice. A TEXT that begins with - goes behind -- or comes from stdin.
    """
    given = {key: value for key, value in (tags or {}).items() if value is not None}
    if len(given) != len(tags or {}):
        raise click.UsageError("--tag KEY= without a value takes a tag away, and a new entry has none yet.")
    workspace = open_with_store(root_folder)
    written = workspace.add(profile, content, target=target, category=category, tags=given or None, as_of=as_of, **how)
    show_written(written, "added to", how, as_json=as_json)
