"""Which entries of a root are copies that a seed made, and that stand as they were seeded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.errors import CatmemError
from catmem.service.seedfile import SeedFile

if TYPE_CHECKING:
    from catmem.service.workspace import Workspace


def seeded_copies(workspace: Workspace) -> frozenset[tuple[str, str]]:
    """The copies, by entity and entry id, that the target left as they were: the next seed brings the source's edits.

    Raises ``UnreadableError`` and ``ConfigError`` (``lock_version``) for the lock.
    """
    known: dict[str, frozenset[str] | None] = {}
    records = SeedFile(workspace.root).read()[1].records.values()
    copies: set[tuple[str, str]] = set()
    for record in records:
        # Nothing follows a source that cannot be read: there nobody would be asked.
        if _ids(workspace, record.source, known) is not None:
            there = _ids(workspace, record.target, known) or frozenset()
            copies |= {(record.target, each.id) for each in record.entries if each.id in there}
    return frozenset(copies)


def _ids(workspace: Workspace, entity: str, known: dict[str, frozenset[str] | None]) -> frozenset[str] | None:
    """The ids of the entries of an entity; ``None`` where it cannot be read."""
    if entity not in known:
        try:
            workspace.profile(entity.partition("/")[0])
            document = workspace.parse(workspace.store.peek(entity))
        except CatmemError:
            known[entity] = None
        else:
            known[entity] = frozenset(entry.id for entry in document.entries)
    return known[entity]
