"""``catmem purge``: an entry that is forgotten for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from catmem.cli.options import (
    dry_run_option,
    entity_argument,
    format_option,
    open_with_store,
    root_option,
    text_argument,
)
from catmem.cli.output import columns, emit, emit_json, first_line, printable, say, shown_path

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from catmem.model.document import Entry
    from catmem.service.purging import PurgeReport

_WIDTH = 60
_LEFT = 1
_MOST = 20
"""Files that are named at most; JSON names all."""


@click.command(
    epilog="Examples: catmem purge trinity/user 'The card number is' --dry-run   "
    "catmem purge trinity/user - --yes < secret.txt"
)
@entity_argument
@text_argument("old", "OLD")
@click.option("--yes", is_flag=True, help="Do it. It cannot be undone.")
@dry_run_option
@root_option
@format_option
def command(  # noqa: PLR0913 - one parameter an option
    entity: str, old: str, root_folder: str | None, *, yes: bool, dry_run: bool, as_json: bool
) -> None:
    """Erase an entry from ENTITY and its whole history, from backups, and from the files of all other profiles.

    OLD is a piece of the text of one entry, its id, or - for stdin. Every entry that ever held that text is erased, an
    older wording too; for an id, that body alone. --dry-run lists them. What could not be reached is named: exit
    status 1. ENTITY is PROFILE/user or PROFILE/memory; PROFILE alone means PROFILE/user.
    """
    from catmem.service.purging import purge

    if yes == dry_run:
        raise click.UsageError("Purging cannot be undone. See what would go with --dry-run, then do it with --yes.")
    workspace = open_with_store(root_folder)
    report = purge(workspace, entity, old, dry_run=dry_run)
    if as_json:
        emit_json(report.to_dict())
    else:
        _show(report, workspace.root)
    if report.left and not dry_run:
        raise SystemExit(_LEFT)


def _show(report: PurgeReport, root: Path) -> None:
    revisions = f"{report.revisions} revision{'' if report.revisions == 1 else 's'}"
    entities = ", ".join(report.entities)
    emit(printable(f"{'would be erased' if report.dry_run else 'erased'} from {entities} and {revisions}:\n"))
    _show_entries(report.entries, dry_run=report.dry_run)
    for entity in dict.fromkeys(entity for entity, _ in report.elsewhere):
        emit(printable(f"in {entity}:\n"))
        _show_entries([entry for each, entry in report.elsewhere if each == entity], dry_run=report.dry_run)
    _show_files("rewritten", [shown_path(root / name) for name in report.files])
    _show_files("removed", [shown_path(root / name) for name in report.removed])
    _show_files("not reached", [f"{shown_path(root / left.path)}: {left.why}" for left in report.left], most=None)
    say("Nothing was erased." if report.dry_run else "Copies in git, in other backups and in prompts are not reached.")


def _show_files(what: str, lines: list[str], *, most: int | None = _MOST) -> None:
    if not lines:
        return
    emit(f"{what}:\n" + "".join(printable(f"  {line}\n") for line in lines[:most]))
    if most is not None and len(lines) > most:
        emit(f"  and {len(lines) - most:,} more\n")


def _show_entries(entries: Iterable[Entry], *, dry_run: bool) -> None:
    # What was to be forgotten is not written once more, to a terminal or a log.
    emit(
        columns(
            [("", entry.category, entry.id, first_line(entry.body, _WIDTH) if dry_run else "") for entry in entries]
        )
    )
