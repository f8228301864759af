"""The commands' part of docs/cli.md, made from the commands themselves.

The text of the page before and after that part stays.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from typing import TYPE_CHECKING

import click

from catmem.cli.interface import Command
from catmem.commands import GROUPS
from tests.docs.pages import ROOT, made_anew

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "docs" / "cli.md"
BEGIN = "<!-- From here on made from the commands by `make docs`; what to change is their help texts. -->\n"
END = "<!-- Made until here. -->\n"
GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}
SHORT = {"Look after the store", "Many writers and control"}
"""The groups of commands that few people need: of each option the first sentence."""
SHARED_BY = 3


def command_line() -> click.Group:
    """The command line's one group."""
    import catmem.cli.main as module

    if isinstance(module.main, click.Group):
        return module.main
    (group,) = (value for value in vars(module).values() if isinstance(value, click.Group))
    return group


def page() -> str:
    """The whole page, with the commands' part made anew."""
    return made_anew(PAGE, BEGIN, render(command_line()), END)


def render(group: click.Group) -> str:
    """The commands' part of the page, as Markdown."""
    commands = [("catmem", group), *subcommands(group, "catmem")]
    shared = shared_options([command for _, command in commands])
    parts = ["## Options that many commands have\n", shared_list(commands, shared)]
    for path, command in commands[1:]:
        parts += section(command, path, shared)
    return "\n".join(parts)


def shared_options(commands: list[click.Command]) -> Counter[str]:
    """The lines of the options that several commands have word for word, each with how many do."""
    lines = Counter(line(option) for command in commands for option in options(command))
    return Counter({each: count for each, count in lines.items() if count >= SHARED_BY})


def shared_list(commands: list[tuple[str, click.Command]], shared: Counter[str]) -> str:
    """The shared options; of one that nearly all commands have, the commands without it."""
    rows = ["- `--help`: Show the help. All commands have it."]
    for each, count in shared.most_common():
        if count < len(commands) / 2:
            rows.append(each)
            continue
        holders = [path for path, command in commands if each in map(line, options(command))]
        without = ", ".join(f"`{path.removeprefix('catmem ')}`" for path, _ in commands[1:] if path not in holders)
        rows.append(f"{each} All commands have it{f' but {without}' if without else ''}.")
    rows += [f"{own} `catmem` alone has it." for own in map(line, options(commands[0][1])) if own not in shared]
    return "\n".join(rows) + "\n"


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


def section(command: click.Command, path: str, shared: Counter[str]) -> list[str]:
    """What the page says of one command: its first paragraph, usage and examples, and the options that are its own."""
    group = GROUP_OF.get(path.split()[1], "")
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc((command.help or "").split("\f")[0]))
    examples = command.examples if isinstance(command, Command) else ()
    fence = [usage(command, path), *[each for each in examples if each not in {path, f"{path} --format json"}][:1]]
    lines = [f"## `{path}`\n", f"{paragraphs[0]}\n", "```text\n" + "\n".join(fence) + "\n```\n"]
    if group == "Every day":
        lines += [f"{each}\n" for each in paragraphs[1:] if not each.startswith("\b")]
    said = [line(option) for option in options(command)]
    if own := [each for each in said if each not in shared]:
        lines.append("\n".join(first_sentence(each) if group in SHORT else each for each in own) + "\n")
    most = max(shared.values())
    if also := [each for each in said if shared[each] and shared[each] < most / 2]:
        lines.append(f"Also {', '.join(each.split()[1].strip(',:') for each in also)}.\n")
    return lines


def options(command: click.Command) -> list[click.Option]:
    """The options that a user may know of, but `--help`."""
    return [each for each in command.params if isinstance(each, click.Option) and not each.hidden]


def usage(command: click.Command, path: str) -> str:
    """How to call it: its name and its arguments, on one line whatever the terminal is."""
    context = click.Context(command, info_name=path)
    return " ".join([path, *(piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]")])


def line(option: click.Option) -> str:
    """An option's line: its names with the value it takes, and its help with the choices."""
    names = ", ".join(f"`{name}`" for name in option.opts)
    if option.secondary_opts:
        names += " / " + ", ".join(f"`{name}`" for name in option.secondary_opts)
    takes_value = not option.is_flag and not option.count
    if takes_value and isinstance(option.type, click.Choice):
        names += f" `{'|'.join(option.type.choices)}`"
    elif takes_value:
        names += f" `{option.metavar or option.type.name.upper()}`"
    said = " ".join((option.help or "").split()).replace(" (fields: docs/cli.md)", "")
    if isinstance(option.default, str | int) and not isinstance(option.default, bool) and takes_value:
        said += f" Default: `{option.default}`."
    if option.required:
        said += " Required."
    said = re.sub(r"^The same as [A-Z]+\.$", "The same as the first argument.", said.strip())
    return f"- {names}: {said}"


def first_sentence(text: str) -> str:
    """What a line says first."""
    return re.split(r"(?<=\w[.])\s(?=[A-Z])", text, maxsplit=1)[0]
