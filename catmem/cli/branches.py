"""``catmem branches``: what was written on an older revision, and is kept beside the head."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click

from catmem import clock
from catmem.cli.options import format_option, open_with_store, root_option
from catmem.cli.output import columns, emit, emit_json, print_unreadable, printable, say
from catmem.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.errors import CatmemError
    from catmem.service.merging.branches import Branch

_HOUR = 3_600
_DAY = 24 * _HOUR
"""In seconds."""


@click.command(epilog="Examples: catmem branches   catmem branches trinity/user --format json")
@click.argument("entity", metavar="[ENTITY]", required=False)
@root_option
@format_option
def command(entity: str | None, root_folder: str | None, *, as_json: bool) -> None:
    """List the branches of ENTITY, or of all files, that are not merged yet: name, origin, who, age, what, outlook.

    A branch is a write that was made on an older revision (--on-stale branch, or on_stale in catmem.yaml). What it says
    is not in the file until 'catmem merge' brings the two together. ENTITY is PROFILE/user or PROFILE/memory; PROFILE
    alone means PROFILE/user.
    """
    from catmem.service.merging.branches import branches_of_all

    workspace = open_with_store(root_folder)
    found: Sequence[Branch]
    unreadable: Sequence[CatmemError] = ()
    if entity is None:
        found, unreadable = branches_of_all(workspace)
    else:
        found = workspace.branches(entity)
    if as_json:
        emit_json({"branches": [branch.to_dict() for branch in found]})
    else:
        _show(found)
    sys.exit(print_unreadable(unreadable, as_json=as_json))


def _show(found: Sequence[Branch]) -> None:
    now = clock.now()
    emit(columns([_row(branch, now) for branch in found]))
    if found:
        example = f"catmem merge {found[0].entity}"
        say(printable(f"'{example} --dry-run' shows what a merge would do, '{example}' does it."))
    else:
        say("No branch is left to merge.")


def _row(branch: Branch, now: datetime) -> tuple[str, ...]:
    origin = f"from {', '.join(branch.parents)}" if branch.parents else "from nothing"
    entries = "" if branch.entries is None else counted(branch.entries, "entry")
    age = _age(branch.timestamp, now)
    return branch.entity, branch.revision, origin, printable(branch.agent), age, branch.op, entries, _outlook(branch)


def _outlook(branch: Branch) -> str:
    return {
        "merges": "merges by itself",
        "conflicts": counted(branch.conflicts or 0, "conflict"),
        "nothing new": "nothing new: the file says it too",
        "unreadable": "cannot be merged: it, or the file, holds what no tool wrote",
    }[branch.state]


def _age(timestamp: str, now: datetime) -> str:
    """How long ago that was, in hours or days; clocks may differ, so what lies ahead is new."""
    seconds = int((now - datetime.fromisoformat(timestamp)).total_seconds())
    if seconds < _HOUR:
        return "< 1 h"
    return f"{seconds // _HOUR} h" if seconds < _DAY else f"{seconds // _DAY} d"
