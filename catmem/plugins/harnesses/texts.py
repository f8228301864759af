"""What becomes of files of other harnesses, as people read it."""

from __future__ import annotations

from catmem.cli.output import columns, emit, emit_json, print_error, say_all
from catmem.files import shown_path
from catmem.ops.table import Call
from catmem.plugins.harnesses.operations import SyncDone
from catmem.plugins.harnesses.syncing import SyncedFile
from catmem.text import counted, printable, text_diff


def _synced(done: SyncDone, _: Call) -> None:
    if done.asked == "status":
        rows = [("name", "file", "state", "room taken", "counts with")]
        rows += [(each.name, shown_path(each.path), each.state, _room(each), each.counts) for each in done.files]
        emit(columns([tuple(map(printable, row)) for row in rows]))
    for each in done.files:
        where = printable(f"{each.name}: {shown_path(each.path)}")
        if done.asked == "plan" and each.changes:
            name = shown_path(each.path).lstrip("/")
            emit(text_diff(each.before or "", each.after or "", f"a/{name}", f"b/{name}"))
        elif done.asked != "status":
            emit(f"{where}: {each.state}\n")
        say_all(
            f"{each.name}: {edit.action} in {edit.at.category}, by an agent"
            for edit in each.edits
            if done.asked != "done"
        )
        say_all(f"{each.name}: {note}" for note in each.notes)
        if each.left_out:
            say_all([f"{each.name}: {counted(each.left_out, 'entry')} did not fit"])
        if each.error is not None:
            print_error(each.error)


def _room(file: SyncedFile) -> str:
    return f"{100 * file.size[0] // file.size[1]} %" if file.size[1] else "-"


TEXTS = {"dict": lambda settings, _: emit_json(settings), "SyncDone": _synced}
