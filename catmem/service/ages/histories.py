"""The one place where a workspace keeps what it worked out of histories."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

from catmem.errors import CatmemError

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from catmem.policy.access import Rights
    from catmem.service.ages.history import History
    from catmem.service.workspace import Workspace

_KEPT = 100_000
"""Bodies that kept histories know together, beyond those of the history that was asked last."""


class Histories:
    """What was worked out of histories lately, so that the next question looks at what is new alone.

    One a workspace. By entity and by what the reader may see, those that were asked last at the end.
    """

    def __init__(self) -> None:
        """None yet."""
        self.notes: dict[str, str] = {}
        """Whose history could not be read, and why, by entity."""
        self._kept: dict[Hashable, History] = {}
        self._lock = threading.Lock()

    def of(self, workspace: Workspace, entity: str, readers: Sequence[Rights]) -> list[History] | None:
        """The history of an entity up to now, for each of its readers; ``None`` where it cannot be read."""
        from catmem.service.ages.history import History, followed
        from catmem.service.stores import parse_file

        keys = [_key(entity, rights) for rights in readers]
        with self._lock:
            kept = [self._kept.get(key) or History(rights) for key, rights in zip(keys, readers, strict=True)]
        try:
            found = followed(workspace.store, entity, kept, partial(parse_file, workspace.config))
        except CatmemError as error:
            why = f"the history of {entity} cannot be read ({error})"
            self.notes[entity] = f"{why}, so what has no date of its own is as old as the file"
            return None
        self.notes.pop(entity, None)
        with self._lock:
            for key, history in zip(keys, found, strict=True):
                self._kept.pop(key, None)
                self._kept[key] = history
            size = sum(len(history.known) for history in self._kept.values())
            while size > _KEPT and len(self._kept) > 1:
                size -= len(self._kept.pop(next(iter(self._kept))).known)
        return found


def _key(entity: str, rights: Rights) -> Hashable:
    """What makes one history another: whose it is, and what is seen of it."""
    actor = rights.actor
    if actor is None:
        return entity
    return entity, rights.target, actor.selectors(rights.target, rights.taxonomy), actor.include_uncategorized
