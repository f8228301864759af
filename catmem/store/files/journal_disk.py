"""The folder of a journal on the disk: segments read with bounds, new ones put in place whole."""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from stat import S_ISREG
from typing import TYPE_CHECKING, NamedTuple

from catmem.store.files.segments import HEADER_SIZE, Segment, checkpoint_of, damaged, payload_size, walk
from catmem.store.files.system import opened

if TYPE_CHECKING:
    from pathlib import Path

    from catmem.store.files.records import Checkpoint
    from catmem.store.files.system import System

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

    def checkpoint(self, name: str) -> Checkpoint:
        """Only the checkpoint of a segment. Raises ``FileNotFoundError`` and ``DamagedError``."""
        descriptor, identity = self.open(name)
        try:
            header = self.read(name, descriptor, 0, min(HEADER_SIZE, identity.size))
            size = payload_size(header)
            data = b"" if size is None else self.read(name, descriptor, 0, min(HEADER_SIZE + size + 1, identity.size))
        finally:
            self.system.close(descriptor)
        return checkpoint_of(self.path(name), data, walk(data))[0]

    def write(self, descriptor: int, data: bytes, offset: int) -> None:
        """Write all of ``data`` at ``offset``, however little the system takes at a time."""
        while data:
            written = self.system.write_at(descriptor, data, offset)
            if written <= 0:
                raise OSError(errno.EIO, "the system wrote nothing")
            data = data[written:]
            offset += written

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
                self.write(descriptor, data, 0)
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
                    self.write(descriptor, data, 0)
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
