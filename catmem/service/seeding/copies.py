"""Which entries of a root are copies that a seed made, and that stand as they were seeded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.errors import CatmemError
from catmem.policy.seedlock import SeedLock
from catmem.service.seeding.lockfile import SeedFile

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from catmem.service.workspace import Workspace


def seeded_copies(workspace: Workspace) -> dict[tuple[str, str], frozenset[str]]:
    """The copies, by entity and entry id, that the target left as they were, and the entities they were seeded from.

    The next seed brings them the source's edits. Raises ``UnreadableError`` and ``ConfigError`` (``lock_version``) for
    the lock.
    """
    known: dict[str, frozenset[str] | None] = {}
    return copies_among(SeedFile(workspace.root).read()[1], lambda entity: _ids(workspace, entity, known))


def copies_among(lock: SeedLock, ids: Callable[[str], Collection[str] | None]) -> dict[tuple[str, str], frozenset[str]]:
    """The same by what a lock records; ``ids`` gives those of an entity's entries, ``None`` if it cannot be read."""
    copies: dict[tuple[str, str], frozenset[str]] = {}
    for record in lock.records.values():
        # Nothing follows a source that cannot be read: there nobody would be asked.
        if ids(record.source) is None:
            continue
        there = ids(record.target) or frozenset()
        for each in record.entries:
            if each.id in there:
                key = record.target, each.id
                copies[key] = copies.get(key, frozenset()) | {record.source}
    return copies


def copies_in(workspace: Workspace, entity: str, ids: Collection[str]) -> dict[str, frozenset[str]]:
    """The same for one entity whose entries have these ``ids``: the sources of each copy by its id."""
    _, lock = SeedFile(workspace.root).read()
    own = {key: record for key, record in lock.records.items() if record.target == entity}
    known: dict[str, frozenset[str] | None] = {entity: frozenset(ids)}
    found = copies_among(SeedLock(own), lambda each: _ids(workspace, each, known))
    return {entry_id: sources for (_, entry_id), sources in found.items()}


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
