"""What was: the revisions of a file, and what each of them changed."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from catmem.digest import bytes_digest
from catmem.server.page.reading import Page
from catmem.server.page.shown import diff_of
from catmem.server.page.told import did
from catmem.service.history import entity_of
from catmem.store.memory import unknown_revision

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catmem.server.page.reading import Asked
    from catmem.service.workspace import Workspace
    from catmem.store.contract import Revision

_SIZE = 50
NOTHING = "0"
"""The revision of a file that was never written."""
NOW = "now"
"""The address of what is there and in no revision yet."""


class Told(NamedTuple):
    """A revision with what it did, in few words, and how many bytes it added (``None``: nobody can tell)."""

    revision: Revision
    did: str
    change: int | None


def history(asked: Asked) -> Page:
    """The revisions of a file, the newest first."""
    workspace = asked.workspace
    entity = _entity(asked)
    first = (asked.number("page") - 1) * _SIZE
    # One more than is shown: the change of size is told against the revision before.
    found = list(islice(workspace.store.log(entity), first, first + _SIZE + 1))
    sizes = {each.revision: each.size for each in found}
    return Page(
        "history.html",
        {
            "entity": entity,
            "name": entity.partition("/")[0],
            "target": entity.partition("/")[2],
            "told": [Told(each, did(each), _change(each, sizes)) for each in found[:_SIZE]],
            "page": asked.number("page"),
            "more": len(found) > _SIZE,
            "outside": first == 0 and _changed_outside(workspace, entity),
        },
    )


def revision(asked: Asked) -> Page:
    """What a revision changed; with ``since`` in the query, what changed from that one to it."""
    workspace = asked.workspace
    entity, name = _entity(asked), asked.path["revision"]
    found, record = _found(workspace, entity, name)
    since = asked.query.get("since") or _before(workspace, entity, record)
    before = b"" if since == NOTHING else workspace.store.read(entity, since).data
    after = workspace.store.read(entity, None if name == NOW else name).data
    # A person looks at this, so bytes that are no text are shown as escapes.
    difference = diff_of(before.decode(errors="backslashreplace"), after.decode(errors="backslashreplace"))
    return Page(
        "revision.html",
        {
            "entity": entity,
            "name": entity.partition("/")[0],
            "target": entity.partition("/")[2],
            "revision": name,
            "record": record,
            "did": did(record) if record else "",
            "since": since,
            "nothing": NOTHING,
            "diff": difference,
            "newest": found,
        },
    )


def _entity(asked: Asked) -> str:
    return entity_of(asked.workspace, f"{asked.path['name']}/{asked.path['target']}")


def _found(workspace: Workspace, entity: str, name: str) -> tuple[Revision | None, Revision | None]:
    """The newest revision, and the one of the name (``None`` for what is there now). Raises if there is none."""
    newest = workspace.store.head(entity)
    if name == NOW:
        return newest, None
    record = next((each for each in workspace.store.log(entity) if each.revision == name), None)
    if record is None:
        raise unknown_revision(entity, name[:20])
    return newest, record


def _before(workspace: Workspace, entity: str, record: Revision | None) -> str:
    if record is not None:
        return record.parents[0] if record.parents else NOTHING
    newest = workspace.store.head(entity)
    return NOTHING if newest is None else newest.revision


def _change(revision: Revision, sizes: Mapping[str, int]) -> int | None:
    before = sizes.get(revision.parents[0]) if revision.parents else 0
    return None if before is None else revision.size - before


def _changed_outside(workspace: Workspace, entity: str) -> bool:
    """Whether the file is no longer what the newest revision says."""
    newest = workspace.store.head(entity)
    return newest is not None and newest.digest != bytes_digest(workspace.store.peek(entity))
