"""``catmem diff``: what changed between two revisions of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from catmem.cli.options import entity_argument, format_option, open_with_store, root_option
from catmem.cli.output import emit, emit_json, printable, say
from catmem.cli.written import text_diff
from catmem.digest import bytes_digest

if TYPE_CHECKING:
    from catmem.service.workspace import Workspace

_NOTHING = "0"
"""The revision of a file that was never written."""


@click.command(epilog="Examples: catmem diff trinity   catmem diff trinity/user 7   catmem diff trinity/memory 3 5")
@entity_argument
@click.argument("old", metavar="[FROM]", required=False)
@click.argument("new", metavar="[TO]", required=False)
@root_option
@format_option
def command(entity: str, old: str | None, new: str | None, root_folder: str | None, *, as_json: bool) -> None:
    """Show what changed in ENTITY between the revisions FROM and TO, or between FROM and the file as it is now.

    Without either: what is in the file and not in the history yet, or else what the last revision changed. ENTITY is
    PROFILE/user or PROFILE/memory; PROFILE alone means PROFILE/user.
    """
    from catmem.service import history

    workspace = open_with_store(root_folder)
    entity = history.entity_of(workspace, entity)
    if old is None:
        old, new = _latest(workspace, entity)
    before, after = (history.text_at(workspace, entity, revision) for revision in (old, new))
    ends = f"revision {old}", "now" if new is None else f"revision {new}"
    # A person looks at this, so bytes that are no text are shown as escapes.
    texts = before.decode(errors="backslashreplace"), after.decode(errors="backslashreplace")
    # What follows the tab is no part of the name of the file: other programs that read diffs pass over it.
    difference = text_diff(*texts, f"a/{entity}\t{ends[0]}", f"b/{entity}\t{ends[1]}")
    if as_json:
        emit_json({"entity": entity, "from": old, "to": new, "changed": before != after, "diff": difference})
        return
    emit(difference)
    if not difference:
        say(printable(f"No difference in {entity} between {ends[0]} and {ends[1]}."))


def _latest(workspace: Workspace, entity: str) -> tuple[str, str | None]:
    """The two ends of the latest change; ``None`` is the file as it is now."""
    from catmem.service import history

    newest = next(iter(history.log(workspace, entity, 1)), None)
    if newest is None:
        return _NOTHING, None
    if newest.digest != bytes_digest(history.text_at(workspace, entity)):
        return newest.revision, None
    return (newest.parents[0] if newest.parents else _NOTHING), newest.revision
