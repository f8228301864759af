"""The file of a SQLite database: that it is there, the one that it was, and has all that was acknowledged.

SQLite makes a file where there is none, and an empty one has no entries: whoever reads it would see that nobody
remembers anything, and what is written there covers what comes back. So a database that was once in use is never made
anew. It is known in this process by the name of its store, and in the next ones by the mark that the root keeps.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from catmem.errors import DamagedError, StoreError
from catmem.store.lasting import SIDECAR
from catmem.store.sql.mark import Mark
from catmem.store.sql.wal import identity

if TYPE_CHECKING:
    from catmem.store.sql.mark import Marked


class DatabaseFile:
    """The file at ``path``, of the root ``root`` if it is in use there. For several threads."""

    def __init__(self, path: str, root: Path | None) -> None:
        """Nothing is looked at yet. ``path`` is absolute."""
        self.path = path
        self._mark = None if root is None else Mark(root, path)
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
        return identity(self.path)

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
        return self.is_known or (self._mark is not None and self._mark.read() is not None)

    def refuse_other(self, store: str, revisions: int) -> None:
        """Raise ``StoreError`` (``other_database``) for another store than the one that is known here.

        Raises ``DamagedError`` if it has less than what was acknowledged, and ``UnreadableError``.
        """
        marked = None if self._mark is None else self._mark.read()
        if {self._store, marked and marked.store} - {None, store}:
            raise self.other()
        self._refuse_behind(marked, revisions)

    def refuse_behind(self, revisions: int) -> None:
        """Raise ``DamagedError`` if it has less than what was acknowledged, and ``UnreadableError``."""
        if self._mark is not None:
            self._refuse_behind(self._mark.read(), revisions)

    def _refuse_behind(self, marked: Marked | None, revisions: int) -> None:
        if marked is not None and revisions < marked.revisions:
            raise self._behind(marked.revisions - revisions)

    def learn(self, store: str) -> None:
        """Take note of the store that is in it."""
        self._store = store

    def prepare(self) -> None:
        """See that a write can be marked. Raises ``StoreError``."""
        if self._mark is not None:
            self._mark.prepare()

    def acknowledge(self, revisions: int) -> None:
        """Mark that the store has so many revisions, of which somebody is told next. Raises ``StoreError``."""
        if self._mark is not None and self._store is not None:
            self._mark.raise_to(self._store, revisions)

    def accept(self, store: str, revisions: int) -> str | None:
        """Take the database as it is, also if it is another one or has lost something; says so then."""
        try:
            self.refuse_other(store, revisions)
        except StoreError as error:
            said = f"{error.message}; it is taken as it is"
        else:
            return None
        self._store = store
        if self._mark is not None:
            self._mark.set_to(store, revisions)
        return said

    def gone(self, what: str = "is not there any more", op_id: str | None = None) -> StoreError:
        """The error for a database that went away; ``op_id`` is that of a write that was made just before."""
        return StoreError(
            f"the database {what}",
            code="database_gone",
            path=self.path,
            hint="Put it back, with its -wal and -shm if they were moved too; nothing is made in its place. "
            f"{_again(op_id)}{self._anew()}",
        )

    def other(self) -> StoreError:
        """The error for another database in its place."""
        return StoreError(
            "another database stands in its place",
            code="other_database",
            path=self.path,
            hint="Nothing was written to it. Put the right one back. If this one is meant: end the programs that use "
            "the old one, see that no -wal and -shm of that lie beside, and run 'catmem fsck --repair'.",
        )

    def _behind(self, lost: int) -> DamagedError:
        said = "1 acknowledged revision is" if lost == 1 else f"{lost:,} acknowledged revisions are"
        return DamagedError(
            f"{said} not in the database: it lost its -wal, or is an older copy",
            path=self.path,
            hint="Nothing was written. Put its -wal back, or restore a newer backup. If there is none, "
            "'catmem fsck --repair' takes the database as it is; the numbers of lost revisions are then used again.",
        )

    def _anew(self) -> str:
        if self._mark is None:
            return ""
        return (
            "If this root is to begin anew: end the programs that use it, and remove what is left of the database and "
            f"{SIDECAR}/{self._mark.path.name}."
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
