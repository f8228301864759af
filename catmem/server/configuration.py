"""``catmem.yaml`` while the server runs: a change of it counts from the next request on.

What cannot be taken over, a file that is not right or a setting that is read at the start alone, is never passed over
in silence: it may have been meant to forbid something. Until it is settled the configuration before it counts for
reading, and nothing is written.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from typing import TYPE_CHECKING, TypeAlias

from catmem.errors import CatmemError, ConfigError, StoreError, UnreadableError
from catmem.policy.config import CONFIG_NAME, load_config
from catmem.server.api.kept import KeptAnswers
from catmem.server.limits import OWN_LOOK, is_open
from catmem.service.overview import Overviews
from catmem.service.workspace import with_config

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Receive, Scope, Send

    from catmem.policy.config import Config
    from catmem.service.workspace import Workspace

LOG = logging.getLogger("catmem.server")

_Mark: TypeAlias = tuple[int, ...]
_SETTLED = 50_000_000
"""Nanoseconds after which a second change of a file has another time than the first, on every clock of a disk."""
_AGAIN = 1.0
"""Seconds until a store that could not be opened is tried again."""
_READS = frozenset({"GET", "HEAD"})
_METRICS = "/metrics"
"""Its numbers say themselves what cannot be read."""


class Configuration:
    """The workspace of an application, with ``catmem.yaml`` as it is now. Belongs to the thread of the loop.

    ``trouble`` is what keeps the file from being taken over, ``None`` for nothing.
    """

    def __init__(self, app: Starlette, prepare: Callable[[], object]) -> None:
        """``app.state.workspace`` is what begins; ``prepare`` gets new overviews ready, in a thread."""
        self._app = app
        self._prepare = prepare
        self._lock = asyncio.Lock()
        self._read: _Mark | None = None
        self._again = 0.0
        self._others: list[Workspace] = []
        self.trouble: CatmemError | None = None

    @property
    def is_root_gone(self) -> bool:
        """Whether the folder of the root was away at the last look."""
        return isinstance(self.trouble, UnreadableError) and self.trouble.path == str(self._app.state.workspace.root)

    async def catch_up(self) -> None:
        """Take the configuration over, if it is another one. Raises nothing: ``trouble`` says what went wrong."""
        if self._is_read():
            return
        async with self._lock:
            if self._is_read():
                return
            before: Workspace = self._app.state.workspace
            read = self._mark()
            found = await asyncio.get_running_loop().run_in_executor(None, _look, before)
            # Of a file that was changed just now, the next change may have the same time.
            is_settled = read[-1:] == (0,) or not 0 <= time.time_ns() - read[2] < _SETTLED
            self._read = read if is_settled else None
            if isinstance(found, CatmemError):
                self._fail(found)
                return
            if self.trouble is not None:
                LOG.warning("catmem.yaml is right again")
                self.trouble = None
            if found is not None:
                self._take_over(before, found)

    def _is_read(self) -> bool:
        if isinstance(self.trouble, StoreError) and time.monotonic() >= self._again:
            return False
        return self._read is not None and self._mark() == self._read

    def _mark(self) -> _Mark:
        """What tells whether the file was changed: inode, size and times; errno, whether the root is there, and 0."""
        try:
            found = os.stat(self._app.state.workspace.root / CONFIG_NAME)  # noqa: PTH116 - at every request
        except OSError as error:
            return error.errno or 1, int(self._app.state.workspace.root.is_dir()), 0
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def _fail(self, error: CatmemError) -> None:
        self._again = time.monotonic() + _AGAIN
        if self.trouble is None or str(self.trouble) != str(error):
            LOG.error("catmem.yaml is not taken over, and nothing is written: %s", ascii(str(error)))
        self.trouble = error

    def _take_over(self, before: Workspace, now: Workspace) -> None:
        """Let all that looks at the root look at it by the new configuration. Answers that were kept are of the old."""
        state = self._app.state
        state.workspace, state.kept = now, KeptAnswers()
        state.mender.workspace = now
        if hasattr(state, "overviews"):
            state.overviews = Overviews(now)
            state.workers.pool.submit(self._prepare)
        if hasattr(state, "meter"):
            state.meter.look_at(now)
        if before.store is not now.store:
            # Who still reads or writes by the old one opens it again; it is closed in the end.
            self._others.append(now)
            state.workers.pool.submit(before.store.close)
        LOG.warning("catmem.yaml was changed, and is in force")

    def close(self) -> None:
        """Close what was opened here."""
        for workspace in self._others:
            workspace.store.close()


def _look(before: Workspace) -> Workspace | CatmemError | None:
    """The workspace with the configuration as it is now, ``None`` for the same one, or what is wrong."""
    try:
        _refuse_no_root(before)
        config = load_config(before.root)
        _refuse_other_start(before.config, config)
        if config == before.config:
            return None
        now = with_config(before, config)
        now.store  # noqa: B018 - two threads would open two
    except CatmemError as error:
        return error
    return now


def _refuse_no_root(before: Workspace) -> None:
    """Raise ``UnreadableError`` if the folder of the root is away: an empty one would be read in its place."""
    if not before.root.is_dir():
        raise UnreadableError(
            "the root is not there",
            code="missing",
            path=before.root,
            hint="Bring it back, for example by mounting its disk. Nothing is read or written until then.",
        )


def _refuse_other_start(before: Config, now: Config) -> None:
    """Raise ``ConfigError`` for what a server cannot take over while it runs."""
    if before.path is not None and now.path is None:
        raise ConfigError(
            "catmem.yaml is gone",
            code="config_gone",
            path=before.path,
            hint="Nothing is written until it is back. To serve the root without one, start the server again.",
        )
    changed = [name for name in ("store", "server") if getattr(before, name) != getattr(now, name)]
    if changed:
        raise ConfigError(
            f"{' and '.join(changed)} in catmem.yaml {'was' if len(changed) == 1 else 'were'} changed, which is read "
            "at the start of the server alone",
            code="restart_needed",
            path=now.path,
            hint="Nothing is written until the server is started again, or it is as it was.",
        )


class Configured:
    """Has each request answered by ``catmem.yaml`` as it is now, and lets none write where that is not known.

    Where the whole root is away none reads either.
    """

    def __init__(self, app: ASGIApp) -> None:
        """``app`` answers."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises what is wrong with ``catmem.yaml`` for one that writes, with the root for all."""
        if scope["type"] == "http" and not is_open(scope["path"]):
            configuration: Configuration = scope["app"].state.configuration
            await configuration.catch_up()
            trouble = configuration.trouble
            reads = scope["method"] in _READS and not (configuration.is_root_gone and scope["path"] != _METRICS)
            if trouble is not None and not reads and scope["path"] not in OWN_LOOK:
                raise trouble.with_traceback(None)
        await self._app(scope, receive, send)
