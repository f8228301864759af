"""``catmem help``: the commands by group, or the help of one."""

from __future__ import annotations

import click

from catmem.cli.command import Command
from catmem.cli.output import emit


@click.command(cls=Command, examples=("catmem help", "catmem help --all", "catmem help sort"))
@click.argument("command", required=False)
@click.option("--all", "everything", is_flag=True, help="With the commands that few people need.")
@click.pass_context
def help_(ctx: click.Context, command: str | None, *, everything: bool) -> None:
    """Print the commands by group; with COMMAND what 'catmem COMMAND --help' prints."""
    top = ctx.find_root()
    if command is not None and isinstance(top.command, click.Group):
        _, found, _ = top.command.resolve_command(top, [command])
        top = click.Context(found or top.command, info_name=command, parent=top)
    top.obj = everything
    emit(f"{top.get_help()}\n")
