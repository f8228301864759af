"""The file of a SQLite database: that it is there, and the one that it was.

SQLite makes a file where there is none, and an empty one has no entries: whoever reads it would see that nobody
remembers anything, and what is written there covers what comes back. So a database that was once in use is never made
anew. It is known in this process by the name of its store, and in the next ones by what the root keeps (``known``).
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from catmem.errors import CatmemError, StoreError
from catmem.store.lasting import SIDECAR
from catmem.store.sql.faults import DriverError, fault_of
from catmem.store.sql.known import NAME, known_store, remember

_SQL_ERROR = 1
"""SQLite's code for a statement that cannot be: here, that there is no such table."""


class DatabaseFile:
    """The file at ``path``, of the root ``root`` if it is in use there. For several threads."""

    def __init__(self, path: str, root: Path | None) -> None:
        """Nothing is looked at yet. ``path`` is absolute."""
        self.path = path
        self._root = root
        self._store: str | None = None

    @property
    def is_known(self) -> bool:
        """Whether this process has seen the tables of a store in it."""
        return self._store is not None

    @property
    def uri(self) -> str:
        """What opens the file, and makes none."""
        return f"{Path(self.path).as_uri()}?mode=rw"

    def identity(self) -> tuple[int, int] | None:
        """Device and inode of what is at the path, ``None`` for nothing that can be looked at."""
        try:
            status = os.stat(self.path)  # noqa: PTH116 - asked at each transaction
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def is_there(self) -> bool:
        """Whether there is a file: false only where there never was one. Raises as ``refuse_loss``."""
        if self._lies_there(self.path):
            return True
        self.refuse_loss()
        return False

    def refuse_loss(self) -> None:
        """Raise ``StoreError`` (``database_gone``) if there is no file, or an empty one, where there was a database.

        Raises ``UnreadableError`` where nobody can tell.
        """
        if self._size(self.path):
            return
        # SQLite removes a log that stands beside an empty file, with all that is in it.
        if self.is_lasting() or self._size(f"{self.path}-wal"):
            if self._size(self.path):
                return  # somebody has just made it
            raise self.gone()

    def is_lasting(self) -> bool:
        """Whether this process has seen a store in it, or the root has had one there. Raises ``UnreadableError``."""
        return self.is_known or (self._root is not None and known_store(self._root, self.path) is not None)

    def refuse_other(self, store: str | None) -> None:
        """Raise ``StoreError`` (``other_database``) if this process knows another store than ``store`` here."""
        if self._store is not None and store != self._store:
            raise self.other("another database stands in its place")

    def look(self) -> str | None:
        """The name of the store in what is at the path now, ``None`` if it has none. Raises as a statement does."""
        try:
            with closing(sqlite3.connect(self.uri, uri=True, timeout=1)) as connection:
                found = connection.execute("SELECT store FROM catmem_schema").fetchone()
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == _SQL_ERROR:
                return None
            raise fault_of(DriverError(error, is_connecting=True), self.path) from error
        return None if found is None else str(found[0])

    def learn(self, store: str) -> None:
        """Take note of the store that is in it."""
        self._store = store

    def remember(self) -> None:
        """Have the root keep that it has this database."""
        if self._root is not None and self._store is not None:
            # It guards against what comes later. What was just written is right without it.
            with suppress(OSError, CatmemError):
                remember(self._root, self.path, self._store)

    def gone(self, what: str = "is not there any more", op_id: str | None = None) -> StoreError:
        """The error for a database that went away; ``op_id`` is that of a write that was made just before."""
        return StoreError(
            f"the database {what}",
            code="database_gone",
            path=self.path,
            hint=f"Put it back, with its -wal and -shm if they were moved too; nothing is made in its place. "
            f"{_again(op_id)}If this root is to begin anew: end the programs that use it, and remove what is left of "
            f"the database and {SIDECAR}/{NAME}.",
        )

    def other(self, what: str, op_id: str | None = None) -> StoreError:
        """The error for another file in the place of the database."""
        return StoreError(
            what,
            code="other_database",
            path=self.path,
            hint=f"Nothing was written to it. Put the right one back. {_again(op_id)}If this one is meant: end the "
            "programs that use the old one, see that no -wal and -shm of that lie beside, and start them again.",
        )

    def make(self) -> None:
        """Make the file, which nobody else may look into, where there never was one; SQLite's own will be like it.

        ``.catmem`` of the root is made for it too, as all that keeps something there does. Raises as ``refuse_loss``.
        """
        self.refuse_loss()
        folder = os.path.dirname(self.path)  # noqa: PTH120 - text, as the driver takes it
        # What cannot be made is for the driver to tell, which opens the file next.
        if os.path.basename(folder) == SIDECAR:  # noqa: PTH119
            with suppress(OSError):
                os.mkdir(folder, 0o700)  # noqa: PTH102
        with suppress(OSError):
            real = os.path.realpath(self.path)  # of a link to where the file is to be
            os.close(os.open(real, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))

    def _lies_there(self, path: str) -> bool:
        try:
            os.lstat(path)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._hidden(error) from error
        return True

    def _size(self, path: str) -> int:
        """Bytes of a file, 0 if there is none; what is no file counts as one that is not empty."""
        try:
            status = os.stat(path)  # noqa: PTH116 - as above
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise self._hidden(error) from error
        return status.st_size

    def _hidden(self, error: OSError) -> StoreError:
        return StoreError(
            f"nobody can tell whether the database is there: {error.strerror or error}",
            code="not_available",
            path=self.path,
            hint="Nothing was written. Whoever runs catmem has to be able to look into its folder.",
        )


def _again(op_id: str | None) -> str:
    if op_id is None:
        return ""
    return f"The last write went to the database that is away: repeat it with the op_id {op_id!r} when that is back. "


def open_existing(dialect: Any, record: Any, arguments: list[Any], options: dict[str, Any], *, uri: str) -> None:  # noqa: ANN401 - SQLAlchemy's
    """Have a connection opened by ``uri``: for SQLAlchemy's ``do_connect``."""
    del dialect, record
    arguments[:] = [uri]
    options["uri"] = True
