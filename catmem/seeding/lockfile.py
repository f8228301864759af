"""The file ``catmem.seed.lock`` of a root: read as it is, written by one seed at a time.

From it follows which entries are copies that a seed made, and that stand as they were seeded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache

from catmem import clock
from catmem.errors import BusyError, CatmemError, UnreadableError
from catmem.files import os_errors, read_bounded, rewrite_file, take_lock
from catmem.names import parts_of
from catmem.seeding.seed_lock import LOCK_NAME, SeedLock, SeedRecord, read_lock
from catmem.workspace.root import Root

LOCK_LIMIT = 256 << 20
"""Bytes of a lock, which has the texts of many files."""
_PATIENCE = 60.0
"""Seconds that a seed waits for another to end."""
_HINT = "A seed keeps there what it seeded. Check the rights of the folder and the space on the disk."


class SeedFile:
    """The lock file of a root, as bytes and as what they say."""

    def __init__(self, workspace: Root) -> None:
        """The file need not exist."""
        self.root = workspace.root
        self.path = workspace.root / LOCK_NAME
        self._category = workspace.config.taxonomy.of_slug

    def read(self) -> tuple[bytes, SeedLock]:
        """The bytes, none for a missing file, and the records. Raises ``UnreadableError``, ``ConfigError``."""
        # A category may have another name by now, of which the one on record is an alias.
        data = self.data()
        return data, read_lock(data, path=str(self.path)).renamed(self._category)

    def data(self) -> bytes:
        """The bytes alone."""
        try:
            # It is written as well, and a link would lead a write out of the root.
            return read_bounded(self.path, LOCK_LIMIT, follow_symlink=False)
        except UnreadableError as error:
            # Another seed may have written it since; a link that leads nowhere is refused.
            if error.code == "missing" and not self.path.is_symlink():
                return b""
            raise

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other seeds and syncs of this root out. Raises ``BusyError`` (``locked``) and ``UnreadableError``."""
        with self._writing():
            folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if not os.access(self.root, os.W_OK):
                raise UnreadableError(
                    "cannot be written: its folder may not be written", code="not_writable", path=self.path, hint=_HINT
                )
            try:
                take_lock(folder, _PATIENCE)
            except BlockingIOError as error:
                said, hint = (
                    "another seed or sync of this root is running",
                    "Nothing was written. Try again when it has ended.",
                )
                raise BusyError(said, code="locked", path=self.path, hint=hint) from error
            yield
        finally:
            os.close(folder)

    def write(self, old: bytes, lock: SeedLock) -> str | None:
        """Put ``lock`` in the place of the bytes ``old``; the name of the copy, if those were not whole."""
        new = lock.to_text().encode()
        if new == old:
            return None
        kept = None
        with self._writing():
            if lock.notes and old:
                kept = f"{LOCK_NAME}.bak.{clock.now().strftime('%Y%m%dT%H%M%S%fZ')}"
                with (self.root / kept).open("xb") as stream:
                    stream.write(old)
            if not os.path.lexists(self.path):
                self.path.open("xb").close()  # an empty file says the same as none
        rewrite_file(self.path, old, new)
        return kept

    def _writing(self) -> AbstractContextManager[None]:
        return os_errors("cannot be written", path=self.path, hint=_HINT)


def seeded_copies(workspace: Root, entity: str | None = None) -> dict[tuple[str, str], frozenset[str]]:
    """The copies that targets left as they were, by entity and entry id, with the entities they were seeded from."""
    records = SeedFile(workspace).read()[1].records.values()
    return copies_among([each for each in records if entity in {None, each.target}], _ids_of(workspace))


def copies_among(
    records: Iterable[SeedRecord], ids: Callable[[str], Collection[str] | None]
) -> dict[tuple[str, str], frozenset[str]]:
    """The same by some records; ``ids`` gives those of an entity's entries, ``None`` if it cannot be read."""
    copies: dict[tuple[str, str], frozenset[str]] = {}
    for record in records:
        # Nothing follows a source that cannot be read: there no question would be asked.
        there = () if ids(record.source) is None else ids(record.target) or ()
        for key in ((record.target, each.id) for each in record.entries if each.id in there):
            copies[key] = copies.get(key, frozenset()) | {record.source}
    return copies


def _ids_of(workspace: Root) -> Callable[[str], Collection[str] | None]:
    @cache
    def ids(entity: str) -> Collection[str] | None:
        try:
            workspace.profile(parts_of(entity).owner)
            document = workspace.parse(workspace.store.peek(entity))
        except CatmemError:
            return None
        return frozenset(entry.id for entry in document.entries)

    return ids
