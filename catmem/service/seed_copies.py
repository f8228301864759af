"""Which entries of a root are copies that a seed made, and that still say what their source says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.errors import CatmemError
from catmem.service.seedfile import SeedFile

if TYPE_CHECKING:
    from catmem.service.workspace import Workspace


def seeded_copies(workspace: Workspace) -> frozenset[tuple[str, str]]:
    """The copies, by entity and entry id, whose id still stands in the target and in the source.

    Raises ``UnreadableError`` and ``ConfigError`` (``lock_version``) for the lock.
    """
    known: dict[str, frozenset[str]] = {}
    records = SeedFile(workspace.root).read()[1].records.values()
    return frozenset(
        (record.target, each.id)
        for record in records
        for each in record.entries
        if each.id in _ids(workspace, record.target, known) and each.id in _ids(workspace, record.source, known)
    )


def _ids(workspace: Workspace, entity: str, known: dict[str, frozenset[str]]) -> frozenset[str]:
    """The ids of the entries of an entity; none where it cannot be read, since nothing follows what nobody knows."""
    if entity not in known:
        try:
            workspace.profile(entity.partition("/")[0])
            document = workspace.parse(workspace.store.peek(entity))
        except CatmemError:
            known[entity] = frozenset()
        else:
            known[entity] = frozenset(entry.id for entry in document.entries)
    return known[entity]
