"""The newest segment of a journal: what is known of it, and its open file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from catmem.errors import DamagedError, StoreError
from catmem.store.files.journal_past import ATTEMPTS, come_and_go
from catmem.store.files.segments import Segment, segment_name

if TYPE_CHECKING:
    from catmem.store.files.journal_disk import Folder, Identity
    from catmem.store.files.system import System


class Tip:
    """The newest segment; ``segment`` is ``None`` before anything is read, and for a journal without records."""

    def __init__(self, system: System, folder: Folder) -> None:
        """Nothing is read yet."""
        self.segment: Segment | None = None
        self.read = False
        self._system = system
        self._folder = folder
        self._identity: Identity | None = None
        self._reader: int | None = None
        self._writer: int | None = None

    def refresh(self) -> None:
        """Read what was appended since the last time, or all of it if it is another file now."""
        for _ in range(ATTEMPTS):
            try:
                if self.segment is None or not self._read_on(self.segment):
                    self._read_anew()
            except FileNotFoundError:
                # Compacted away between the listing and the reading; the next listing shows what is there now.
                self.close()
            else:
                return
        raise come_and_go(self._folder)

    def check(self) -> None:
        """Raise ``StoreError`` if anybody wrote since ``refresh``, although the caller has the lock."""
        segment = self.segment
        there = None if segment is None else self._folder.identity(segment.name)
        if segment is None:
            same = not self._folder.names()
        else:
            same = self._is_same(there) and there is not None and there.size == segment.end and not self._followed()
        if not same:
            raise StoreError(
                "the journal was changed since it was read",
                code="read_only",
                path=self._folder.where,
                hint="Nothing was written. Read it again with repair, under the lock, and repeat the write.",
            )

    def writer(self) -> int:
        """A descriptor of the segment for writing."""
        if self._writer is None:
            assert self.segment is not None  # noqa: S101 - only what was read is written to
            self._writer, _ = self._folder.open(self.segment.name, os.O_WRONLY)
            # Whoever put the segment in place may not have lived to wait until the disk keeps its name.
            self._folder.settle()
        return self._writer

    def cut_tail(self) -> None:
        """Cut off the broken line at the end, and keep it in a file beside the segment."""
        segment = self.segment
        there = None if segment is None else self._folder.identity(segment.name)
        if segment is None or there is None or self._reader is None:
            return
        tail = self._folder.read(segment.name, self._reader, segment.end, there.size)
        self._folder.set_aside(segment.name, segment.sequence + 1, tail)
        self._system.truncate(self.writer(), segment.end)
        self._system.fsync(self.writer())
        segment.torn = False

    def follow(self, segment: Segment) -> None:
        """Go on with a segment that was put in place after the newest one."""
        self.close()
        self._reader, self._identity = self._folder.open(segment.name)
        self.segment, self.read = segment, True

    def close(self) -> None:
        """Let go of the file, and forget what was read."""
        self.segment, self.read, self._identity = None, False, None
        reader, writer, self._reader, self._writer = self._reader, self._writer, None, None
        for descriptor in (reader, writer):
            if descriptor is not None:
                self._system.close(descriptor)

    def _read_on(self, segment: Segment) -> bool:
        """Take in what was appended; false if this is no longer the newest segment, or another file."""
        there = self._folder.identity(segment.name)
        if there is None or self._reader is None or not self._is_same(there) or there.size < segment.end:
            return False
        segment.torn = False
        if there.size > segment.end:
            # If this makes no sense, perhaps a record that was read before was taken back by a writer whose disk
            # failed, and another one is in its place: then all of it is read.
            try:
                segment.take(self._folder.read(segment.name, self._reader, segment.end, there.size))
            except DamagedError:
                return False
            if segment.torn:
                return False
        return not self._followed()

    def _read_anew(self) -> None:
        self.close()
        names = self._folder.names()
        if names:
            try:
                self._read_segment(names[-1])
            except DamagedError:
                # Without the lock one may read half of what is being cut off and half of what is written in its place.
                self._read_segment(names[-1])
        self.read = True

    def _read_segment(self, name: str) -> None:
        descriptor, identity = self._folder.open(name)
        try:
            data = self._folder.read(name, descriptor, 0, identity.size)
            self.segment = Segment.read(name, self._folder.path(name), data)
        except BaseException:
            self._system.close(descriptor)
            raise
        # It stays open, so that its inode number is not given to another file.
        self._reader, self._identity = descriptor, identity

    def _is_same(self, there: Identity | None) -> bool:
        return there is not None and self._identity is not None and there.same_file(self._identity)

    def _followed(self) -> bool:
        """Whether another segment follows. Only one that has a record can be followed."""
        segment = self.segment
        if segment is None or not segment.steps:
            return False
        return self._folder.identity(segment_name(segment.sequence + 1)) is not None
