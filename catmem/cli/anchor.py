"""``catmem anchor``: where the history stands, to be kept elsewhere."""

from __future__ import annotations

import click

from catmem.cli.options import format_option, open_with_store, root_option, text_option
from catmem.cli.output import emit, emit_json, fault_lines, print_unreadable, printable_json

_DAMAGED = 4


@click.command(epilog="Examples: catmem anchor > anchors.jsonl   catmem anchor --check anchors.jsonl")
@text_option(
    "--check", metavar="FILE", said="Say whether the histories still hold what FILE, from an earlier run, says; or -."
)
@root_option
@format_option
def command(check: str | None, root_folder: str | None, *, as_json: bool) -> None:
    """Print where the history of each folder ends, one JSON object a line.

    Each record of a history vouches for those before it, and none for the last ones: only an anchor that is kept
    elsewhere reveals that a history was cut short or put back. Exit status 4 if --check finds that, 2 if a profile is
    not right, so that nobody knows where its history is, else 0.
    """
    from catmem.service import upkeep

    workspace = open_with_store(root_folder)
    if check is None:
        found = upkeep.anchors(workspace)
        anchors = [anchor.to_dict() for anchor in found.ends]
        if as_json:
            emit_json({"anchors": anchors, "unreadable": [error.to_dict() for error in found.unreadable]})
        else:
            emit("".join(f"{printable_json(anchor)}\n" for anchor in anchors))
        raise SystemExit(print_unreadable(found.unreadable, as_json=as_json))
    faults, unreadable = upkeep.check_anchors(workspace, check)
    if as_json:
        said = {"faults": [fault.to_dict() for fault in faults], "unreadable": [each.to_dict() for each in unreadable]}
        emit_json({"held": not faults, **said})
    else:
        emit("".join(fault_lines(faults)) or "the histories hold every anchor\n")
    status = print_unreadable(unreadable, as_json=as_json)
    # What no history that could be looked at holds may stand in one of the others: that is no finding yet.
    lost = [fault for fault in faults if fault.code != upkeep.NOT_CHECKED]
    raise SystemExit(_DAMAGED if lost else status)
