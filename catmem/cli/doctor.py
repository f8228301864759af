"""``catmem doctor``: what the folders of a root give the store."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from catmem.cli.options import format_option, open_with_store, root_option
from catmem.cli.output import columns, emit, emit_json, print_unreadable, printable, shown_path
from catmem.errors import CatmemError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.policy.config import Config
    from catmem.store.contract import FolderReport


@click.command(epilog="Examples: catmem doctor   catmem doctor --format json")
@root_option
@format_option
def command(root_folder: str | None, *, as_json: bool) -> None:
    """Try what the store makes use of in the folder of each profile, and say what is weaker where something is missing.

    Nothing is left behind. Exit status 2 if a profile is not right, so that nothing is known of its folder; all others
    are there.
    """
    from catmem.service import upkeep

    workspace = open_with_store(root_folder, looks_over=True)
    report = upkeep.doctor(workspace)
    tokens = _tokens(workspace.config)
    if as_json:
        emit_json({**report.to_dict(), "tokens": tokens})
    else:
        emit(printable(f"catmem {report.catmem}, Python {report.python}, {report.platform}\nroot {report.root}\n"))
        emit(printable(f"tokens: {_of_tokens(tokens)}\n"))
        for folder in report.folders:
            emit("".join(_lines(folder)))
    sys.exit(print_unreadable(report.unreadable, as_json=as_json))


def _tokens(config: Config) -> dict[str, Any]:
    """Where the tokens of callers are, how many, why they are wanted, and why they cannot be read."""
    from catmem.server.tokens import read_tokens, tokens_place, why_wanted

    said: dict[str, Any] = {"path": None, "count": None, "wanted": None, "note": None}
    try:
        path = tokens_place(config)
        said |= {"path": str(path), "wanted": why_wanted(config, path)}
        said["count"] = len(read_tokens(path))
    except CatmemError as error:
        said["note"] = error.message
    return said


def _of_tokens(said: dict[str, Any]) -> str:
    if said["note"] is not None:
        return f"{said['note']}; 'catmem serve' will not start"
    if said["count"]:
        return f"{said['count']} in {said['path']}"
    if said["wanted"] is not None:
        return f"none in {said['path']}, and this root wants some ({said['wanted']}): 'catmem serve' will not start"
    return "none: 'catmem serve' takes whoever connects from this machine for a person"


def _lines(folder: FolderReport) -> Iterator[str]:
    history = "no history yet" if folder.records is None else f"history of {folder.records:,} records"
    kind = f"{folder.file_system}, " if folder.file_system else ""
    yield printable(f"\n{shown_path(folder.path)}: {kind}{history}\n")
    if folder.note:
        yield printable(f"  {folder.note}\n")
    yield columns([("", "yes" if each.there else "no", each.name, each.means) for each in folder.features])
