"""The commands' part of docs/cli.md, made from the commands themselves.

The text of the page before and after that part stays.
"""

import inspect
import re
from collections import Counter
from collections.abc import Iterator

import click

from tests.docs.pages import ROOT, made_anew

PAGE = ROOT / "docs" / "cli.md"
BEGIN = "<!-- From here on made from the commands by `make docs`; what to change is their help texts. -->\n"
END = "<!-- Made until here. -->\n"
SHARED_BY = 3
FAMILIES = {
    "Options of a write": ("add", "replace", "remove", "move", "verify"),
    "Options for homes of Hermes Agent": ("hermes install", "hermes status", "hermes uninstall"),
}
"""Commands that have most of their options in common, by the heading under which these stand."""


def command_line() -> click.Group:
    """The command line's one group."""
    from catmem.cli.main import group

    return group


def page() -> str:
    """The whole page, with the commands' part made anew."""
    return made_anew(PAGE, BEGIN, render(command_line()), END)


def render(group: click.Group) -> str:
    """The commands' part of the page, as Markdown."""
    commands = dict(subcommands(group, "catmem"))
    lines = {path: [line(option) for option in options(command)] for path, command in commands.items()}
    every = Counter(each for said in lines.values() for each in said)
    nearly_all = [each for each, count in every.items() if count >= len(lines) / 2]
    parts = ["## Options that many commands have\n"]
    rows = ["Nearly all commands have the first three.\n", "- `--help`: Show the help.", *nearly_all]
    also: dict[str, list[str]] = {path: [] for path in lines}
    left = {path: [each for each in said if each not in nearly_all] for path, said in lines.items()}
    families: dict[str, list[str]] = {}
    meanings: dict[str, str] = {}
    for heading, names in FAMILIES.items():
        members = [f"catmem {name}" for name in names]
        common = [each for each in left[members[0]] if all(each in left[path] for path in members)]
        families[heading] = common
        meanings |= {name(each): first_sentence(each) for each in common}
        for path in members:
            left[path] = [each for each in left[path] if each not in common]
            anchor = heading.lower().replace(" ", "-")
            also[path].append(f"[{heading.lower().replace('hermes agent', 'Hermes Agent')}](#{anchor})")
    shared = shared_options(left)
    meanings |= {name(each): first_sentence(each) for each in shared}
    rows += [*shared, *(f"{own} `catmem` alone has it." for own in map(line, options(group)))]
    parts.append("\n".join(rows) + "\n")
    for heading, common in families.items():
        said = [each for each in common if each in shared]
        parts += [f"### {heading}\n", "\n".join(each for each in common if each not in said) + "\n"]
        parts += [f"Also {', '.join(map(name, said))}.\n"] if said else []
    for path, command in commands.items():
        is_shared = [meanings.get(name(each)) == first_sentence(each) for each in left[path]]
        also[path] += [name(each) for each, said in zip(left[path], is_shared, strict=True) if said]
        own = [each for each, said in zip(left[path], is_shared, strict=True) if not said]
        parts += section(command, path, own, also[path])
    return "\n".join(parts)


def shared_options(lines: dict[str, list[str]]) -> list[str]:
    """A line for each option that several commands have and that says the same first: its longest, most common first.

    An option that says two things to several commands stands here with the more common one.
    """
    every = sorted((each for said in lines.values() for each in said), key=len, reverse=True)
    shared: dict[str, str] = {}
    for first, count in Counter(map(first_sentence, every)).most_common():
        if count >= SHARED_BY:
            shared.setdefault(name(first), next(each for each in every if first_sentence(each) == first))
    return list(shared.values())


def name(line: str) -> str:
    """The first name of the option that a line is about."""
    return line.split()[1].strip(",:")


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


def section(command: click.Command, path: str, own: list[str], also: list[str]) -> list[str]:
    """What the page says of one command: how to call it, its first paragraph, its own options, and which others.

    Of an option it has the first sentence; the help has the rest, and the examples.
    """
    first, *_ = re.split(r"\n\s*\n", inspect.cleandoc((command.help or "").split("\f")[0]))
    called = path if isinstance(command, click.Group) else usage(command, path)
    lines = [f"## `{called}`\n", f"{first}\n"]
    if own:
        lines.append("\n".join(map(first_sentence, own)) + "\n")
    if also:
        lines.append(f"Also {', '.join(also)}.\n")
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
    said = re.sub(r"^The same as [A-Z]+\.$", "The profile whose memory this is.", said.strip())
    return f"- {names}: {said}"


def first_sentence(text: str) -> str:
    """What a line says first."""
    return re.split(r"(?<=\w[.])\s(?=[A-Z])", text, maxsplit=1)[0]
