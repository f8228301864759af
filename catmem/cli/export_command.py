"""``catmem export``: memory files for other programs, and snapshots."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catmem.cli.command import Command
from catmem.cli.options import (
    format_choice,
    open_to_read,
    root_option,
    target_option,
)
from catmem.cli.output import (
    emit_json,
    emit_text,
    print_unreadable,
    printable,
    say,
    shown_path,
)
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.errors import CatmemError
    from catmem.workspace.exporting import Exported, Form


@click.command(
    cls=Command,
    examples=(
        "catmem export --format json",
        "catmem export -p trinity -t memory --format hermes > MEMORY.md",
        "catmem export --format markdown -o handbook",
        "catmem export --snapshot before.json",
    ),
)
@click.option("-p", "--profile", "profiles", metavar="NAME", multiple=True, help="Whose memory. By default everyone's.")
@target_option
@format_choice(
    *("json", "hermes", "markdown"),
    said="Everything, typed; the flat file of Hermes Agent, with § lines; or headings and bullets for people. "
    "Needed, but for --snapshot.",
    default=None,
)
@click.option(
    "--snapshot",
    metavar="PATH",
    help="Write the rows of all entities, with their columns and a digest, to a file of its own, for 'catmem import "
    "--snapshot'. Leave out -p, -t, --format and -o.",
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    default="-",
    show_default=True,
    help="A folder, in which each profile gets its own; - is standard output.",
)
@click.option("--overwrite", is_flag=True, help="Replace files of DIR, or PATH; never the memory files of the root.")
@root_option
def export(  # noqa: PLR0913 - one parameter an option
    profiles: tuple[str, ...],
    target: str | None,
    form: Form | None,
    snapshot: str | None,
    output: str,
    *,
    overwrite: bool,
) -> None:
    """Write the memory files of profiles in a form that other programs read.

    An export is for people: it holds whole files, categories that the profile does not see included. What the form has
    no place for is said. The flat file of Hermes Agent goes to standard output one at a time (-p and -t).

    Exit status 2 if, without -p, a profile is not right; the files of all others are written.
    """
    from catmem.workspace.exporting import write_snapshot

    if snapshot is not None:
        if profiles or target is not None or form is not None or output != "-":
            raise click.UsageError("--snapshot takes all rows, to its PATH: leave out -p, -t, --format and -o.")
        count = write_snapshot(open_to_read(), Path(snapshot), overwrite=overwrite)
        say(f"wrote {shown_path(Path(snapshot).absolute())} ({counted(count, 'row')})")
    else:
        _export(profiles, target, form, output, overwrite=overwrite)


def _export(profiles: tuple[str, ...], target: str | None, form: Form | None, output: str, *, overwrite: bool) -> None:
    from catmem.workspace.exporting import export, write_export
    from catmem.workspace.root import entities_of_each

    if form is None:
        raise click.UsageError("Missing option '--format'. Choose from: json, hermes, markdown")
    if overwrite and output == "-":
        raise click.UsageError("--overwrite is for the files of a folder: name it with -o.")
    workspace = open_to_read()
    unreadable: Sequence[CatmemError] = ()
    if not profiles:
        entities = entities_of_each(workspace)
        profiles = tuple(dict.fromkeys(name.partition("/")[0] for name in entities.names))
        unreadable = entities.unreadable
    made = export(workspace, profiles, form, target)
    if output == "-":
        _print(made, form)
    else:
        for name in write_export(workspace, made, Path(output), overwrite=overwrite):
            say(f"wrote {shown_path(Path(output).absolute() / name)}")
    for each in made:
        if form != "json" and printable(each.text) != each.text:
            name = f"{each.profile}/{each.target}"
            say(f"{name}: characters that a terminal acts on are kept as they are; --format json escapes them")
        if each.lost:
            say(f"{each.profile}/{each.target}: this form has no place for {' and '.join(each.lost)}")
    sys.exit(print_unreadable(unreadable))


def _print(made: Sequence[Exported], form: Form) -> None:
    if form == "json":
        files = [{"profile": each.profile, "target": each.target, **each.document} for each in made]
        emit_json({"files": files})
    elif form == "hermes":
        if len(made) > 1:
            raise click.UsageError(f"These are {len(made)} files. Name one (-p and -t), or a folder (-o).")
        emit_text("".join(each.text for each in made))
    else:
        names = [f"# {each.profile}: {each.target}\n\n" if len(made) > 1 else "" for each in made]
        emit_text("\n".join(f"{name}{each.text}" for name, each in zip(names, made, strict=True)))
