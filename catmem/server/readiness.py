"""Whether the server is ready: its store answers, and takes writes."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from catmem.errors import CatmemError
from catmem.service.profiles import load_each
from catmem.service.writable import refuse_unwritable

if TYPE_CHECKING:
    from collections.abc import Callable

    from catmem.service.workspace import Workspace

_EVERY = 2.0
"""Seconds for which one look at what can be written counts, however often somebody asks."""


class Readiness:
    """Asks a store. For several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` gives seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        self._looked: tuple[Workspace, float, CatmemError | None] | None = None

    def refuse_unready(self, workspace: Workspace) -> None:
        """Raise what keeps the store from being read, or from being written."""
        profiles, _ = load_each(workspace)  # one that is not right keeps nobody else from working
        if profiles:
            workspace.store.head(f"{profiles[0].name}/user")  # whether there is such an entity or not
        refusal = self._refusal(workspace)
        if refusal is not None:
            raise refusal.with_traceback(None)

    def _refusal(self, workspace: Workspace) -> CatmemError | None:
        with self._lock:
            looked = self._looked
            if looked is not None and looked[0] is workspace and self._clock() < looked[1]:
                return looked[2]
            refusal = None
            try:
                refuse_unwritable(workspace)
            except CatmemError as error:
                refusal = error
            self._looked = workspace, self._clock() + _EVERY, refusal
            return refusal
