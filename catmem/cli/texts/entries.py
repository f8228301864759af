"""Writes of entries, as people read them."""

from __future__ import annotations

from typing import cast

from catmem.cli.output import emit, first_line, printable, say, say_all, show_waiting, show_written
from catmem.ops.entries import Verified
from catmem.ops.table import Call
from catmem.text import counted
from catmem.writing.written import How, Written

_WIDTH = 72
_DONE = {
    "add": "added to", "replace": "replaced in", "remove": "removed from", "move": "moved to", "verify": "verified in",
}  # fmt: skip


def _written(written: Written, call: Call) -> None:
    show_written(written, _DONE[call.operation.name], cast("How", call.values))


def _verified(done: Verified, _: Call) -> None:
    for written, entries in done.files:
        say_all((*written.warnings, *written.notes))
        if written.waiting is not None:
            show_waiting(written)
        elif done.dry_run:
            lines = (f"{entry.category}: {first_line(entry.body, _WIDTH)}\n" for entry in entries)
            emit(printable("".join(lines)))
        elif written.changed:
            emit(f"verified {counted(len(entries), 'entry')} in {written.entity} (revision {written.revision})\n")
        else:
            emit(f"{counted(len(written.entries), 'entry')} in {written.entity} verified already; nothing written\n")
    if done.dry_run:
        say(f"Nothing was written. {counted(done.count, 'entry')} would be verified.")


TEXTS = {Written: _written, Verified: _verified}
