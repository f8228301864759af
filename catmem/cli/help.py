"""The operation ``help`` of the command line: the commands by group, or the help of one."""

from typing import Annotated

import click

from catmem.cli.output import emit
from catmem.ops.table import Call, P, operation


@operation("help", rooted=False, formats=False, examples=("catmem help", "catmem help --all", "catmem help sort"))
def help_(
    _: Call,
    *,
    command: Annotated[str | None, P(argument=True)] = None,
    everything: Annotated[bool, P("With the commands that few people need.", "--all")] = False,
) -> None:
    """Print the commands by group; with COMMAND what 'catmem COMMAND --help' prints."""
    top = click.get_current_context().find_root()
    if command is not None and isinstance(top.command, click.Group):
        _name, found, _rest = top.command.resolve_command(top, [command])
        top = click.Context(found or top.command, info_name=command, parent=top)
    top.obj = everything
    emit(f"{top.get_help()}\n")
