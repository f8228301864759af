"""``catmem replay``: heads and revisions as files, from the log of revisions alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from catmem.cli.options import format_option, open_with_store, root_option
from catmem.cli.output import emit, emit_json, fault_lines, print_unreadable, printable, say, shown_path
from catmem.text import counted

if TYPE_CHECKING:
    from catmem.service.auditing.rebuilding import Replay

_DAMAGE = 4


@click.command(
    epilog="Examples: catmem replay --to /tmp/history   catmem replay trinity/user --to /tmp/history   "
    "catmem replay --heads --to /tmp/heads"
)
@click.argument("entity", required=False)
@click.option("--to", "folder", required=True, metavar="DIR", help="A folder that is new or empty.")
@click.option("--heads", is_flag=True, help="Write the heads only, and not every revision.")
@root_option
@format_option
def command(entity: str | None, folder: str, root_folder: str | None, *, heads: bool, as_json: bool) -> None:
    """Build every revision of ENTITY, or of all files of the root, from the journal alone, and write each as a file.

    Of each file the head is DIR/PROFILE/USER.md, and the revisions are DIR/PROFILE/USER/1.md and so on. What was built
    is compared with what the store has: revision, digest and bytes of the head, and the branches; and the history is
    looked over, as 'catmem fsck' does. ENTITY is PROFILE/user or PROFILE/memory; PROFILE alone means PROFILE/user.

    Exit status 4 if the two do not agree, or the history is damaged; 2 if a profile is not right: its files were passed
    over.
    """
    from catmem.service.auditing.rebuilding import replay

    done = replay(open_with_store(root_folder), Path(folder), entity, heads_only=heads)
    if as_json:
        emit_json({"to": folder, **done.to_dict()})
    else:
        paths = [*(each.path for each in done.revisions), *(each.path for each in done.heads)]
        emit("".join(printable(f"{shown_path(path)}\n") for path in paths))
    _tell(done, as_json=as_json)
    status = print_unreadable(done.unreadable, as_json=as_json)
    sys.exit(_DAMAGE if done.damaged else status)


def _tell(done: Replay, *, as_json: bool) -> None:
    for each in done.mismatches:
        say(printable(f"mismatch: {each.entity}: {each.what}: rebuilt {each.rebuilt}, in the store {each.found}"))
    for line in fault_lines(done.faults):
        say(line.rstrip("\n"))
    if as_json:
        return
    for head in done.heads:
        if head.unrecorded:
            said = "was changed by other means since, which the history does not hold yet"
            say(printable(f"note: {head.entity} {said}; it was rebuilt as it was at revision {head.revision}"))
    if done.revisions:
        say(f"{counted(len(done.revisions), 'revision')} written")
    if not done.heads:
        say("No revision is recorded yet.")
    elif done.mismatches:
        say("What was rebuilt is not what the store has. 'catmem fsck' looks for the damage.")
    elif done.damaged:
        say("The history is damaged, so what was rebuilt may not be all that was written. 'catmem fsck' says more.")
    else:
        say(f"{counted(len(done.heads), 'head')} rebuilt, byte for byte what the store recorded")
