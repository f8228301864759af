"""``catmem anchor``: where the history stands, to be kept elsewhere."""

from __future__ import annotations

import json

import click

from catmem.cli.options import format_option, open_with_store, root_option, text_option
from catmem.cli.output import emit, emit_json, fault_lines

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
    elsewhere reveals that a history was cut short or put back. Exit status 4 if --check finds that, else 0.
    """
    from catmem.service import upkeep

    workspace = open_with_store(root_folder)
    if check is None:
        anchors = [anchor.to_dict() for anchor in upkeep.anchor(workspace)]
        if as_json:
            emit_json({"anchors": anchors})
        else:
            emit("".join(f"{json.dumps(anchor, ensure_ascii=False)}\n" for anchor in anchors))
        return
    faults = upkeep.check_anchor(workspace, check)
    if as_json:
        emit_json({"held": not faults, "faults": [fault.to_dict() for fault in faults]})
    else:
        emit("".join(fault_lines(faults)) or "the histories hold every anchor\n")
    raise SystemExit(_DAMAGED if faults else 0)
