"""``catmem reconcile``: what a file lacks of a recovery copy, entry by entry."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from catmem.cli.command import Command
from catmem.cli.dialogue import Dialogue
from catmem.cli.options import common_options, dry_run_option, open_with_store
from catmem.cli.output import emit, emit_json, in_json, printable, say, say_all, show_written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.errors import EditError
    from catmem.merging.reconciling import Difference, Reconciliation

_TO_DO = 1


@click.command(
    cls=Command,
    examples=(
        "catmem reconcile homes/trinity/USER.md.bak.20261121T120000Z",
        "catmem reconcile homes/trinity/USER.md.bak.20261121T120000Z --entry 2 --entry 5",
        "catmem reconcile homes/trinity/USER.md.bak.20261121T120000Z --all --dry-run",
    ),
)
@click.argument("copy", metavar="COPY", type=click.Path())
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Bring over all that can be, name the others, and accept entries over the limit of the file.",
)
@click.option(
    "--entry", "numbers", type=int, multiple=True, metavar="N", help="Bring over this one; can be given several times."
)
@dry_run_option
@common_options
def reconcile(copy: str, numbers: tuple[int, ...], *, everything: bool, dry_run: bool) -> None:
    """Show what the recovery copy COPY has and its file lacks, or has in other words, and bring over what you choose.

    Without a choice it asks on a terminal, and elsewhere only lists: exit status 1 if there is something. What is
    brought over is added, or is the tags of an entry; no word of the file goes. It is one revision, which
    'catmem restore' takes back. While an entry is longer than the whole file may be, no agent changes the file: --all
    accepts it as it is.
    """
    from catmem.merging.reconciling import reconcile as hold_against

    _check_choice(numbers, everything=everything, dry_run=dry_run)
    workspace = open_with_store()
    found = hold_against(workspace, copy)
    chosen, left = found.split(workspace, found.differences) if everything else (_numbered(found, numbers), [])
    if not (chosen or left) and found.differences and not in_json() and Dialogue().on_terminal:
        chosen = _ChoiceDialogue().choose(found.differences)
    elif not chosen and not in_json():
        emit("".join(map(_lines, found.differences)) or "Nothing is missing: the file has all that the copy has.\n")
    written = found.bring(workspace, chosen, dry_run=dry_run) if chosen else None
    accepts = everything and bool(found.over)
    if accepts and not dry_run:
        found.accept(workspace)
    if in_json():
        said = {
            "entity": found.entity,
            "copy": str(found.copy),
            "entries": [each.to_dict() for each in found.differences],
            "left_out": [{"number": each.number, "error": error.to_dict()} for each, error in left],
            "over_limit": [{"id": each.id, "category": each.category, "size": len(each.raw)} for each in found.over],
            "accepted": accepts and not dry_run,
        }
        emit_json({**said, "written": None if written is None else written.to_dict(), "dry_run": dry_run})
    elif written is not None:
        show_written(written, "brought over to", {"dry_run": dry_run})
    elif found.differences and not left:
        say("Nothing was written. Bring them over with --all, or one by one with --entry N.")
    if not in_json():
        say_all(line for each, error in left for line in _left_out(each, error))
        say_all(_over_limit(found, accepts=accepts))
    if left or (written is None and found.differences) or (found.over and not accepts):
        sys.exit(_TO_DO)


def _left_out(each: Difference, error: EditError) -> list[str]:
    said = f"left out: entry {each.number} in {each.copy.category} ({error.code}: {error})"
    return [said, f"  {error.hint}"] if error.hint else [said]


def _check_choice(numbers: tuple[int, ...], *, everything: bool, dry_run: bool) -> None:
    if everything and numbers:
        raise click.UsageError("--all and --entry exclude each other.")
    if dry_run and not (everything or numbers):
        raise click.UsageError("--dry-run needs --all or --entry: without a choice nothing is written.")


def _over_limit(found: Reconciliation, *, accepts: bool) -> list[str]:
    done = "is accepted" if accepts else "keeps agents from changing this file; --all accepts it"
    return [f"an entry of {len(each.raw):,} characters in {each.category} {done}" for each in found.over]


def _numbered(found: Reconciliation, numbers: Sequence[int]) -> list[Difference]:
    count = len(found.differences)
    for number in numbers:
        if not 1 <= number <= count:
            known = f"they are 1 to {count}" if count else "the file has all that the copy has"
            raise click.BadParameter(f"there is no entry {number}; {known}.", param_hint="--entry")
    return [found.differences[number - 1] for number in sorted(set(numbers))]


def _lines(each: Difference) -> str:
    """A difference for people: where it is, and what both say."""
    lines = [f"{each.number:,}. {each.state} in {each.copy.category}"]
    for name, entry in (("copy", each.copy), ("file", each.now)):
        if entry is not None:
            first, *more = entry.raw.split("\n")
            lines += [f"   {name}: {first}", *(f"         {line}".rstrip() for line in more)]
    return printable("".join(f"{line}\n" for line in lines))


class _ChoiceDialogue(Dialogue):
    """Shows one difference after the other, and asks whether it is brought over."""

    letters = "b, s, a, q or ?"
    explained = """\
  b        bring it over
  s        skip it
  a        bring over this one and all that are left
  q        quit: nothing is written"""

    def choose(self, differences: Sequence[Difference]) -> list[Difference]:
        """Those that are to be brought over; none after ``q``, or where the answers end."""
        chosen: list[Difference] = []
        for index, each in enumerate(differences):
            emit(_lines(each))
            while (line := self.read()) is not None and (line.letter not in {"b", "s", "a", "q"} or line.rest):
                self.explain(line)
            if line is None or line.letter == "q":
                return []
            if line.letter == "a":
                return [*chosen, *differences[index:]]
            chosen += [each] if line.letter == "b" else []
        return chosen
