"""Recovery copies: what a file lacks of one, entry by entry."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from catmem.ops.shared import DryRun
from catmem.ops.table import Call, Outcome, P, UsageError, operation

if TYPE_CHECKING:
    from catmem.errors import EditError
    from catmem.merging.reconciling import Difference, Reconciliation
    from catmem.writing.written import Written

_TO_DO = 1


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What a file lacks of a copy, what was left out, and what was written."""

    found: "Reconciliation"
    left: Sequence[tuple["Difference", "EditError"]]
    written: "Written | None"
    accepts: bool
    dry_run: bool

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        found, written = self.found, self.written
        return {
            "entity": found.entity,
            "copy": str(found.copy),
            "entries": [each.to_dict() for each in found.differences],
            "left_out": [{"number": each.number, "error": error.to_dict()} for each, error in self.left],
            "over_limit": [{"id": each.id, "category": each.category, "size": len(each.raw)} for each in found.over],
            "accepted": self.accepts and not self.dry_run,
            "written": None if written is None else written.to_dict(),
            "dry_run": self.dry_run,
        }


@operation(
    "reconcile",
    examples=(
        "catmem reconcile homes/trinity/USER.md.bak.20261121T120000Z",
        "catmem reconcile homes/trinity/USER.md.bak.20261121T120000Z --entry 2 --entry 5",
        "catmem reconcile homes/trinity/USER.md.bak.20261121T120000Z --all --dry-run",
    ),
)
def reconcile(
    call: Call,
    *,
    copy: Annotated[str, P(argument=True, metavar="COPY")],
    everything: Annotated[
        bool,
        P("Bring over all that can be, name the others, and accept entries over the limit of the file.", "--all"),
    ] = False,
    numbers: Annotated[
        list[int] | None, P("Bring over this one; can be given several times.", "--entry", metavar="N")
    ] = None,
    dry_run: DryRun = False,
) -> Outcome:
    """Show what the recovery copy COPY has and its file lacks, or has in other words, and bring over what you choose.

    Without a choice it asks on a terminal, and elsewhere only lists: exit status 1 if there is something. What is
    brought over is added, or is the tags of an entry; no word of the file goes. It is one revision, which
    'catmem restore' takes back. While an entry is longer than the whole file may be, no agent changes the file: --all
    accepts it as it is.
    """
    from catmem.merging.reconciling import reconcile as hold_against

    if everything and numbers:
        raise UsageError("--all and --entry exclude each other.")
    if dry_run and not (everything or numbers):
        raise UsageError("--dry-run needs --all or --entry: without a choice nothing is written.")
    found = hold_against(call.root, copy)
    left: Sequence[Any] = []
    if everything:
        chosen, left = found.split(call.root, found.differences)
    else:
        chosen = _numbered(found, numbers or ())
    asks = found.differences and not (chosen or left or call.for_program)
    if asks and (asked := call.dialogue("reconcile")()).on_terminal:
        chosen = asked.choose(found.differences)
    elif not chosen:
        call.show(found)
    written = found.bring(call.root, chosen, dry_run=dry_run) if chosen else None
    accepts = everything and bool(found.over)
    if accepts and not dry_run:
        found.accept(call.root)
    to_do = left or (written is None and found.differences) or (found.over and not accepts)
    return Outcome(Reconciled(found, left, written, accepts, dry_run), status=_TO_DO if to_do else 0)


def _numbered(found: "Reconciliation", numbers: Sequence[int]) -> list["Difference"]:
    count = len(found.differences)
    for number in numbers:
        if not 1 <= number <= count:
            known = f"they are 1 to {count}" if count else "the file has all that the copy has"
            raise UsageError(f"Invalid value for --entry: there is no entry {number}; {known}.")
    return [found.differences[number - 1] for number in sorted(set(numbers))]
