"""What can still be read in a damaged journal, whatever stands between its good lines."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from catmem.digest import bytes_digest
from catmem.store.changes import Whole
from catmem.store.files.frames import walk
from catmem.store.files.journal_disk import MAX_SEGMENT
from catmem.store.files.records import MalformedError, decode, decode_checkpoint, recorded_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.store.changes import Change
    from catmem.store.files.folder import Folder
    from catmem.store.files.records import Record
    from catmem.store.files.system import System


@dataclass(slots=True)
class Readable:
    """The highest revision of each file that a good line names, and the branches that one holds."""

    highest: dict[str, int] = field(default_factory=dict)
    _branches: dict[str, tuple[Record, bytes]] = field(default_factory=dict)
    _followed: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, folder: Folder) -> Readable:
        """All that the journal of a locked folder has to say."""
        found = cls()
        descriptor = folder.system.open("journal", os.O_RDONLY | os.O_DIRECTORY, folder=folder.side)
        try:
            for name in folder.system.names(descriptor):
                for record, change, highest in _records(_bytes_of(folder.system, name, descriptor)):
                    found.take(record, change, highest)
        finally:
            folder.system.close(descriptor)
        return found

    def take(self, record: Record, change: Change, highest: int) -> None:
        """Take in one record, and the highest number that its file had by then."""
        self.highest[record.owner] = max(self.highest.get(record.owner, 0), highest)
        self._followed.update(recorded_name(record.owner, parent) for parent in record.parents)
        if record.is_branch and isinstance(change, Whole):
            try:
                data = change.unpack()
            except ValueError:
                return  # damaged inside a line that is whole: nobody can tell what it said
            if bytes_digest(data) == record.head:
                self._branches[record.file] = record, data

    @property
    def unmerged(self) -> list[tuple[Record, bytes]]:
        """The branches that no good line follows, in the order in which they were made."""
        left = [kept for name, kept in self._branches.items() if name not in self._followed]
        return sorted(left, key=lambda kept: kept[0].sequence)


def _records(data: bytes) -> Iterator[tuple[Record, Change, int]]:
    """Every record of a segment, and of its checkpoint, that can be read."""
    position: int | None = 0
    while position is not None:
        found = walk(data, position)
        for line in found.lines:
            yield from _of_line(line.payload)
        position = found.resume


def _of_line(payload: bytes) -> Iterator[tuple[Record, Change, int]]:
    try:
        record, change = decode(payload, "")
    except MalformedError:
        try:
            heads = decode_checkpoint(payload, "").heads
        except MalformedError:
            return  # nothing that this version can read
        yield from ((head.record, head.whole, head.highest) for head in heads)
    else:
        yield record, change, record.number


def _bytes_of(system: System, name: str, folder: int) -> bytes:
    """The bytes of a file in the journal's folder; none for what is no file, or larger than any segment."""
    if not stat.S_ISREG(system.look(name, folder=folder).st_mode):
        return b""
    descriptor = system.open(name, os.O_RDONLY | os.O_NONBLOCK, folder=folder)
    try:
        size = system.status(descriptor).st_size
        return b"" if size > MAX_SEGMENT else system.read_at(descriptor, size, 0)
    finally:
        system.close(descriptor)
