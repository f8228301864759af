"""The commands' part of docs/cli.md, made from the commands themselves.

`make docs` writes the page anew (its text before and after that part stays), and test_reference.py compares it.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import click

from catmem.cli.command import Command
from tests.docs.pages import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "docs" / "cli.md"
BEGIN = "<!-- From here on made from the commands by `make docs`; what to change is their help texts. -->\n"
END = "<!-- Made until here. -->\n"


def command_line() -> click.Group:
    """The command line's one group."""
    import catmem.cli.main as module

    if isinstance(module.main, click.Group):
        return module.main
    (group,) = (value for value in vars(module).values() if isinstance(value, click.Group))
    return group


def page(group: click.Group) -> str:
    """The whole page, with the commands' part made anew. ValueError if the page has lost its marks."""
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{PAGE.name} needs these two lines, between which the commands go:\n{BEGIN}{END}")
    return f"{before}{BEGIN}\n{render(group)}\n{END}{after}"


def render(group: click.Group) -> str:
    """The commands' part of the page, as Markdown."""
    top = click.Context(group, info_name="catmem")
    parts = section(group, "catmem", top)
    for path, command in subcommands(group, "catmem"):
        parts += section(command, path, click.Context(command, info_name=path, parent=top))
    return "\n".join(parts)


def subcommands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    """Every command below the group that is not hidden, with its full name, groups before what they hold."""
    context = click.Context(group, info_name=path)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from subcommands(command, f"{path} {name}")


def section(command: click.Command, path: str, context: click.Context) -> list[str]:
    """What the page says of one command: usage, help with the examples behind its first paragraph, and its options."""
    first, *rest = re.split(r"\n\s*\n", inspect.cleandoc((command.help or "").split("\f")[0]))
    lines = [f"## `{path}`\n", f"```text\n{usage(command, path, context)}\n```\n", paragraph(first)]
    if isinstance(command, Command):
        lines.append(examples(command))
    lines += map(paragraph, rest)
    rows = [row(option) for option in command.params if isinstance(option, click.Option) and not option.hidden]
    names = ", ".join(f"`{name}`" for name in context.help_option_names)
    lines.append("\n".join(["| option | |", "|---|---|", *rows, f"| {names} | Show the help. |"]) + "\n")
    if command.epilog:
        lines.append(f"{command.epilog}\n")
    return lines


def usage(command: click.Command, path: str, context: click.Context) -> str:
    """The line that says how to call it, on one line whatever the terminal is."""
    return " ".join([path, *command.collect_usage_pieces(context)])


def paragraph(text: str) -> str:
    """One paragraph of a help text: what click keeps as it stands (marked by \\b) is an example."""
    if text.startswith("\b"):
        return f"```text\n{inspect.cleandoc(text.lstrip(chr(8)).lstrip(chr(10)))}\n```\n"
    return f"{text}\n"


def examples(command: Command) -> str:
    """The command lines to copy."""
    lines = "\n".join(command.examples)
    return f"Example{'s' * (len(command.examples) > 1)}:\n\n```text\n{lines}\n```\n"


def row(option: click.Option) -> str:
    """An option's row: its names with the value it takes, and its help with the choices."""
    names = ", ".join(f"`{name}`" for name in option.opts)
    if option.secondary_opts:
        names += " / " + ", ".join(f"`{name}`" for name in option.secondary_opts)
    takes_value = not option.is_flag and not option.count
    if takes_value and isinstance(option.type, click.Choice):
        names += " " + " \\| ".join(f"`{choice}`" for choice in option.type.choices)
    elif takes_value:
        names += f" `{option.metavar or option.type.name.upper()}`"
    said = " ".join((option.help or "").split()).replace("|", "\\|")
    if isinstance(option.default, str | int) and not isinstance(option.default, bool) and takes_value:
        said += f" Default: `{option.default}`."
    if option.required:
        said += " Required."
    return f"| {names} | {said.strip()} |"


if __name__ == "__main__":
    PAGE.write_text(page(command_line()), encoding="utf-8")
