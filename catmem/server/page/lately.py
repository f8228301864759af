"""What was just done, as the store tells it: an address only names the revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from catmem.errors import CatmemError
from catmem.server.page.told import did
from catmem.service.history import entity_of

if TYPE_CHECKING:
    from catmem.service.workspace import Workspace
    from catmem.store.contract import Revision


class Lately(NamedTuple):
    """A revision, and what it did in words. ``record`` is ``None`` where nothing had to be done.

    ``before`` is the revision that Undo goes back to, ``None`` where it cannot: something came after it, or it stands
    beside the head.
    """

    record: Revision | None
    did: str
    before: str | None


NOTHING_TO_DO = "nothing"
"""What ``did`` says in a query where all was as it should be already."""


def done_lately(workspace: Workspace, named: str | None) -> Lately | None:
    """What ``ENTITY@REVISION`` did; ``None`` for what is no revision that there is."""
    if named is None:
        return None
    if named == NOTHING_TO_DO:
        return Lately(None, "", None)
    entity, _, revision = named.partition("@")
    try:
        entity = entity_of(workspace, entity)
        head = workspace.store.head(entity)
        record = next((each for each in workspace.store.log(entity) if each.revision == revision), None)
    except CatmemError:
        return None  # the page itself tells what cannot be read
    if record is None:
        return None
    before = (record.parents or ("0",))[0] if head is not None and head.revision == revision else None
    return Lately(record, did(record), before)
