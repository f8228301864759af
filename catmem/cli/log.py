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


@click.command(epilog="Examples: catmem log trinity/user   catmem log trinity -n 5   catmem log trinity --graph")
@entity_argument
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N revisions.")
@click.option("--graph", is_flag=True, help="Draw how the revisions follow each other, one column a line of them.")
@root_option
@format_option
def command(entity: str, limit: int | None, root_folder: str | None, *, graph: bool, as_json: bool) -> None:
    """List the revisions of ENTITY, the newest first: number, time (UTC), who, what, size and its change.

    ENTITY is PROFILE/user or PROFILE/memory; PROFILE alone means PROFILE/user. A change of the file by other means,
    which the history does not hold yet, stands on top; so does a file that catmem never wrote and that has no history.
    A branch such as 8a stands beside the file: it was made on an older revision, and a merge says what it brought in.
    """
    from catmem.service import history

    if graph and as_json:
        raise click.UsageError("--graph draws for people; in JSON each revision names its parents.")
    workspace = open_with_store(root_folder)
    entity = history.entity_of(workspace, entity)
    # One more than is shown: the change of size is told against the revision before.
    found = history.log(workspace, entity, None if limit is None else limit + 1)
    shown = found[:limit]
    outside = _unrecorded(workspace, entity)
    if as_json:
        revisions = [revision.to_dict() for revision in shown]
        emit_json({"entity": entity, "unrecorded": outside, "revisions": revisions})
        return
    rows = [_row(revision, found) for revision in shown]
    if outside is not None:
        rows.insert(0, _outside_row(outside["size"], workspace.store.head(entity)))
    if not rows:
        say(f"No revision of {entity} is recorded yet.")
    lines = _aligned(rows)
    if graph:
        drawn = ["", *_drawn(shown)] if outside is not None else _drawn(shown)
        lines = [(picture, *line) for picture, line in zip(drawn, lines, strict=True)]
    emit(columns(lines))


def _unrecorded(workspace: Workspace, entity: str) -> dict[str, Any] | None:
    """Digest and size of the file as it is now, if the newest revision is not that."""
    from catmem.service import history

    try:
        data = history.text_at(workspace, entity)
    except UnreadableError as error:
        say(printable(f"warning: what the file holds now cannot be read: {error}"))
        return None
    digest = bytes_digest(data)
    head = workspace.store.head(entity)
    if head.digest == digest if head else not data:
        return None
    return {"digest": digest, "size": len(data)}


def _row(revision: Revision, found: Sequence[Revision]) -> tuple[str, ...]:
    sizes = {each.revision: each.size for each in found}
    parent = revision.parents[0] if revision.parents else None
    before = 0 if parent is None else sizes.get(parent)
    when = f"{revision.timestamp[:_SECONDS].replace('T', ' ')}Z"
    change = "" if before is None else f"{revision.size - before:+,}"
    size = f"{revision.size:,} bytes"
    return revision.revision, when, printable(revision.agent), revision.op, size, change, _told(revision)


def _drawn(revisions: Sequence[Revision]) -> list[str]:
    """A picture before each revision: a column for each line of revisions that goes on below, ``*`` for its own.

    The first column is that of the file, the others are of branches.
    """
    lines: list[str | None] = [next((each.revision for each in revisions if not each.is_branch), None)]
    pictures: list[str] = []
    for revision in revisions:
        if revision.revision not in lines:
            _put(lines, revision.revision)
        own = lines.index(revision.revision)
        marks = ("*" if at == own else " " if each is None else "|" for at, each in enumerate(lines))
        pictures.append(" ".join(marks).rstrip())
        lines = [None if each == revision.revision else each for each in lines]
        for number, parent in enumerate(revision.parents):
            if number == 0:
                lines[own] = parent
            elif parent not in lines:
                _put(lines, parent)
    return pictures


def _put(lines: list[str | None], revision: str) -> None:
    """Give a revision of a branch a column that is free."""
    free = next((at for at, each in enumerate(lines) if at and each is None), None)
    if free is None:
        lines.append(revision)
    else:
        lines[free] = revision


def _outside_row(size: int, head: Revision | None) -> tuple[str, ...]:
    change = f"{size - (head.size if head else 0):+,}"
    why = "changed by other means" if head else "no history yet: the first write begins it"
    return "-", "(not recorded yet)", "", "", f"{size:,} bytes", change, why


def _told(revision: Revision) -> str:
    """What was done, and where from if that is not the revision before."""
    origin = ""
    if revision.is_branch:
        origin = f"branch from {', '.join(revision.parents) or 'nothing'}"
    return ", ".join(part for part in (origin, _said(revision.note)) if part)


def _said(note: Mapping[str, Any]) -> str:
    """What a note tells of the operations, in few words."""
    for name in ("merged", "dropped"):
        if name in note:
            return printable(f"{name} {', '.join(map(str, note[name]))}")
    if "after_stop" in note:
        return "after a stop of the machine"
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
