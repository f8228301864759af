"""What ``catmem init`` asks: what there is already."""

from __future__ import annotations

from pathlib import Path

import click

from catmem.cli.output import say, say_all
from catmem.names import FILE_NAMES
from catmem.registry import registry


def _what_there_is(folder: Path) -> tuple[list[str], bool, str | None]:
    """Ask what there is: the files to start with, whether it is Hermes Agent, and the program to import from."""
    others = [program for program in registry().importers if program != "hermes"]
    choices = ("nothing yet", "flat USER.md and MEMORY.md", "Hermes Agent", f"another program ({', '.join(others)})")
    say("What do you have?")
    say_all(f"  {number}  {choice}" for number, choice in enumerate(choices, 1))
    places = (each for each in (Path(), folder) if any((each / name).is_file() for name in FILE_NAMES.values()))
    flat = next(places, None)
    answer = click.prompt("Number", type=click.IntRange(1, len(choices)), default=2 if flat else 1, err=True)
    if answer == 2:  # noqa: PLR2004 - the number of the choice above
        files = click.prompt("The files, or their folder", default=None if flat is None else str(flat), err=True)
        return [files], False, None
    if answer == len(choices):
        return [], False, click.prompt("Which", type=click.Choice(others), err=True)
    return [], answer == 3, None  # noqa: PLR2004


DIALOGUE = _what_there_is
