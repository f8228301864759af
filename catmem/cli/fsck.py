"""``catmem fsck``: whether all that the stores keep is as it should be."""

from __future__ import annotations

import click

from catmem.cli.options import format_option, open_with_store, root_option
from catmem.cli.output import emit, emit_json, fault_lines, print_unreadable, printable

_DAMAGED = 4


@click.command(epilog="Examples: catmem fsck   catmem fsck --repair")
@click.option("--repair", is_flag=True, help="Mend what is safe to mend. What cannot be used is moved aside, and kept.")
@root_option
@format_option
def command(root_folder: str | None, *, repair: bool, as_json: bool) -> None:
    """Check every file and its history: what is damaged, and what is only worth knowing.

    Exit status 4 if something is damaged (and, with --repair, still is), 2 if a profile is not right, so that its files
    could not be looked at, else 0.
    """
    from catmem.service import upkeep

    report = upkeep.fsck(open_with_store(root_folder, looks_over=True), repair=repair)
    if as_json:
        emit_json(report.to_dict())
    else:
        emit("".join(printable(f"mended: {line}\n") for line in report.done))
        emit("".join(fault_lines(report.faults)))
        where = " in what could be looked at" if report.unreadable else ""
        emit(f"{_summary([fault.damage for fault in report.faults])}{where}\n")
    status = print_unreadable(report.unreadable, as_json=as_json)
    raise SystemExit(_DAMAGED if report.damaged else status)


def _summary(damage: list[bool]) -> str:
    if not any(damage):
        return "no damage"
    return "1 thing is damaged" if sum(damage) == 1 else f"{sum(damage)} things are damaged"
