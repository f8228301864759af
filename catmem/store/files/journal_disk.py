"""The segments of a journal on the disk: put in place whole, read with bounds; the newest stays open."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from catmem.errors import DamagedError, StoreError
from catmem.store.contract import is_branch, revision_number
from catmem.store.files.records import Record, branch_name, recorded_name
from catmem.store.files.segments import (
    Segment,
    damaged,
    segment_name,
)
from catmem.store.files.system import System, opened, write_whole

MAX_SEGMENT = 1024 * 1024 * 1024
"""Bytes of one segment; a larger file is none that this module wrote."""

_SEGMENT = re.compile(r"[0-9]{12}\.log")
_UNFINISHED = ".new"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_LEFTOVER = re.compile(r"[0-9]{12}\.log(\.new|\.tail-[0-9]+(-[0-9]+)?)")


class Identity(NamedTuple):
    """Which file a name leads to, and in which state. All of it is compared."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Identity:
        """The identity of a file by what the system knows of it."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    def same_file(self, other: Identity) -> bool:
        """Whether both are one file, grown or not."""
        return (self.device, self.inode) == (other.device, other.inode)


class JournalFolder:
    """The journal's folder: every call of the journal to the disk goes through here."""

    def __init__(self, system: System, descriptor: int, where: Path) -> None:
        """``descriptor`` is the open folder, ``where`` its path, for messages."""
        self.system = system
        self.descriptor = descriptor
        self.where = where

    def names(self) -> list[str]:
        """The names of the segments, the oldest first."""
        return [name for name in self.system.names(self.descriptor) if _SEGMENT.fullmatch(name)]

    def leftovers(self) -> list[str]:
        """Broken tails that were set aside, and segments that were never finished."""
        return [name for name in self.system.names(self.descriptor) if _LEFTOVER.fullmatch(name)]

    def strangers(self) -> list[str]:
        """Names of things that the journal did not put into its folder."""
        names = self.system.names(self.descriptor)
        return [name for name in names if not _SEGMENT.fullmatch(name) and not _LEFTOVER.fullmatch(name)]

    def path(self, name: str) -> Path:
        """The path of a name, for messages."""
        return self.where / name

    def identity(self, name: str) -> Identity | None:
        """What stands under the name; ``None`` for nothing."""
        try:
            return Identity.of(self.system.look(name, folder=self.descriptor))
        except FileNotFoundError:
            return None

    def open(self, name: str, flags: int = os.O_RDONLY) -> tuple[int, Identity]:
        """A descriptor of a segment. Raises ``FileNotFoundError``, and ``DamagedError`` for what is none."""
        descriptor = self.system.open(name, flags | os.O_NONBLOCK, folder=self.descriptor)
        try:
            status = self.system.status(descriptor)
            if not S_ISREG(status.st_mode):
                raise damaged(self.path(name), "this is no regular file")  # noqa: TRY301 - closed first, like any error
        except BaseException:
            self.system.close(descriptor)
            raise
        return descriptor, Identity.of(status)

    def read(self, name: str, descriptor: int, start: int, size: int) -> bytes:
        """The bytes of an open segment from ``start`` up to ``size``, or to its end if that comes first."""
        if size > MAX_SEGMENT:
            raise damaged(self.path(name), f"the segment has {size:,} bytes, over {MAX_SEGMENT:,}")
        parts = []
        while start < size and (part := self.system.read_at(descriptor, size - start, start)):
            parts.append(part)
            start += len(part)
        return b"".join(parts)

    def segment(self, name: str) -> tuple[Segment, Identity]:
        """A segment that is no longer written to. Raises ``FileNotFoundError`` and ``DamagedError``."""
        descriptor, identity = self.open(name)
        try:
            data = self.read(name, descriptor, 0, identity.size)
        finally:
            self.system.close(descriptor)
        return Segment.read(name, self.path(name), data), identity

    def put(self, name: str, data: bytes) -> None:
        """Put a segment in place, new or over the old one: whole and durable, or not at all."""
        self.stage(name, data)
        self.unstage(name)
        self.settle()

    def stage(self, name: str, data: bytes) -> None:
        """Have the disk keep the bytes of a segment that has not got its name yet."""
        unfinished = name + _UNFINISHED
        self.remove(unfinished)
        with opened(self.system, unfinished, self.descriptor, _NEW) as descriptor:
            try:
                write_whole(self.system, descriptor, data)
                self.system.fsync(descriptor)
            except OSError:
                # The first error is the one to tell; what cannot be removed now is removed before the next attempt.
                with suppress(OSError):
                    self.system.unlink(unfinished, folder=self.descriptor)
                raise

    def unstage(self, name: str) -> None:
        """Give a staged segment its name. The disk keeps it once ``settle`` returns."""
        self.system.rename(name + _UNFINISHED, name, old_folder=self.descriptor, new_folder=self.descriptor)

    def drop_staged(self, names: list[str]) -> None:
        """Remove what was staged and has not got its name."""
        for name in names:
            self.remove(name + _UNFINISHED)

    def set_aside(self, name: str, sequence: int, data: bytes) -> str:
        """Keep bytes that are no record in a file beside the segment, durably; returns its name."""
        aside = f"{name}.tail-{sequence}"
        for number in range(1, 10_000):
            try:
                with opened(self.system, aside, self.descriptor, _NEW) as descriptor:
                    write_whole(self.system, descriptor, data)
                    self.system.fsync(descriptor)
            except FileExistsError:
                aside = f"{name}.tail-{sequence}-{number}"
                continue
            self.settle()
            return aside
        raise damaged(self.path(name), "too many broken tails were set aside here")

    def remove(self, name: str) -> None:
        """Remove a name, if it is there."""
        with suppress(FileNotFoundError):
            self.system.unlink(name, folder=self.descriptor)

    def settle(self) -> None:
        """Have the disk keep the names."""
        self.system.fsync(self.descriptor)


_CACHED = 2


class OlderSegments:
    """All segments of a folder, of which ``newest``, given to each method, is in memory already."""

    def __init__(self, folder: JournalFolder) -> None:
        """Nothing is read yet."""
        self._folder = folder
        self._cached: OrderedDict[str, tuple[Segment, Identity]] = OrderedDict()

    def clear(self) -> None:
        """Forget what was read."""
        self._cached.clear()

    def segments(self, newest: Segment, *, newest_first: bool = False) -> Iterator[Segment]:
        """Every segment up to ``newest``. Raises ``DamagedError`` where one does not follow the other."""
        names = self._names(newest)
        if newest_first:
            names.reverse()
        seen: Segment | None = None
        for name in names:
            segment = self._load(name, newest)
            if seen is not None:
                older, newer = (segment, seen) if newest_first else (seen, segment)
                if newer.checkpoint.previous != older.link:
                    raise damaged(newer.path, f"the segment does not follow {older.name}")
            seen = segment
            yield segment

    def find(self, newest: Segment, file: str, revision: str) -> Record | None:
        """The first record of a revision, a branch too, wherever it is kept."""
        if is_branch(revision):
            unmerged = newest.head(branch_name(file, revision))
            if unmerged is not None:
                return unmerged
        # A branch such as 8a is recorded some time after the head 7, an 8 when it becomes the head.
        number = revision_number(revision) - is_branch(revision)
        before = newest.before(file)
        if before is None or before.highest < number:
            return newest.find(file, revision)
        names = self._names(newest)
        low, high = 0, len(names)
        while high - low > 1:
            middle = (low + high) // 2
            heads = self._load(names[middle], newest).checkpoint.heads
            highest = max((head.highest for head in heads if head.record.file == file), default=0)
            low, high = (middle, high) if highest < number else (low, middle)
        own = recorded_name(file, revision)
        for name in names[low : None if is_branch(revision) else low + 1]:
            found = self._load(name, newest).find(own, revision)
            if found is not None:
                return found
        return None

    def data(self, newest: Segment | None, record: Record) -> bytes:
        """The bytes of a record. Raises ``DamagedError`` if they are missing."""
        data = newest.data(record.sequence) if newest else None
        if data is None and newest is not None:
            data = self._holder(newest, record.sequence).data(record.sequence)
        if data is None:
            raise self._missing(record.sequence)
        return data

    def link(self, newest: Segment, sequence: int) -> str:
        """What the line after the record with this sequence names as its ``previous``."""
        link = self._holder(newest, sequence).link_at(sequence)
        if link is None:
            raise self._missing(sequence)
        return link

    def _missing(self, sequence: int) -> DamagedError:
        return damaged(self._folder.where, f"record {sequence} is in no segment, and later ones are there")

    def _names(self, newest: Segment) -> list[str]:
        return [name for name in self._folder.names() if name <= newest.name]

    def _holder(self, newest: Segment, sequence: int) -> Segment:
        """The segment in which the record with this sequence should be."""
        if sequence >= newest.checkpoint.sequence:
            return newest
        names = self._names(newest)
        at_or_before = [name for name in names if name <= segment_name(sequence)]
        if not at_or_before:
            raise self._missing(sequence)
        return self._load(at_or_before[-1], newest)

    def _load(self, name: str, newest: Segment) -> Segment:
        """A segment by its name; from memory if its file is the same still."""
        if name == newest.name:
            return newest
        cached = self._cached.get(name)
        if cached is None or cached[1] != self._folder.identity(name):
            cached = self._folder.segment(name)
            if cached[0].torn:
                raise damaged(cached[0].path, "the segment ends in a damaged record, and another segment follows")
            self._cached[name] = cached
        self._cached.move_to_end(name)
        while len(self._cached) > _CACHED:
            self._cached.popitem(last=False)
        return cached[0]


class Tip:
    """The newest segment; ``segment`` is ``None`` before anything is read, and for a journal without records."""

    def __init__(self, system: System, folder: JournalFolder) -> None:
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
        if self.segment is None or not self._read_on(self.segment):
            self._read_anew()

    def check(self) -> None:
        """Raise ``StoreError`` if another process wrote since ``refresh``, although the caller has the lock."""
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
            # The process that put the segment in place may have died before the disk kept its name.
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
