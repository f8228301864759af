"""``catmem export``: memory files for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catmem.cli.options import open_to_read, root_option, target_option
from catmem.cli.output import emit_json, emit_text, print_unreadable, printable, say, shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.errors import CatmemError
    from catmem.service.exporting import Exported, Form


def _remember_format(ctx: click.Context, _param: click.Parameter, value: Form) -> Form:
    ctx.meta["catmem.json"] = value == "json"
    return value


@click.command(
    epilog="Examples: catmem export --format json   catmem export -p trinity -t memory --format hermes > MEMORY.md   "
    "catmem export --format markdown -o handbook"
)
@click.option("-p", "--profile", "profiles", metavar="NAME", multiple=True, help="Whose memory. By default everyone's.")
@target_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "hermes", "markdown"]),
    required=True,
    is_eager=True,
    callback=_remember_format,
    help="Everything, typed; the flat file of Hermes Agent, with § lines; or headings and bullets for people.",
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    default="-",
    show_default=True,
    help="A folder, in which each profile gets its own; - is standard output.",
)
@click.option("--overwrite", is_flag=True, help="Replace files of DIR; never the memory files of the root.")
@root_option
def command(  # noqa: PLR0913 - one parameter an option
    profiles: tuple[str, ...],
    target: str | None,
    form: Form,
    output: str,
    root_folder: str | None,
    *,
    overwrite: bool,
) -> None:
    """Write the memory files of profiles in a form that other programs read.

    An export is for people: it holds whole files, categories that the profile does not see included. What the form has
    no place for is said. The flat file of Hermes Agent goes to standard output one at a time (-p and -t).

    Exit status 2 if, without -p, a profile is not right; the files of all others are written.
    """
    if overwrite and output == "-":
        raise click.UsageError("--overwrite is for the files of a folder: name it with -o.")
    from catmem.service.exporting import export, write_export
    from catmem.service.profiles import entities_of_each

    workspace = open_to_read(root_folder)
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
            say(printable(f"wrote {shown_path(Path(output).absolute() / name)}"))
    for each in made:
        if form != "json" and printable(each.text) != each.text:
            name = f"{each.profile}/{each.target}"
            say(f"{name}: characters that a terminal acts on are kept as they are; --format json escapes them")
        if each.lost:
            say(printable(f"{each.profile}/{each.target}: this form has no place for {' and '.join(each.lost)}"))
    sys.exit(print_unreadable(unreadable, as_json=form == "json"))


def _print(made: Sequence[Exported], form: Form) -> None:
    if form == "json":
        files = [{"profile": each.profile, "target": each.target, **each.document} for each in made]
        emit_json({"files": files})
    elif form == "hermes":
        if len(made) > 1:
            raise click.UsageError(f"These are {len(made)} files. Name one (-p and -t), or a folder (-o).")
        emit_text("".join(each.text for each in made))
    else:
        emit_text("\n".join(_named(each, len(made)) for each in made))


def _named(each: Exported, count: int) -> str:
    return each.text if count == 1 else f"# {each.profile}: {each.target}\n\n{each.text}"
