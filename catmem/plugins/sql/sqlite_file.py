"""The file of a SQLite database: that it is the one it was, with all that was acknowledged, and its log whole.

SQLite makes a file where there is none, and an empty one has no entries. So a database that was once in use is never
made anew. This process knows it by the name of its store, the next ones by the mark that the root keeps in ``.catmem``:
the store, and how many revisions were acknowledged. Until SQLite carries it over, a commit stands in ``-wal`` alone. If
that is removed, replaced or cut short while it is open, later commits go where no other process finds them: so a write
looks before it begins and before it is acknowledged.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import json
import os
import sqlite3
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias

from catmem.config.config import Config
from catmem.errors import DamagedError, StoreError, UnreadableError
from catmem.files import os_errors
from catmem.store.contract import SIDECAR
from catmem.workspace.stores import MARKS_OF_DATABASES

_Inode: TypeAlias = "tuple[int, int] | None"

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

_connections: weakref.WeakValueDictionary[int, Connection] = weakref.WeakValueDictionary()
"""Those of this process that are open, by their ``id``. SQLite shares the index of a log among them."""


class Connection(sqlite3.Connection):
    """A connection that knows which files it has open. One that lost them is never closed.

    Closing the last one carries the log over: that would overwrite what others wrote with the files in their place.
    """

    real = ""
    _process = 0
    _carries_over = True
    _database: _Inode = None
    _files: tuple[_Inode, _Inode] = (None, None)

    def begin(self, path: str) -> None:
        """Take note of the files. SQLite puts them beside what a link leads to."""
        self.real, self._process = os.path.realpath(path), os.getpid()
        self._database, self._files = identity(self.real), self._found()
        _connections[id(self)] = self

    def is_on(self, database: _Inode) -> bool:
        """Whether it is one of this process to a database file."""
        return self._process == os.getpid() and self._database == database

    def close(self) -> None:
        """Close it, unless its log was replaced or damaged."""
        if self._process == os.getpid():
            if not self._may_close():
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))  # not even when the process ends
                return
            _connections.pop(id(self), None)
        super().close()

    def is_in_place(self) -> bool:
        """Whether the files at the path are those that it has open."""
        known, found = self._files, self._found()  # in this order: another thread may learn of them meanwhile
        if None in known:
            self._files = known = found  # they were made later
        return found == known

    def carry_over(self, *, automatically: bool) -> None:
        """Whether a commit carries a long log over to the database, as SQLite does by itself."""
        if automatically != self._carries_over:
            self.execute(f"PRAGMA wal_autocheckpoint = {_AUTOMATIC if automatically else 0}").close()
            self._carries_over = automatically

    def _may_close(self) -> bool:
        is_theirs = any(found not in {None, was} for found, was in zip(self._found(), self._files, strict=True))
        return not is_theirs and not _end_of(self.real).is_headless

    def _found(self) -> tuple[_Inode, _Inode]:
        return identity(f"{self.real}-wal"), identity(f"{self.real}-shm")


class Log:
    """The log of a database, as one store has it open."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._real = os.path.realpath(path)
        self._before = self._end = _EMPTY

    def refuse_open(self) -> None:
        """Raise ``StoreError`` if a connection of this process lost its files: a new one would mix them with others."""
        database = identity(self._real)
        # A copy that is made in one step: other threads open connections meanwhile.
        opened = [each for ref in _connections.valuerefs() if (each := ref()) is not None]
        # The last one that is closed removes the log: a thread, or the collection of garbage, may do so just now.
        if any(each.is_on(database) and not each.is_in_place() and id(each) in _connections for each in opened):
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
    try:
        with open(f"{real}-wal", "rb", buffering=0) as log:  # noqa: PTH123 - text in hand
            size, header = os.fstat(log.fileno()).st_size, log.read(_HEADER)  # in this order: others may begin it now
    except FileNotFoundError:
        return _EMPTY
    return _End(header[_SALTS] if header.startswith(_MAGIC) else b"", size)


def identity(path: str) -> _Inode:
    """Device and inode of what is at a path, ``None`` for nothing that can be looked at."""
    try:
        status = os.stat(path)  # noqa: PTH116 - asked at each write
    except OSError:
        return None
    return status.st_dev, status.st_ino


_LIMIT = 1 << 16
_OPENED = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Marked(NamedTuple):
    store: str
    revisions: int


class FileMark:
    """The mark that a root keeps of the database at ``path``. Without a root there is none, and none is made."""

    def __init__(self, root: Path | None, path: str) -> None:
        """A path in the root is taken from there, so that a root which is moved as a whole still knows its database."""
        self._root, self._database = root, path
        self.path = self.of(path)

    def of(self, path: str) -> Path | None:
        """Where the root keeps that of the database at ``path``."""
        if self._root is None:
            return None
        return self._root / SIDECAR / f"database-{hashlib.sha256(os.fsencode(self._key(path))).hexdigest()[:12]}.json"

    def _key(self, path: str) -> str:
        top = os.path.abspath(str(self._root))  # noqa: PTH100 - as the path of the database is made
        return os.path.relpath(path, top) if os.path.commonpath([top, path]) == top else path

    def others(self) -> list[Path]:
        """Those that the root keeps of other databases."""
        kept = [] if self._root is None else self._root.glob(MARKS_OF_DATABASES)
        return sorted(each for each in kept if each != self.path)

    def read(self) -> Marked | None:
        """What it says; ``None`` if nothing was acknowledged yet. Raises ``UnreadableError``."""
        if self.path is None:
            return None
        try:
            descriptor = os.open(self.path, _OPENED)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH)  # another process may be writing it
                return self._read(os.pread(descriptor, _LIMIT, 0))
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(error.strerror or str(error)) from error

    def prepare(self) -> None:
        """Make the file, before anything is written of which it could not tell. Raises ``StoreError``."""
        if self.path is None:
            return
        with os_errors(
            "the mark of the database cannot be written",
            path=self.path,
            hint="Nothing was written. Give the user who runs catmem the right to write there.",
            kind=StoreError,
        ):
            os.close(_open_mark(self.path))

    def write(self, store: str, revisions: int, *, only_more: bool, is_copied: bool = False) -> None:
        """Note what is acknowledged; ``only_more``: unless another process noted more. Raises ``StoreError``.

        ``is_copied``: another store has it all too. That holds until more is acknowledged.
        """
        if self.path is None:
            return
        noted = {"store": store, "revisions": f"{revisions:019d}", "copied": is_copied}
        new = json.dumps(noted | {"database": f"sqlite:///{self._key(self._database)}"}).encode()
        hint = "The database has the write; see to the disk that keeps the mark."
        with os_errors(
            "the write was made, but its mark cannot be kept", path=self.path, hint=hint, code="io", kind=StoreError
        ):
            descriptor = _open_mark(self.path)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                said = os.pread(descriptor, _LIMIT, 0)
                old = self._read(said) if only_more else None
                is_same = old == (store, revisions)
                is_news = old is None or old.store != store or old.revisions < revisions
                if is_same if is_copied else is_news:
                    os.pwrite(descriptor, new.ljust(len(said)), 0)  # never shorter: one step
                    if len(said) < len(new):
                        os.fsync(descriptor)  # it says from now on that there is a database
            finally:
                os.close(descriptor)

    def _read(self, said: bytes) -> Marked | None:
        if not said:
            return None
        try:
            fields = json.loads(said)
            return Marked(str(fields["store"]), int(fields["revisions"]))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self._unreadable("no JSON of it") from error

    def _unreadable(self, why: str) -> UnreadableError:
        hint = "Look whether the database is in its place. If so, remove this file: the next write makes it again."
        message = f"does not say which revisions the database of this root has: {why}"
        return UnreadableError(message, path=self.path, hint=hint)


def left_databases(config: Config) -> dict[Path, str]:
    """The marks of databases that a root was in, and that no whole copy brought to another store, with their names."""
    found: dict[Path, str] = {}
    for mark in sorted(config.root.glob(MARKS_OF_DATABASES)):
        name = "sqlite:///…"  # of a mark that is older, or damaged
        with suppress(OSError, ValueError, KeyError, TypeError):
            said = json.loads(mark.read_bytes() or b'{"copied": true}')  # an empty one is of no write
            name = "" if said["copied"] else said["database"]
        if name:
            found[mark] = name
    return found


def _open_mark(path: Path) -> int:
    with suppress(FileExistsError):
        path.parent.mkdir(mode=0o700)
    return os.open(path, _OPENED | os.O_RDWR | os.O_CREAT, 0o600)


class DatabaseFile:
    """The file at ``path``, of the root ``root`` if it is in use there. For several threads."""

    def __init__(self, path: str, root: Path | None) -> None:
        self.path = path
        self.mark = FileMark(root, path)
        self.store: str | None = None
        """The name of the store of which this process has seen the tables in it."""

    def is_there(self) -> bool:
        """Whether there is a file: false only where there never was one. Raises as ``refuse_loss``."""
        try:
            os.lstat(self.path)
        except FileNotFoundError:
            self.refuse_loss()
            return False
        except OSError as error:
            raise self._hidden(error) from error
        return True

    def refuse_loss(self) -> None:
        """Raise ``StoreError`` (``database_gone``) if there is no file, or an empty one, where there was a database."""
        if self._size(self.path):
            return
        # SQLite removes a log that stands beside an empty file, with all that is in it.
        if self.is_lasting() or self._size(f"{self.path}-wal"):
            if self._size(self.path):
                return  # another process has just made it
            raise self.gone()
        self.refuse_elsewhere()

    def refuse_elsewhere(self) -> None:
        """Raise ``StoreError`` (``database_gone``) if there is no file, and the root had another one."""
        others = [each for each in self.mark.others() if self._size(str(each))]
        if others and not self._size(self.path):
            raise self._elsewhere(others)

    def is_lasting(self) -> bool:
        """Whether this process has seen a store in it, or the root has had one there. Raises ``UnreadableError``."""
        return self.store is not None or self.mark.read() is not None

    def refuse_other(self, store: str, revisions: Callable[[], int]) -> None:
        """Raise for another store than the one that is known here, and for one with less than was acknowledged."""
        marked = self.mark.read()
        if {self.store, marked and marked.store} - {None, store}:
            raise self.other()
        self._refuse_less(marked, revisions())  # counted behind the mark: another process may write meanwhile

    def refuse_behind(self, revisions: int) -> None:
        """Raise ``DamagedError`` for less than was acknowledged; for a writer, while no other can be at it."""
        self._refuse_less(self.mark.read(), revisions)

    def _refuse_less(self, marked: Marked | None, revisions: int) -> None:
        if marked is not None and revisions < marked.revisions:
            lost = marked.revisions - revisions
            said = "1 acknowledged revision is" if lost == 1 else f"{lost:,} acknowledged revisions are"
            raise DamagedError(
                f"{said} not in the database: it lost its -wal, or is an older copy",
                path=self.path,
                hint="Nothing was written. Put its -wal back, or restore a newer backup. If there is none, 'catmem "
                "fsck --repair' takes the database as it is; the numbers of lost revisions are then used again.",
            )

    def acknowledge(self, revisions: int) -> None:
        """Mark that the store has so many revisions, before they are acknowledged. Raises ``StoreError``."""
        if self.store is not None:
            self.mark.write(self.store, revisions, only_more=True)

    def accept(self, store: str, revisions: Callable[[], int]) -> str | None:
        """Take the database as it is, also if it is another one or has lost something; says so then."""
        said = None
        try:
            self.refuse_other(store, revisions)
        except StoreError as error:
            said = f"{error.message}; it is taken as it is"
        self.store = store
        self.mark.write(store, revisions(), only_more=said is None)
        return said

    def gone(self, what: str = "is not there any more", op_id: str | None = None) -> StoreError:
        """The error for a database that went away; ``op_id`` is that of a write that was made just before."""
        again = anew = ""
        if op_id is not None:
            again = "The last write went to the database that is away: "
            again += f"repeat it with the op_id {op_id!r} when that is back. "
        if self.mark.path is not None:
            anew = "If this root is to begin anew: end the programs that use it, and remove what is left of the "
            anew += f"database and {SIDECAR}/{self.mark.path.name}."
        return StoreError(
            f"the database {what}",
            code="database_gone",
            path=self.path,
            hint="Put it back, with its -wal and -shm if they were moved too; nothing is made in its place. "
            f"{again}{anew}",
        )

    def _elsewhere(self, others: Sequence[Path]) -> StoreError:
        """The error for a database that is not there in a root that has had others, of which it keeps the marks."""
        beside = os.path.dirname(self.path)  # noqa: PTH120 - text, as above
        names = os.listdir(beside) if os.path.isdir(beside) else []  # noqa: PTH112, PTH208
        known = [name for name in names if self.mark.of(os.path.join(beside, name)) in others]  # noqa: PTH118
        near = f" {known[0]}, which lies beside it, is one." if known else ""
        marks = " and ".join(f"{SIDECAR}/{each.name}" for each in others)
        return StoreError(
            "there is no database, and the memory of this root was in another one",
            code="database_gone",
            path=self.path,
            hint=f"Nothing was made. See whether 'store' in catmem.yaml names the right file.{near} If this root is to "
            f"begin anew, remove {marks}.",
        )

    def other(self) -> StoreError:
        return StoreError(
            "another database stands in its place",
            code="other_database",
            path=self.path,
            hint="Nothing was written to it. Put the right one back. If this one is meant: end the programs that use "
            "the old one, see that no -wal and -shm of that lie beside, and run 'catmem fsck --repair'.",
        )

    def make(self) -> None:
        """Make the file, which no other user may read, where there never was one, and ``.catmem`` for it."""
        self.refuse_loss()
        folder = os.path.dirname(self.path)  # noqa: PTH120 - text, as the driver takes it
        # What cannot be made is for the driver to tell, which opens the file next.
        if os.path.basename(folder) == SIDECAR:  # noqa: PTH119
            with suppress(OSError):
                os.mkdir(folder, 0o700)  # noqa: PTH102
        with suppress(OSError):
            real = os.path.realpath(self.path)  # of a link to where the file is to be
            os.close(os.open(real, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))

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
        message = f"it is unknown whether the database is there: {error.strerror or error}"
        hint = "Nothing was written. The user who runs catmem has to be able to look into its folder."
        return StoreError(message, code="not_available", path=self.path, hint=hint)
