"""``catmem restore``: a file as it was."""

from __future__ import annotations

import click

from catmem.cli.options import (
    actor_option,
    dry_run_option,
    entity_argument,
    expected_option,
    format_option,
    open_with_store,
    root_option,
)
from catmem.cli.output import show_written


@click.command(epilog="Examples: catmem restore trinity/user 7 --dry-run   catmem restore trinity/user 7")
@entity_argument
@click.argument("revision")
@actor_option
@expected_option
@dry_run_option
@root_option
@format_option
def command(  # noqa: PLR0913 - one parameter an option
    entity: str,
    revision: str,
    actor: str | None,
    expected: str | None,
    root_folder: str | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Write ENTITY as it was at REVISION ('catmem log' lists them). What is there now stays in the history.

    ENTITY is PROFILE/user or PROFILE/memory; PROFILE alone means PROFILE/user.
    """
    from catmem.service import history

    workspace = open_with_store(root_folder)
    written = history.restore(workspace, entity, revision, expected=expected, dry_run=dry_run, actor=actor)
    # Whoever may restore may see the whole file, so its dry run shows the lines around a change too.
    show_written(written, f"restored revision {revision}", {"dry_run": dry_run}, as_json=as_json)
