"""A root that is watched, in a thread of its own: outside edits, and the writes of whoever."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from catmem.errors import CatmemError, StoreError
from catmem.service.watching.broken import Broken
from catmem.service.watching.looking import Knowledge
from catmem.service.watching.signals import signals_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from catmem.service.watching.news import News
    from catmem.service.workspace import Workspace

LOG = logging.getLogger("catmem.watching")

AGAIN = 1.0
"""Seconds after which a root that could not be looked at is looked at again."""


class Watch:
    """Looks after a root as long as somebody wants it to.

    ``tell`` is called in the thread of the watch with what is new, in the order in which it was found. What is known
    stays known while it is stopped: when it starts again it tells what came in between. ``start`` and ``stop`` are for
    one thread at a time.
    """

    def __init__(self, workspace: Workspace, tell: Callable[[Sequence[News]], None]) -> None:
        """Nothing is looked at yet."""
        self.workspace = workspace
        self._tell = tell
        self._knowledge = Knowledge()
        self._broken = Broken()
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self._ready = threading.Event()

    def start(self) -> None:
        """Begin, after the end of what was begun before."""
        self._stopped, self._ready = threading.Event(), threading.Event()
        arguments = self._thread, self._stopped, self._ready
        # It holds no lock of anybody's and writes nothing, so a process may end in the middle of it.
        self._thread = threading.Thread(target=self._run, args=arguments, name="catmem-watch", daemon=True)
        self._thread.start()

    def wait_until_ready(self, seconds: float | None = None) -> bool:
        """Wait for the first look, or for the news that none can be made. Whatever happens after that is told."""
        return self._ready.wait(seconds)

    def stop(self) -> None:
        """Have it end; what it has found is still told."""
        self._stopped.set()

    def join(self) -> None:
        """Wait for its end."""
        if self._thread is not None:
            self._thread.join()

    @property
    def is_running(self) -> bool:
        """Whether it has been started, and not stopped."""
        return self._thread is not None and not self._stopped.is_set()

    def _run(self, before: threading.Thread | None, stopped: threading.Event, ready: threading.Event) -> None:
        if before is not None:
            before.join()
        while not stopped.is_set():
            try:
                with self.workspace.anew() as now:
                    self._follow(now, stopped, ready)
            except CatmemError as error:
                self._say(self._knowledge.fail(error))
            except Exception as error:
                LOG.exception("the root cannot be watched")
                failed = StoreError(f"the root cannot be watched: {error}", code="io", path=self.workspace.root)
                self._say(self._knowledge.fail(failed))
            ready.set()
            stopped.wait(AGAIN)

    def _follow(self, workspace: Workspace, stopped: threading.Event, ready: threading.Event) -> None:
        signals = signals_of(workspace, stopped)
        try:
            everything = signals.everything()
            self._broken.forget()
            broken = list(self._broken.look(workspace))
            self._say([*self._knowledge.recover(), *broken])
            self._look(workspace, everything, stopped)
            if stopped.is_set():
                return  # it was no whole look, and the next one is the first
            self._knowledge.begun = True
            ready.set()
            while not stopped.is_set():
                changed = signals.wait()
                self._say(self._broken.look(workspace))
                self._look(workspace, changed, stopped)
        finally:
            signals.close()

    def _look(self, workspace: Workspace, entities: Collection[str], stopped: threading.Event) -> None:
        """Look at some entities; those that are left when it is stopped are looked at when it starts again."""
        if entities:
            left = (entity for entity in sorted(entities) if not stopped.is_set())
            self._say(self._knowledge.look(workspace.store, left))

    def _say(self, news: Iterable[News]) -> None:
        found = list(news)
        if found:
            self._tell(found)
