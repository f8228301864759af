"""``catmem init``: make a root."""

from __future__ import annotations

import click

from catmem.cli.options import format_option
from catmem.cli.output import emit, emit_json, printable, shown_path


@click.command(epilog="Examples: catmem init   catmem init --example demo")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(file_okay=False))
@click.option("--example", is_flag=True, help="Write the worked example: an orchestrator and its specialists.")
@format_option
def command(folder: str, *, example: bool, as_json: bool) -> None:
    """Make DIR (by default this folder) a root: a catmem.yaml, profiles, a first USER.md and a .gitignore.

    No file that exists is changed, but for lines added to .gitignore; with other content in the way nothing is written.
    """
    from catmem.service.setup import make_root

    made = make_root(folder, example=example)
    if as_json:
        emit_json({"root": str(made.root), "written": list(made.written), "kept": list(made.kept)})
        return
    where = printable(shown_path(made.root.absolute()))
    emit("".join(f"wrote {where}/{name}\n" for name in made.written) if made.written else "nothing to do\n")
    place = "" if where == "." else f"cd {where} && "
    if example and made.written:
        emit(f"\nNext: {place}catmem prompt trinity --explain\n")
    elif made.written:
        emit(f"\nNext: write what you know into {where}/homes/orchestrator/USER.md, a § line between entries, then\n")
        emit(f"      {place}catmem prompt orchestrator\n")
