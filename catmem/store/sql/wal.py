"""The files beside a SQLite database while it is open: its write-ahead log ``-wal``, and the index of that, ``-shm``.

Until SQLite carries it over, what was committed stands in the log alone. Who removes the log, or puts another in its
place, while a connection has it open takes that away, and what is committed later goes to a file that nobody else sees.
So a write looks, before it begins and before it is acknowledged, whether the files are those that are open.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import weakref
from typing import TYPE_CHECKING, Any, TypeAlias

from catmem.errors import StoreError

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from catmem.store.sql.watch import Watch

_File: TypeAlias = "tuple[int, int] | None"

_logs: dict[tuple[object, ...], WriteAheadLog] = {}


def log_of(path: str) -> WriteAheadLog:
    """The log of the database at ``path``: one for the whole process, since SQLite shares its index in a process."""
    real = os.path.realpath(path)
    return _logs.setdefault((os.getpid(), real, _identity(real)), WriteAheadLog(real))


class WriteAheadLog:
    """The log of a database, as the connections of this process have it open."""

    def __init__(self, real: str) -> None:
        """``real`` is the path of the database; SQLite puts its files beside what a link leads to."""
        self._paths = f"{real}-wal", f"{real}-shm"
        self._known: tuple[_File, _File] | None = None
        self._open: dict[int, Any] = {}
        self._leaving: set[int] = set()
        self._engines: weakref.WeakSet[Engine] = weakref.WeakSet()
        self._watches: weakref.WeakSet[Watch] = weakref.WeakSet()
        self.is_lost = False
        """Whether another log stands in its place. This process can then have the database open in no right way."""

    def follow(self, engine: Engine, watch: Watch) -> None:
        """Know from now on which connections an engine has, and the one that its watch keeps of them."""
        from sqlalchemy import event

        self._engines.add(engine)
        self._watches.add(watch)
        event.listen(engine, "connect", self._opened)
        event.listen(engine, "close", self._closed)
        event.listen(engine, "checkin", self._came_back)

    def _opened(self, connection: Any, _: object) -> None:  # noqa: ANN401 - the driver's
        self._open[id(connection)] = connection

    def _closed(self, connection: Any, _: object) -> None:  # noqa: ANN401 - the driver's
        self._open.pop(id(connection), None)
        self._leaving.discard(id(connection))
        if not self._open:
            self._known = None  # the last one takes the files away, as it should

    def _came_back(self, connection: Any, record: Any) -> None:  # noqa: ANN401 - the driver's, the pool's
        if id(connection) in self._leaving:
            record.invalidate()

    def is_in_place(self) -> bool:
        """Whether the files are those that are open."""
        if self._known is None:
            found = self._found()
            if self._open and None not in found:
                self._known = found
            return not self.is_lost
        return not self.is_lost and self._found() == self._known

    def lies_beside(self) -> bool:
        """Whether the files that are open stand at the path; if nobody looked at them before, any that stand there."""
        if not self._open:
            return False
        known = self._known or self._found()
        return any(found is not None and found in known for found in self._found())

    def _found(self) -> tuple[_File, _File]:
        return _identity(self._paths[0]), _identity(self._paths[1])

    def save(self) -> bool:
        """Carry over what an open log holds that was removed; returns whether all of it is in the database now.

        Where another log stands in its place somebody may have written with that one. Then nothing is carried over, and
        no connection is ever closed: closing the last one would carry over, and so overwrite their pages.
        """
        connections = list(self._open.values())
        known = self._known or (None, None)
        self.is_lost = self.is_lost or any(
            found not in {None, was} for found, was in zip(self._found(), known, strict=True)
        )
        if not self.is_lost and any(_carried_over(connection) for connection in connections):
            for engine in list(self._engines):
                engine.dispose()  # others of this process would keep the index of the old log in use
            for watch in list(self._watches):
                watch.close()
            self._leaving.update(self._open)  # as soon as nobody uses them
            return True
        self.is_lost = True
        for connection in connections:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))  # not even when the process ends
        for engine in list(self._engines):
            engine.dispose(close=False)
        self._open.clear()
        return False

    def in_doubt(self, name: str, op_id: str | None, *, saved: bool) -> StoreError:
        """The error for a write on a log that is gone; ``op_id`` is that of a write that was made just before."""
        again = f" Repeat the write with the op_id {op_id!r}: what was made is not made twice." if op_id else ""
        if saved:
            safe = f"All that was acknowledged is in the database now, and safe.{again or ' Try again.'}"
        else:
            safe = (
                "What was acknowledged since the last checkpoint may be missing: end all programs that have the "
                "database open, run catmem fsck, and look with catmem log at what there is. This program neither "
                f"reads nor writes it until it is started again.{again}"
            )
        return StoreError(
            "somebody removed or replaced its write-ahead log (-wal, -shm) while it was open",
            code="read_only",
            path=name,
            hint=f"{safe} Never remove these files of a database that is open.",
        )


def _carried_over(connection: Any) -> bool:  # noqa: ANN401 - the driver's
    """Carry the log of a connection over to the database; whether all of it was."""
    try:
        ((busy, there, done),) = connection.execute("PRAGMA wal_checkpoint(FULL)").fetchall()
    except sqlite3.Error:
        return False  # another connection may have the log free
    return bool(not busy and there == done)


def _identity(path: str) -> _File:
    try:
        status = os.stat(path)  # noqa: PTH116 - asked at each write
    except OSError:
        return None
    return status.st_dev, status.st_ino
