"""The mark of a SQLite database: which store it holds, and how many revisions were acknowledged.

A root keeps it in ``.catmem``, apart from the database, as the file store keeps ``published``. With it a database that
is away is not taken for new, and one that lost its end, or is an older copy, is not taken for whole.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from catmem.errors import StoreError, UnreadableError
from catmem.files import os_errors
from catmem.store.lasting import SIDECAR

if TYPE_CHECKING:
    from pathlib import Path

_LIMIT = 4096
_OPENED = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Marked(NamedTuple):
    """The name of the store, and the number of its revisions that somebody was told of."""

    store: str
    revisions: int

    def __bytes__(self) -> bytes:
        """Always of the same length, so that writing it over the last one is one step."""
        return json.dumps({"store": self.store, "revisions": f"{self.revisions:019d}"}).encode()


class Mark:
    """The mark that the root ``root`` keeps of the database at ``path``."""

    def __init__(self, root: Path, path: str) -> None:
        """A path in the root is taken from there, so that a root which is moved as a whole still knows its database."""
        top = os.path.abspath(root)  # noqa: PTH100 - as the path of the database is made
        inside = os.path.commonpath([top, path]) == top
        key = os.path.relpath(path, top) if inside else path
        name = hashlib.sha256(os.fsencode(key)).hexdigest()[:12]
        self.path = root / SIDECAR / f"database-{name}.json"

    def read(self) -> Marked | None:
        """What it says; ``None`` if nothing was acknowledged yet. Raises ``UnreadableError``."""
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
        with os_errors(
            "the mark of the database cannot be written",
            path=self.path,
            hint="Nothing was written. Give whoever runs catmem the right to write there.",
            kind=StoreError,
        ):
            os.close(self._open())

    def raise_to(self, store: str, revisions: int) -> None:
        """Note what is acknowledged next, unless another process noted more. Raises ``StoreError`` and as ``read``."""
        self._write(Marked(store, revisions), only_more=True)

    def set_to(self, store: str, revisions: int) -> None:
        """Take a database as it is now. Raises ``StoreError``."""
        self._write(Marked(store, revisions), only_more=False)

    def _write(self, new: Marked, *, only_more: bool) -> None:
        hint = "The database has the write; see to the disk that keeps the mark."
        with os_errors(
            "the write was made, but its mark cannot be kept", path=self.path, hint=hint, code="io", kind=StoreError
        ):
            descriptor = self._open()
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                said = os.pread(descriptor, _LIMIT, 0)
                old = self._read(said) if only_more else None
                if old is None or old.store != new.store or old.revisions < new.revisions:
                    os.pwrite(descriptor, bytes(new), 0)
                if len(said) != len(bytes(new)):
                    os.ftruncate(descriptor, len(bytes(new)))
                    os.fsync(descriptor)  # it says from now on that there is a database
            finally:
                os.close(descriptor)

    def _open(self) -> int:
        with suppress(FileExistsError):
            self.path.parent.mkdir(mode=0o700)
        return os.open(self.path, _OPENED | os.O_RDWR | os.O_CREAT, 0o600)

    def _read(self, said: bytes) -> Marked | None:
        if not said:
            return None
        try:
            fields = json.loads(said)
            return Marked(str(fields["store"]), int(fields["revisions"]))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self._unreadable("no JSON of it") from error

    def _unreadable(self, why: str) -> UnreadableError:
        return UnreadableError(
            f"does not say which revisions the database of this root has: {why}",
            path=self.path,
            hint="Look whether the database is in its place. If so, remove this file: the next write makes it again.",
        )
