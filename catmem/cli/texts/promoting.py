"""What was promoted, as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.cli.output import emit, first_line, print_error, printable, say, show_written
from catmem.ops.promoting import External, Promotions
from catmem.text import counted
from catmem.writing.written import Written

if TYPE_CHECKING:
    from catmem.ops.table import Call

_WIDTH = 72


def _external(changed: External, call: Call) -> None:
    del call
    say(f"another program changed {changed.entity}{f' (revision {changed.revision})' if changed.revision else ''}:")
    emit(changed.diff)


def _promoted(done: Promotions, call: Call) -> None:
    del call
    failed = done.failed
    for each in done.each:
        where = f"{each.profile} -> {each.source}/{each.target}  {each.entry.category}: "
        emit(printable(f"{where}{first_line(each.entry.body, _WIDTH)}\n"))
        if each.replaced is not None:
            emit(printable(f"  in place of: {first_line(each.replaced.body, _WIDTH)}\n"))
        if each.error is not None and each.error in failed:
            print_error(each.error)
        elif each.error is not None:
            say(f"  left: {each.error}")
    if not done.each:
        emit("Nothing to promote: the sources have all of these categories, or it waits there.\n")
        return
    made = sum(each.error is None for each in done.each)
    refused = f", {len(failed)} refused" if failed else ""
    if done.dry_run:
        say(f"{made} to promote{refused}; nothing was written. Propose all: catmem promote --all.")
    else:
        say(f"{counted(made, 'proposal')} made{refused}. catmem proposals lists what waits.")


def _written(written: Written, call: Call) -> None:
    show_written(written, "promoted to", {"dry_run": call.values["dry_run"]})


TEXTS = {External: _external, Promotions: _promoted, Written: _written}
