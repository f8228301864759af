"""The text of a file before and after, proposed or written: what fmt, migrate, sort and lint make of whole files."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from catmem.digest import bytes_digest
from catmem.errors import CatmemError, UnreadableError
from catmem.files import read_bounded, rewrite_file
from catmem.store.contract import SIDECAR, Change
from catmem.store.files.retention import keep_copy
from catmem.text import DEFAULT_LIMITS
from catmem.workspace.root import Root
from catmem.workspace.stores import store_of_file
from catmem.writing import gate


@dataclass(frozen=True, slots=True)
class FileChange:
    """What becomes of one file. ``entity`` is the profile's entity that it is, ``None`` for any other file.

    Of one that was written: ``revision`` is the new one and ``restore`` the one before, where it is an entity; else
    ``backup`` is the copy of what it was, if one is kept.
    """

    path: Path
    entity: str | None
    before: str
    after: str
    warnings: tuple[str, ...] = ()
    revision: str | None = None
    restore: str | None = None
    backup: Path | None = None

    @property
    def changes(self) -> bool:
        """Whether there is something to write."""
        return self.before != self.after


def write_file(
    workspace: Root, file: FileChange, change: Change, *, expected: str | None = None, keeps_copy: bool = False
) -> FileChange:
    """Write the new text of a file, if it is another one; ``expected`` is what was read, by default the text before."""
    if not file.changes:
        return file
    old, new = file.before.encode(), file.after.encode()
    if file.entity is not None:
        store = workspace.store
        revision = gate.commit(workspace, file.entity, expected or bytes_digest(old), lambda _: new, change).revision
        made = next(each for each in store.log(file.entity) if each.revision == revision)
        return replace(file, revision=revision, restore=next(iter(made.parents), None))
    backup, is_new = keep_copy(file.path, old) if keeps_copy else (None, False)
    try:
        if has_journal(file.path):
            with closing(store_of_file(workspace.config, file.path)) as store:
                store.commit(str(file.path), bytes_digest(old), lambda _: new, change)
        else:
            rewrite_file(file.path, old, new)
    except CatmemError:
        if backup is not None and is_new and _still_holds(file.path, old):
            backup.unlink(missing_ok=True)  # there is nothing to take back
        raise
    return replace(file, backup=backup)


def has_journal(path: Path) -> bool:
    """Whether a file lies in a folder that a store has used before. A root keeps other things in ``.catmem`` too."""
    return os.path.lexists(path.resolve().parent / SIDECAR / "journal")


def _still_holds(path: Path, data: bytes) -> bool:
    try:
        return read_bounded(path, DEFAULT_LIMITS.file_bytes) == data
    except UnreadableError:
        return False  # in doubt the copy stays
