"""``catmem replay``: every revision as a file."""

from __future__ import annotations

from pathlib import Path

import click

from catmem.cli.options import format_option, open_with_store, root_option
from catmem.cli.output import emit, emit_json, printable, say, shown_path


@click.command(epilog="Examples: catmem replay --to /tmp/history   catmem replay trinity/user --to /tmp/history")
@click.argument("entity", required=False)
@click.option("--to", "folder", required=True, metavar="DIR", help="A folder that is new or empty.")
@root_option
@format_option
def command(entity: str | None, folder: str, root_folder: str | None, *, as_json: bool) -> None:
    """Build every revision of ENTITY, or of all files of the root, from the journal alone, and write each as a file.

    ENTITY is PROFILE/user or PROFILE/memory; PROFILE alone means PROFILE/user.
    """
    from catmem.service import history

    replayed = history.replay(open_with_store(root_folder), Path(folder), entity)
    if as_json:
        emit_json({"to": folder, "replayed": [each.to_dict() for each in replayed]})
        return
    emit("".join(printable(f"{shown_path(each.path)}\n") for each in replayed))
    say(f"{len(replayed)} revision{'' if len(replayed) == 1 else 's'} written")
