"""What ``catmem init`` asks: what there is already, and who is the first specialist."""

from __future__ import annotations

from pathlib import Path

import click

from catmem.cli.output import say, say_all
from catmem.names import FILE_NAMES
from catmem.registry import registry


def _what_there_is(folder: Path) -> tuple[list[str], list[str], bool, str | None]:
    """Ask for the files to start with, specialists, whether it is Hermes Agent, and the program to import from."""
    others = [program for program in registry().importers if program != "hermes"]
    choices = ("nothing yet", "flat USER.md and MEMORY.md", "Hermes Agent", f"another program ({', '.join(others)})")
    say("What do you have?")
    say_all(f"  {number}  {choice}" for number, choice in enumerate(choices, 1))
    places = (each for each in (Path(), folder) if any((each / name).is_file() for name in FILE_NAMES.values()))
    flat = next(places, None)
    answer = click.prompt("Number", type=click.IntRange(1, len(choices)), default=2 if flat else 1, err=True)
    files, source = [], None
    if answer == 2:  # noqa: PLR2004 - the number of the choice above
        files = [click.prompt("The files, or their folder", default=None if flat is None else str(flat), err=True)]
    elif answer == 3:  # noqa: PLR2004
        return [], [], True, None
    elif answer == len(choices):
        source = click.prompt("Which", type=click.Choice(others), err=True)
    name = click.prompt("The first specialist, such as coder (Enter: none)", default="", show_default=False, err=True)
    return files, [name] if name else [], False, source


DIALOGUE = _what_there_is
