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
    from pathlib import Path

    from catmem.service.purging import PurgeReport

_WIDTH = 60


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
    older wording too; for an id, that body alone. --dry-run lists them. ENTITY is PROFILE/user or PROFILE/memory;
    PROFILE alone means PROFILE/user.
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


def _show(report: PurgeReport, root: Path) -> None:
    revisions = f"{report.revisions} revision{'' if report.revisions == 1 else 's'}"
    entities = ", ".join(report.entities)
    emit(printable(f"{'would be erased' if report.dry_run else 'erased'} from {entities} and {revisions}:\n"))
    # What was to be forgotten is not written once more, to a terminal or a log.
    emit(
        columns(
            [
                ("", entry.category, entry.id, first_line(entry.body, _WIDTH) if report.dry_run else "")
                for entry in report.entries
            ]
        )
    )
    if report.files:
        emit("rewritten:\n")
        emit("".join(printable(f"  {shown_path(root / name)}\n") for name in report.files))
    say("Nothing was erased." if report.dry_run else "Copies in git, in other backups and in prompts are not reached.")
