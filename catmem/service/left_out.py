"""What a copy of a store leaves behind: rows that are in nobody's memory."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.service.history import all_entities
from catmem.service.store_names import store_at

if TYPE_CHECKING:
    from catmem.service.workspace import Workspace

NOT_NAMED = "no profile has this entity, and no revision of it was ever made"
NO_ENTRIES = "they are no entries; 'catmem fsck' says what is wrong with each"


class LeftOut(NamedTuple):
    """``rows`` rows of an entity that were not copied, and why."""

    entity: str
    rows: int
    why: str

    def to_dict(self) -> dict[str, Any]:
        """The entity as JSON-ready data."""
        return self._asdict()


def left_out(workspace: Workspace, source: str) -> list[LeftOut]:
    """The rows of the store ``source`` that ``copy_root`` does not copy; none of a store without rows."""
    with closing(store_at(workspace, source)) as store:
        copied = {*store.entities(), *all_entities(workspace)}
        strays = [
            LeftOut(entity, count, NOT_NAMED) for entity, count in sorted(store.rows().items()) if entity not in copied
        ]
        bad = ((entity, len(store.bad_rows(entity))) for entity in sorted(copied))
        return strays + [LeftOut(entity, count, NO_ENTRIES) for entity, count in bad if count]
