"""A store that a failure left in doubt is looked over, and opened again if it is whole.

The disk was full, or did not confirm a write: what was acknowledged is safe, and the open store takes no more writes. A
command would end here; a server goes on, so that it writes again when there is room.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from catmem.errors import CatmemError, DamagedError, StoreError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from catmem.service.workspace import Workspace

LOG = logging.getLogger("catmem.server")

_CODES = frozenset({"read_only", "no_space", "io"})
_EVERY = 2.0
"""Seconds from one look to the next: looking reads all that the store has."""


class Mender:
    """Hears of the errors of a store, and opens it again. For several threads."""

    def __init__(self, workspace: Workspace, threads: Executor) -> None:
        """``threads`` is where it looks over the store."""
        self.workspace = workspace
        self._threads = threads
        self._lock = threading.Lock()
        self._next = 0.0
        self._doubt: StoreError | None = None

    def hear(self, error: CatmemError) -> None:
        """Take note of an error that a request ended with; begins to look if that is a reason to."""
        if not isinstance(error, StoreError) or error.code not in _CODES:
            return
        with self._lock:
            self._doubt = error
        self.begin()

    def begin(self) -> None:
        """Look over the store in a thread, if it is in doubt and that was not done a moment ago."""
        with self._lock:
            if self._doubt is None or time.monotonic() < self._next:
                return
            self._next = time.monotonic() + _EVERY
        with suppress(RuntimeError):  # the server ends, and whoever opens the store next looks
            self._threads.submit(self._look)

    def refuse_doubt(self) -> None:
        """Raise what went wrong, if nobody has looked since, or it is damaged; and have somebody look."""
        doubt = self._doubt
        if doubt is not None:
            self.begin()
            raise StoreError(doubt.message, code=doubt.code, path=doubt.path, hint=doubt.hint)

    def _look(self) -> None:
        doubt = self._doubt
        store = self.workspace.store
        try:
            damages = [fault for fault in store.verify() if fault.damage]
            if damages:
                raise DamagedError(damages[0].message, path=damages[0].path)
            store.close()
        except CatmemError as error:
            LOG.error("the store cannot be used: %s", ascii(str(error)))  # noqa: TRY400 - what it says is enough
            return
        with self._lock:
            if self._doubt is doubt:
                self._doubt = None
        LOG.warning("the store is whole, and was opened again after: %s", ascii(str(doubt)))
