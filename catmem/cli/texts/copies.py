"""What a file lacks of a recovery copy, as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.cli.output import emit, printable, say, say_all, show_written
from catmem.merging.reconciling import Reconciliation
from catmem.ops.copies import Reconciled

if TYPE_CHECKING:
    from catmem.errors import EditError
    from catmem.merging.reconciling import Difference
    from catmem.ops.table import Call


def _listed(value: Reconciliation, _: Call) -> None:
    emit("".join(map(lines_of, value.differences)) or "Nothing is missing: the file has all that the copy has.\n")


def _reconciled(value: Reconciled, _: Call) -> None:
    found = value.found
    if value.written is not None:
        show_written(value.written, "brought over to", {"dry_run": value.dry_run})
    elif found.differences and not value.left:
        say("Nothing was written. Bring them over with --all, or one by one with --entry N.")
    say_all(line for each, error in value.left for line in _left_out(each, error))
    say_all(_over_limit(found, accepts=value.accepts))


def _left_out(each: Difference, error: EditError) -> list[str]:
    said = f"left out: entry {each.number} in {each.copy.category} ({error.code}: {error})"
    return [said, f"  {error.hint}"] if error.hint else [said]


def _over_limit(found: Reconciliation, *, accepts: bool) -> list[str]:
    done = "is accepted" if accepts else "keeps agents from changing this file; --all accepts it"
    return [f"an entry of {len(each.raw):,} characters in {each.category} {done}" for each in found.over]


def lines_of(each: Difference) -> str:
    """A difference for people: where it is, and what both say."""
    lines = [f"{each.number:,}. {each.state} in {each.copy.category}"]
    for name, entry in (("copy", each.copy), ("file", each.now)):
        if entry is not None:
            first, *more = entry.raw.split("\n")
            lines += [f"   {name}: {first}", *(f"         {line}".rstrip() for line in more)]
    return printable("".join(f"{line}\n" for line in lines))


TEXTS = {Reconciliation: _listed, Reconciled: _reconciled}
