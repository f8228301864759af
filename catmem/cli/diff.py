"""``catmem diff``: what changed between two revisions of a file; with ``--git``, a file as git compares it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from catmem.cli.options import entity_argument, format_option, open_with_store, root_option
from catmem.cli.output import emit, emit_json, printable, say, text_diff
from catmem.digest import bytes_digest

if TYPE_CHECKING:
    from catmem.service.workspace import Workspace

_NOTHING = "0"
"""The revision of a file that was never written."""
_GIT_LIMIT = 1 << 29
"""Bytes; git itself takes a file that is larger for binary."""


@click.command(
    epilog="Examples: catmem diff trinity   catmem diff trinity/user 7   catmem diff trinity/memory 3 5   "
    "catmem diff --git homes/trinity/USER.md"
)
@entity_argument
@click.argument("old", metavar="[FROM]", required=False)
@click.argument("new", metavar="[TO]", required=False)
@click.option(
    "--git",
    "for_git",
    is_flag=True,
    help="Print the memory file ENTITY, here the path of a file, as text that git compares (a textconv).",
)
@root_option
@format_option
def command(  # noqa: PLR0913 - one parameter an option
    entity: str, old: str | None, new: str | None, root_folder: str | None, *, for_git: bool, as_json: bool
) -> None:
    """Show what changed in ENTITY between the revisions FROM and TO, or between FROM and the file as it is now.

    Without either: what is in the file and not in the history yet, or else what the last revision changed. ENTITY is
    PROFILE/user or PROFILE/memory; PROFILE alone means PROFILE/user.
    """
    from catmem.service import history

    if for_git:
        if old is not None or as_json or root_folder is not None:
            raise click.UsageError("--git goes with the path of one file, and with nothing else.")
        _show_for_git(entity)
        return

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


def _show_for_git(path: str) -> None:
    from catmem.cli.git_text import git_text
    from catmem.files import read_bounded

    # git compares larger files than catmem reads; how far is for git to say.
    emit(git_text(read_bounded(path, _GIT_LIMIT)))


def _latest(workspace: Workspace, entity: str) -> tuple[str, str | None]:
    """The two ends of the latest change; ``None`` is the file as it is now."""
    from catmem.service import history

    newest = workspace.store.head(entity)
    if newest is None:
        return _NOTHING, None
    if newest.digest != bytes_digest(history.text_at(workspace, entity)):
        return newest.revision, None
    return (newest.parents[0] if newest.parents else _NOTHING), newest.revision
