"""Options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from catmem.policy.staleness import read_date

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from catmem.service.workspace import Workspace


def _day(ctx: click.Context, param: click.Parameter, value: str | None) -> date | None:
    if value is None:
        return None
    day = read_date(value)
    if day is None:
        message = f"{value!r} is not a day. Write it as YYYY-MM-DD, for example 2026-11-21."
        raise click.BadParameter(message, ctx=ctx, param=param)
    return day


def _remember_format(ctx: click.Context, _param: click.Parameter, value: str) -> bool:
    # Errors are printed outside the command; they follow its format.
    ctx.meta["catmem.json"] = value == "json"
    return value == "json"


root_option = click.option(
    "--root",
    "root_folder",
    type=click.Path(file_okay=False, exists=True),
    metavar="DIR",
    help="The root folder. By default the nearest folder with a catmem.yaml, from here upward.",
)
format_option = click.option(
    "--format",
    "as_json",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    is_eager=True,
    callback=_remember_format,
    help="Output for people, or for programs (fields: docs/cli.md).",
)
as_of_option = click.option(
    "--as-of", callback=_day, metavar="DATE", help="The day to judge dates by, YYYY-MM-DD. By default today."
)
target_option = click.option(
    "-t", "--target", type=click.Choice(["user", "memory"]), help="Only USER.md or only MEMORY.md."
)


def profile_option(*, required: bool) -> Callable[[Any], Any]:
    """``-p``/``--profile``: whose memory."""
    return click.option("-p", "--profile", required=required, metavar="NAME", help="The profile whose memory this is.")


def open_workspace(root_folder: str | None) -> Workspace:
    """The workspace of ``--root``, or the one that the working folder lies in."""
    from catmem.service.workspace import Workspace

    return Workspace.open(".") if root_folder is None else Workspace.open(root_folder, search=False)
