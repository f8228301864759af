"""The guarded way to the files of Hermes Agent's store: catmem's file store, under Hermes's own lock.

Every write goes through ``catmem.store``: an external writer's text is taken in before it, and all that ever stood in
the file is in the journal beside it. No ``catmem.yaml`` is needed. By default the disk confirms the journal alone, from
which a file is restored after a power cut; Hermes's own store has it confirm the file and not its name.
"""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from catmem.config.config import NO_ROOT
from catmem.errors import BusyError, CatmemError, UnreadableError
from catmem.files import read_bounded, take_lock
from catmem.names import HERMES_FOLDER
from catmem.store.contract import SIDECAR, Change
from catmem.store.files.file_store import LOCK_TIMEOUT, FileStore
from catmem.store.files.folder import Place
from catmem.text import DEFAULT_LIMITS
from catmem.workspace.stores import merge_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

AGENT = "hermes"
"""The agent on the record of what Hermes's tool wrote."""

logger = logging.getLogger(__name__)


class GuardedFiles:
    """Memory files by their path. Safe to use from several threads and processes; one for a process is enough."""

    def __init__(self, *, durable: bool = False) -> None:
        """``durable``: have the disk confirm each file and its name too, not the journal alone."""
        self.store = FileStore(
            lambda entity: _place(Path(entity)),
            merge=partial(merge_files, NO_ROOT),
            durable=durable,
        )
        self._settled: set[Path] = set()

    def read(self, path: Path) -> bytes:
        """The bytes of a file; none for a missing one. Raises ``UnreadableError`` and ``TooLargeError``."""
        self._settle(path)
        try:
            return read_bounded(path, DEFAULT_LIMITS.file_bytes)
        except UnreadableError as error:
            if error.code != "missing":
                raise
            return b""

    def write(self, path: Path, update: Callable[[bytes], bytes], note: dict[str, object]) -> bytes:
        """Write what ``update`` makes of the file, and give what is there then; see ``Store.commit``.

        ``note`` is kept with the revision, and is read after the update. Raises ``RefusedError`` and ``StoreError``.
        """
        change = Change(agent=AGENT, note=note)
        with self._hermes_lock(path):
            written = self.store.commit(str(path), None, lambda current: update(current.data), change)
        if written.adopted not in {None, "1"}:  # the first is the file as it was found
            said = "%s was changed by another program; what it held is revision %s ('catmem log %s')"
            logger.warning(said, path.name, written.adopted, path)
        return written.data

    def backup(self, path: Path) -> str:
        """Keep a copy of the file beside it, one for each content, and say where. Raises ``StoreError``."""
        with self._hermes_lock(path):
            return str(self.store.backup(str(path)))

    def close(self) -> None:
        """Close what is open; the next call opens it again."""
        self.store.close()
        self._settled.clear()

    def _settle(self, path: Path) -> None:
        """Before the first read: finish what a stopped machine left half done, if the store was ever at work here."""
        if path in self._settled:
            return
        self._settled.add(path)
        if not os.path.lexists(_place(path).path.parent / SIDECAR):
            return
        try:
            self.write(path, lambda data: data, {})
        except CatmemError as error:
            logger.warning("%s is read as it is: %s", path.name, error)

    def _hermes_lock(self, path: Path) -> AbstractContextManager[None]:
        """Hermes's lock, where the store does not take it by itself."""
        if path.is_symlink():
            return _held(path.with_name(f"{path.name}.lock"))  # the store locks beside the file that the link leads to
        if not os.path.isdir(path.parent):  # noqa: PTH112 - before every write
            path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent.name != HERMES_FOLDER:
            # The store takes the lock of any folder where there is one.
            _lock_file(path.with_name(f"{path.name}.lock"))
        return nullcontext()


def _place(path: Path) -> Place:
    """Where the file is: a link to a file stays a link, and the file that it leads to is written."""
    real = Path(os.path.realpath(path)) if path.is_symlink() else path
    return Place(real.parent, (), real.name)


def _lock_file(path: Path) -> None:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold the lock at ``path``. Raises ``BusyError`` if another process holds it too long."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            take_lock(descriptor, LOCK_TIMEOUT)
        except BlockingIOError as error:
            message, hint = "another process holds the lock", "Nothing was written. Try again."
            raise BusyError(message, code="locked", path=path, hint=hint) from error
        yield
    finally:
        os.close(descriptor)
