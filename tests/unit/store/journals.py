"""What the tests of the journal share: systems that count, fail or do not wait, and short ways to write records."""

import errno
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from catmem.store.files.journal import Journal
from catmem.store.files.records import Record, RecordDraft
from catmem.store.files.system import System


class Quick(System):
    """Does not wait for the disk."""

    def fsync(self, descriptor: int) -> None:
        """Nothing."""


class Counting(Quick):
    """Counts the calls by their names."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_") and callable(getattr(System, name, None)):
            self.calls[name] += 1
        return super().__getattribute__(name)


class Failing(System):
    """Fails one call: that of this name, the time after next ``skip`` of them."""

    def __init__(self) -> None:
        self.fails: str | None = None
        self.skip = 0
        self.writes_at_most = 1 << 30

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_") and name == super().__getattribute__("fails"):
            if super().__getattribute__("skip") == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self.skip -= 1
        return super().__getattribute__(name)

    def write_at(self, descriptor: int, data: bytes, offset: int) -> int:
        """Writes no more than it is told to."""
        return super().write_at(descriptor, data[: self.writes_at_most], offset)


class Noting(Quick):
    """Notes every call that changes something, or waits for the disk, with the name it is about."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._names: dict[int, str] = {}

    def open(self, name: str, flags: int, mode: int = 0o600, *, folder: int | None = None) -> int:
        descriptor = super().open(name, flags, mode, folder=folder)
        self._names[descriptor] = name
        return descriptor

    def write_at(self, descriptor: int, data: bytes, offset: int) -> int:
        self.notes.append(f"write {self._names[descriptor]}")
        return super().write_at(descriptor, data, offset)

    def truncate(self, descriptor: int, size: int) -> None:
        self.notes.append(f"truncate {self._names[descriptor]}")
        super().truncate(descriptor, size)

    def fsync(self, descriptor: int) -> None:
        self.notes.append(f"fsync {self._names.get(descriptor, 'folder')}")

    def rename(self, old: str, new: str, *, old_folder: int, new_folder: int) -> None:
        self.notes.append(f"rename {old}")
        super().rename(old, new, old_folder=old_folder, new_folder=new_folder)

    def unlink(self, name: str, *, folder: int) -> None:
        super().unlink(name, folder=folder)
        self.notes.append(f"unlink {name}")


@contextmanager
def journal_in(path: Path, system: System | None = None, **limits: int) -> Iterator[Journal]:
    """The journal of a folder, which is made if need be."""
    path.mkdir(exist_ok=True)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    journal = Journal(system or Quick(), descriptor, path, **limits)
    try:
        yield journal
    finally:
        journal.close()
        os.close(descriptor)


def draft(revision: int = 1, file: str = "USER.md", **fields: Any) -> RecordDraft:
    """A draft of a plain write."""
    parents = (str(revision - 1),) if revision > 1 else ()
    given = {"op": "put", "agent": "trinity", "op_id": f"{file}-{revision}", "parents": parents} | fields
    return RecordDraft(file=file, revision=str(revision), **given)


def put(journal: Journal, data: bytes, file: str = "USER.md", **fields: Any) -> Record:
    """Write the next revision of a file."""
    head = journal.head(file)
    return journal.append(draft(head.number + 1 if head else 1, file, **fields), data)


def fill(journal: Journal, count: int, file: str = "USER.md") -> list[bytes]:
    """Write ``count`` revisions, and return the bytes of each."""
    texts = [b"- revision %d of a file\n" % number * 3 for number in range(1, count + 1)]
    for text in texts:
        put(journal, text, file)
    return texts


def segments(path: Path) -> list[Path]:
    return sorted(path.glob("*.log"))
