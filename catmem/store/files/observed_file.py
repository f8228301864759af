"""A memory file as a writer finds it: its bytes, and whether a program can be writing to it right now.

Reading a file during a write gives a half of something. A read lease says that no program has the file open for
writing, and makes a program that opens it then wait. Where there are no leases, two equal reads a moment apart must do.
``superseded`` are those that were taken out of their place, which an open program may still write to.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from catmem.errors import BusyError, DriftError, StoreError
from catmem.store.contract import SIDECAR
from catmem.store.files.records import Record, Retired
from catmem.store.files.system import System, link_in_place, mounted, not_a_file, read_whole, stands_for, store_errors
from catmem.text import MAX_FILE_BYTES

if TYPE_CHECKING:
    from catmem.store.files.folder import Folder

LEASE_TRIES, LEASE_WAIT = 25, 0.0002
"""How often, and after how many seconds, a lease is asked for again while another program writes."""

CALM_WAIT = 0.02
"""Seconds between two reads that must be equal, where there are no leases."""

TICK = 12_000_000
"""Nanoseconds within which two writes may leave a file with one and the same time."""

NO_LEASES = {errno.EACCES, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK}
_ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@dataclass(slots=True)
class ObservedFile:
    """What stood at a name. ``descriptor`` and ``status`` are ``None`` where nothing stood there."""

    system: System
    descriptor: int | None
    status: os.stat_result | None
    data: bytes
    leased: bool = False
    kept: bool = True
    """Whether the file has a name still: in its place, or in ``gen/``."""

    @property
    def missing(self) -> bool:
        """Whether there was no file."""
        return self.descriptor is None

    def still_stands(self, folder: int, name: str) -> bool:
        """Whether the name still stands for this file, and no program wants to write to it."""
        try:
            named = self.system.look(name, folder=folder)
        except FileNotFoundError:
            return self.missing
        if self.descriptor is None or self.status is None:
            return False
        return os.path.samestat(named, self.status) and (not self.leased or self.system.lease_stands(self.descriptor))

    def reread(self) -> bytes:
        """The file's bytes as they are now, wherever it stands."""
        return b"" if self.descriptor is None else read_whole(self.system, self.descriptor)

    def reread_if_touched(self, *, leases: bool) -> tuple[os.stat_result, bytes] | None:
        """The file's state and bytes if they are no longer those that were seen, wherever it stands.

        ``None`` too while a program is rewriting it: a later look finds what it makes of it.
        """
        if self.descriptor is None or self.status is None or self.is_alone():
            return None
        now = self.system.status(self.descriptor)  # before the read: a write after it must not look like part of it
        data = self.reread()
        if data == self.data:
            return None
        if data.startswith(self.data):
            return now, data
        self.let_go()
        return read_if_whole(self.system, self.descriptor, leases=leases)

    def now(self, touched: tuple[os.stat_result, bytes] | None) -> None:
        """Take over what ``reread_if_touched`` found."""
        if touched is not None:
            self.status, self.data = touched

    def is_alone(self) -> bool:
        """Whether no program can have written to the file since it was read: the lease stood all the time."""
        return self.leased and self.descriptor is not None and self.system.lease_stands(self.descriptor)

    def let_go(self) -> None:
        """Give the lease back, and keep the file open."""
        if self.leased and self.descriptor is not None:
            self.leased = False
            self.system.give_back(self.descriptor)

    def close(self) -> None:
        """Give the lease back and close the file. May be called twice."""
        if self.descriptor is not None:
            try:
                self.let_go()
            finally:
                self.system.close(self.descriptor)
                self.descriptor = None


def look_at(folder: Folder, name: str, known: bytes) -> ObservedFile:
    """The file called ``name``, leased where there are leases; ``known`` is its newest recorded content.

    Raises ``BusyError`` if a program keeps writing to it, ``StoreError`` if it is no file that can be replaced, and
    ``DriftError`` (``too_large``) if it is too large to be read.
    """
    system, path = folder.system, folder.file_path(name)
    if not folder.is_in_one_mount:
        raise mounted(folder.path / SIDECAR)
    with store_errors(path):
        try:
            descriptor = system.open(name, os.O_RDONLY | os.O_NONBLOCK, folder=folder.descriptor)
        except FileNotFoundError:
            return ObservedFile(system, None, None, b"")
        sight = ObservedFile(system, descriptor, None, b"")
        try:
            sight.status = system.status(descriptor)
            _refuse_protected(folder, name, sight.status)
            if system.mount(descriptor) != folder.mount:
                raise mounted(path)  # noqa: TRY301 - closed first, like any error
            _fill(folder, name, sight, known)
        except BaseException:
            sight.close()
            raise
    return sight


def is_settled(system: System, status: os.stat_result) -> bool:
    """Whether the file last changed long enough ago for any change from now on to show in its ctime."""
    return status.st_ctime_ns < int(system.now().timestamp() * 1e9) - TICK


def _fill(folder: Folder, name: str, sight: ObservedFile, known: bytes) -> None:
    """Lease and read; without a lease, go on only with what cannot be half of something."""
    system, descriptor = sight.system, sight.descriptor
    if descriptor is None:
        return
    leases = folder.features.leases
    if leases:
        try:
            sight.leased = leased(system, descriptor)
        except OSError as error:
            if error.errno not in NO_LEASES:
                raise
            leases = False  # not on this file system, or not on another user's file
    sight.data = _bounded(folder, name, sight)
    if sight.leased:
        return
    if leases:
        # A program has it open for writing. What only grew is safe: the rest of it will be found where it is written.
        calm = bool(known) and sight.data.startswith(known)
    else:
        system.sleep(CALM_WAIT)
        calm = sight.reread() == sight.data
    if not calm:
        raise BusyError(
            "another program is writing to this file",
            path=folder.file_path(name),
            hint="Nothing was written. Try again in a moment.",
        )


def read_if_whole(system: System, descriptor: int, *, leases: bool) -> tuple[os.stat_result, bytes] | None:
    """The state and the bytes of an open file; ``None`` while a program may be writing it."""
    if leases:
        try:
            if not system.lease(descriptor):
                return None
        except OSError as error:
            if error.errno not in NO_LEASES:
                raise
        else:
            try:
                return system.status(descriptor), read_whole(system, descriptor)
            finally:
                system.give_back(descriptor)
    status, data = system.status(descriptor), read_whole(system, descriptor)
    system.sleep(CALM_WAIT)
    return (status, data) if read_whole(system, descriptor) == data else None


def leased(
    system: System, descriptor: int, *, tries: int = LEASE_TRIES, wait: float = LEASE_WAIT, exclusive: bool = False
) -> bool:
    """Take a lease; asks ``tries`` times, with ``wait`` seconds between. Whether it was granted."""
    for _ in range(tries):
        if system.lease(descriptor, exclusive=exclusive):
            return True
        system.sleep(wait)
    return False


def _bounded(folder: Folder, name: str, sight: ObservedFile) -> bytes:
    limit = MAX_FILE_BYTES
    size = sight.status.st_size if sight.status else 0
    data = b"" if size > limit else sight.reread()
    if max(size, len(data)) > limit:
        raise DriftError(
            f"the file has {max(size, len(data)):,} bytes, over the limit of {limit:,}",
            code="too_large",
            path=folder.file_path(name),
            hint="Nothing was written, and no copy was made. Split the file by hand; it is never rewritten as it is.",
        )
    return data


def _refuse_protected(folder: Folder, name: str, status: os.stat_result) -> None:
    path = folder.file_path(name)
    if stat.S_ISLNK(status.st_mode):
        raise link_in_place(path)
    if not stat.S_ISREG(status.st_mode):
        raise not_a_file(path)
    if not status.st_mode & _ANY_WRITE or (
        not folder.system.may_write(name, folder=folder.descriptor)
        and stands_for(folder.system, name, folder.descriptor, status)  # it may just have been removed or replaced
    ):
        raise StoreError(
            "may not be written, so it was not",
            code="not_writable",
            path=path,
            hint="The file is as it was. Make it writable first (chmod u+w, chattr -i) if it may change.",
        )
    if status.st_nlink > 1:
        raise StoreError(
            f"has {status.st_nlink} hard links, and only this one would get the new text",
            code="not_writable",
            path=path,
            hint="The file is as it was. Two stores on one file cannot both be right: give each a file of its own.",
        )


def is_damage(found: bytes, recorded: bytes, *, missing: bool) -> bool:
    """Whether a stop of the machine may have made ``found`` of ``recorded``: its front, or nothing, and NUL bytes."""
    front = found.rstrip(b"\0")
    if missing or not recorded.startswith(front):
        return False
    return len(found) < len(recorded) or (found != recorded and len(front) < len(found))


WATCHED = 64
"""How many of the newest records of a folder writes look at the files of; ``fsck`` looks at all."""


class Superseded(NamedTuple):
    """The file that the record ``sequence`` took out.

    ``record`` tells of its ``state``, and of the one before that, ``was``, if it changed since.
    """

    record: Record
    sequence: int
    state: Retired
    was: Retired | None

    @property
    def name(self) -> str:
        """Its name in ``gen/``."""
        return retired_name(self.sequence, self.state)


def superseded(file: str, records: Iterable[Record]) -> list[Superseded]:
    """The files that were taken out of the place of a memory file, by what its records tell, the oldest first."""
    found: dict[int, Superseded] = {}
    for record in records:
        if record.file == file and record.retired is not None:
            sequence = record.sequence if record.late_of is None else record.late_of
            before = found.get(sequence)
            found[sequence] = Superseded(record, sequence, record.retired, before.state if before else None)
    return list(found.values())


def retired_name(sequence: int, state: Retired) -> str:
    """The name in ``gen/`` of a file that the publication of record ``sequence`` took out."""
    return f"{sequence:012d}-{state.digest.removeprefix('sha256:')}"
