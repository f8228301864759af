"""Whether anybody has committed anything to a SQLite database, asked so cheaply that each request may ask.

SQLite counts for each connection the commits that others make, in this process or in another (``PRAGMA data_version``).
So one connection that never writes is kept for asking. It looks at the index of the log, which is memory, and waits for
nobody.
"""

from __future__ import annotations

import itertools
import os
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.pool import PoolProxiedConnection

_numbers = itertools.count(1)
_of_parents: list[Watch] = []
"""Those that a process has from its parent: the connections are the parent's, and must not be closed here."""


class Mark(NamedTuple):
    """A state of a database: as long as it is at the same mark, nobody has committed anything."""

    watch: int
    version: int


class Watch:
    """The connection that is asked. Safe in threads; a child of the process has to leave it alone (``leave``)."""

    def __init__(self) -> None:
        """Nothing is opened yet."""
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._engine: Engine | None = None
        self._borrowed: PoolProxiedConnection | None = None
        self._cursor: Any = None
        self._number = 0

    def mark(self, engine: Engine) -> Mark:
        """Where the database is now; opens the connection if that is not done. Raises errors of the driver."""
        with self._lock:
            if self._borrowed is None or engine is not self._engine:
                self._end()
                self._begin(engine)
            return Mark(self._number, self._version())

    def is_at(self, engine: Engine, mark: Mark) -> bool:
        """Whether it is there still. Never waits: false where that cannot be told at once."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if self._borrowed is None or engine is not self._engine or mark.watch != self._number:
                return False
            return self._version() == mark.version
        except engine.dialect.loaded_dbapi.Error:
            return False  # whoever reads the database next is told why
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close the connection; it is opened again when somebody asks."""
        with self._lock:
            self._end()

    def leave(self) -> None:
        """Leave the connection to the parent of this process."""
        _of_parents.append(self)

    def _begin(self, engine: Engine) -> None:
        # One that is new, so that as many as before are left for others: where the log was removed none can be opened.
        with closing(engine.raw_connection()):
            self._engine, self._borrowed = engine, engine.raw_connection()
        driver: Any = self._borrowed.driver_connection
        driver.execute("PRAGMA busy_timeout = 0").close()
        self._cursor = driver.cursor()
        self._number = next(_numbers)

    def _version(self) -> int:
        ((version,),) = self._cursor.execute("PRAGMA data_version").fetchall()
        return int(version)

    def _end(self) -> None:
        borrowed, self._borrowed, self._cursor, self._engine = self._borrowed, None, None, None
        if borrowed is not None and self._process == os.getpid():
            borrowed.invalidate()  # it is closed, and not given to somebody who writes
