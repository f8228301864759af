"""The write-ahead log of a SQLite database: that it is the one which is open, and whole.

Until SQLite carries it over, a commit stands in ``-wal`` alone. If the file is removed, replaced or cut short while it
is open, later commits go where no other process finds them. So a write looks before it begins and before it is
acknowledged. What was lost before, the mark of the database tells (``database_file``).
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import weakref
from typing import NamedTuple, TypeAlias

from catmem.errors import StoreError

_File: TypeAlias = "tuple[int, int] | None"

_HEADER = 32
_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_SALTS = slice(16, 24)


class _End(NamedTuple):
    """The salts of a log, which it has anew each time that it begins from its start, and its length."""

    salts: bytes
    size: int

    @property
    def is_headless(self) -> bool:
        """Whether there is something that a next process will not read."""
        return not self.salts and self.size > 0

    def is_part_of(self, other: _End) -> bool:
        """Whether it is the other one cut short."""
        return self.salts == other.salts and self.size < other.size


_EMPTY = _End(b"", 0)

_connections: weakref.WeakSet[Connection] = weakref.WeakSet()
"""Those of this process that are open. SQLite shares the index of a log among them."""


class Connection(sqlite3.Connection):
    """A connection that knows which files it has open. One that lost them is never closed.

    Closing the last one carries the log over: that would overwrite what others wrote with the files in their place.
    """

    real = ""
    _process = 0
    _carries_over = True
    _database: _File = None
    _files: tuple[_File, _File] = (None, None)

    def begin(self, path: str) -> None:
        """Take note of the files. SQLite puts them beside what a link leads to."""
        self.real, self._process = os.path.realpath(path), os.getpid()
        self._database, self._files = identity(self.real), self._found()
        _connections.add(self)

    def is_on(self, database: _File) -> bool:
        """Whether it is one of this process to a database file."""
        return self._process == os.getpid() and self._database == database

    def close(self) -> None:
        """Close it, unless its log was replaced or damaged."""
        if self._process == os.getpid():
            if not self._may_close():
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))  # not even when the process ends
                return
            _connections.discard(self)
        super().close()

    def is_in_place(self) -> bool:
        """Whether the files at the path are those that it has open."""
        found = self._found()
        if None in self._files:
            self._files = found  # they were made later
        return found == self._files

    def carry_over(self, *, automatically: bool) -> None:
        """Whether a commit carries a long log over to the database, as SQLite does by itself."""
        if automatically != self._carries_over:
            self.execute(f"PRAGMA wal_autocheckpoint = {_AUTOMATIC if automatically else 0}").close()
            self._carries_over = automatically

    def _may_close(self) -> bool:
        is_theirs = any(found not in {None, was} for found, was in zip(self._found(), self._files, strict=True))
        return not is_theirs and not _end_of(self.real).is_headless

    def _found(self) -> tuple[_File, _File]:
        return identity(f"{self.real}-wal"), identity(f"{self.real}-shm")


class Log:
    """The log of a database, as one store has it open."""

    def __init__(self, path: str) -> None:
        """Nothing is looked at yet."""
        self.path = path
        self._real = os.path.realpath(path)
        self._before = self._end = _EMPTY

    def refuse_open(self) -> None:
        """Raise ``StoreError`` if a connection of this process lost its files: a new one would mix them with others."""
        database = identity(self._real)
        if not all(each.is_in_place() for each in list(_connections) if each.is_on(database)):
            raise self._lost(None)

    def begin_write(self, connection: Connection) -> None:
        """Raise ``StoreError`` if the log is not the one that is open, or is shorter than after the last write here."""
        self._before = found = _end_of(self._real)
        is_cut = bool(self._end.salts) and (found.is_headless or found.is_part_of(self._end))
        if is_cut or not connection.is_in_place():
            raise self._lost(None)
        if self._end.salts and found == _EMPTY:
            # Another process may have emptied it rightly. If not, this commit may carry nothing of it over.
            connection.carry_over(automatically=False)

    def end_write(self, connection: Connection, op_id: str | None) -> None:
        """Raise ``StoreError`` if what was just committed stands in no log that a next process would read."""
        found = _end_of(self._real)
        if (found.is_headless and found != self._before) or not connection.is_in_place():
            raise self._lost(op_id)
        self._end = found
        connection.carry_over(automatically=True)

    def _lost(self, op_id: str | None) -> StoreError:
        made = (
            f"Whether the last write stays is not known: repeat it then with the op_id {op_id!r}."
            if op_id
            else "Nothing was written."
        )
        return StoreError(
            "its write-ahead log (-wal, -shm) was removed, replaced or cut short while it was open",
            code="read_only",
            path=self.path,
            hint=f"End all programs that have the database open, then run 'catmem fsck': it says whether an "
            f"acknowledged write is missing. {made} Never touch these files of an open database.",
        )


_AUTOMATIC = 1000
"""Pages, as SQLite has it."""


def _end_of(real: str) -> _End:
    """The salts and the length of the log; ``_EMPTY`` if there is none."""
    try:
        with open(f"{real}-wal", "rb", buffering=0) as log:  # noqa: PTH123 - text in hand
            header, size = log.read(_HEADER), os.fstat(log.fileno()).st_size
    except FileNotFoundError:
        return _EMPTY
    return _End(header[_SALTS] if header.startswith(_MAGIC) else b"", size)


def identity(path: str) -> _File:
    """Device and inode of what is at a path, ``None`` for nothing that can be looked at."""
    try:
        status = os.stat(path)  # noqa: PTH116 - asked at each write
    except OSError:
        return None
    return status.st_dev, status.st_ino
