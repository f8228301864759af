"""``catmem log``: the revisions of a file."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from catmem.cli.options import entity_argument, format_option, open_with_store, root_option
from catmem.cli.output import columns, emit, emit_json, printable, say
from catmem.digest import bytes_digest
from catmem.errors import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catmem.service.workspace import Workspace
    from catmem.store.contract import Revision

_SECONDS = 19
"""Characters of a time stamp up to its seconds."""


@click.command(epilog="Examples: catmem log trinity/user   catmem log trinity -n 5")
@entity_argument
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N revisions.")
@root_option
@format_option
def command(entity: str, limit: int | None, root_folder: str | None, *, as_json: bool) -> None:
    """List the revisions of ENTITY, the newest first: number, time (UTC), who, what, size and its change.

    ENTITY is PROFILE/user or PROFILE/memory; PROFILE alone means PROFILE/user. A change of the file by other means,
    which the history does not hold yet, stands on top; so does a file that catmem never wrote and that has no history.
    """
    from catmem.service import history

    workspace = open_with_store(root_folder)
    entity = history.entity_of(workspace, entity)
    # One more than is shown: the change of size is told against the revision before.
    found = history.log(workspace, entity, None if limit is None else limit + 1)
    shown = found[:limit]
    outside = _unrecorded(workspace, entity, found)
    if as_json:
        revisions = [revision.to_dict() for revision in shown]
        emit_json({"entity": entity, "unrecorded": outside, "revisions": revisions})
        return
    rows = [_row(revision, found) for revision in shown]
    if outside is not None:
        rows.insert(0, _outside_row(outside["size"], found))
    if not rows:
        say(f"No revision of {entity} is recorded yet.")
    emit(columns(_aligned(rows)))


def _unrecorded(workspace: Workspace, entity: str, found: Sequence[Revision]) -> dict[str, Any] | None:
    """Digest and size of the file as it is now, if the newest revision is not that."""
    from catmem.service import history

    try:
        data = history.text_at(workspace, entity)
    except UnreadableError as error:
        say(printable(f"warning: what the file holds now cannot be read: {error}"))
        return None
    digest = bytes_digest(data)
    if found[0].digest == digest if found else not data:
        return None
    return {"digest": digest, "size": len(data)}


def _row(revision: Revision, found: Sequence[Revision]) -> tuple[str, ...]:
    sizes = {each.revision: each.size for each in found}
    parent = revision.parents[0] if revision.parents else None
    before = 0 if parent is None else sizes.get(parent)
    when = f"{revision.timestamp[:_SECONDS].replace('T', ' ')}Z"
    change = "" if before is None else f"{revision.size - before:+,}"
    size = f"{revision.size:,} bytes"
    return revision.revision, when, printable(revision.agent), revision.op, size, change, _said(revision.note)


def _outside_row(size: int, found: Sequence[Revision]) -> tuple[str, ...]:
    change = f"{size - (found[0].size if found else 0):+,}"
    why = "changed by other means" if found else "no history yet: the first write begins it"
    return "-", "(not recorded yet)", "", "", f"{size:,} bytes", change, why


def _said(note: Mapping[str, Any]) -> str:
    """What a note tells of the operations, in few words."""
    if "restored" in note:
        return f"revision {note['restored']}"
    if "source" in note:
        return printable(f"from {note['source']}")
    actions = Counter(f"{action['action']} {action['category']}" for action in note.get("actions", ()))
    return printable(", ".join(name if count == 1 else f"{name} ({count})" for name, count in actions.items()))


def _aligned(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Numbers to the right: the revision, the size and its change."""
    widths = [max((len(row[index]) for row in rows), default=0) for index in (0, 4, 5)]
    return [
        (row[0].rjust(widths[0]), *row[1:4], row[4].rjust(widths[1]), row[5].rjust(widths[2]), row[6]) for row in rows
    ]
