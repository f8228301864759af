"""The system calls of the file store, one method each, and what a platform or a file system lacks of them.

Everything that the store does to a disk goes through one ``System``, so that a test can stand in between: record the
calls, fail one, stop the process at one, or let an external writer act before one. Each method raises ``OSError`` as
the system does.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from catmem.errors import StoreError
from catmem.text import MAX_FILE_BYTES

FOLDER = os.O_RDONLY | os.O_DIRECTORY
"""The flags with which a folder is opened."""

_PART = 1 << 20
_SWAP = 2  # RENAME_EXCHANGE of Linux, and RENAME_SWAP of macOS
_SIGURG = 23 if sys.platform.startswith("linux") else 16


@dataclass(frozen=True, slots=True)
class Features:
    """What the store makes use of where it is there; ``docs/guarantees.md`` says what is weaker without each."""

    leases: bool = True
    """Read leases: the system says whether a program has the file open for writing."""
    exchange: bool = True
    """Two names swapped in one step, so that whatever stood in the file's place comes out and can be looked at."""
    xattrs: bool = True
    """Extended attributes, which a new file takes over from the old one."""


_MOUNT = re.compile(rb"^mnt_id:\s*(\d+)", re.MULTILINE)


class System:
    """The calls themselves. A name is a name in the open folder ``folder``, never a path."""

    def open(self, name: str, flags: int, mode: int = 0o600, *, folder: int | None = None) -> int:
        """A descriptor that children do not inherit and that follows no link at its end."""
        return os.open(name, flags | os.O_CLOEXEC | os.O_NOFOLLOW, mode, dir_fd=folder)

    def close(self, descriptor: int) -> None:
        """Close it."""
        os.close(descriptor)

    def read_at(self, descriptor: int, size: int, offset: int) -> bytes:
        """At most ``size`` bytes from ``offset``."""
        return os.pread(descriptor, size, offset)

    def write_at(self, descriptor: int, data: bytes, offset: int) -> int:
        """Write some of ``data`` at ``offset``, and say how much."""
        return os.pwrite(descriptor, data, offset)

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut the file at ``size`` bytes."""
        os.ftruncate(descriptor, size)

    def fsync(self, descriptor: int) -> None:
        """Have the disk keep the file's bytes, or the folder's names."""
        os.fsync(descriptor)

    def status(self, descriptor: int) -> os.stat_result:
        """What the system knows of an open file."""
        return os.fstat(descriptor)

    def look(self, name: str, *, folder: int) -> os.stat_result:
        """What the system knows of a name; of a link itself, not of where it leads."""
        return os.stat(name, dir_fd=folder, follow_symlinks=False)

    def names(self, folder: int) -> list[str]:
        """The names in a folder, sorted."""
        return sorted(os.listdir(folder))

    def may_write(self, name: str, *, folder: int) -> bool:
        """Whether this user may write to a file, which also root may not to one that is immutable."""
        return os.access(name, os.W_OK, dir_fd=folder, effective_ids=os.access in os.supports_effective_ids)

    def make_folder(self, name: str, mode: int, *, folder: int) -> None:
        """Make a folder."""
        os.mkdir(name, mode, dir_fd=folder)

    def link(self, old: str, new: str, *, old_folder: int, new_folder: int) -> None:
        """Give a file a second name; fails if the name is taken."""
        os.link(old, new, src_dir_fd=old_folder, dst_dir_fd=new_folder, follow_symlinks=False)

    def rename(self, old: str, new: str, *, old_folder: int, new_folder: int) -> None:
        """Rename, over whatever has the new name."""
        os.rename(old, new, src_dir_fd=old_folder, dst_dir_fd=new_folder)

    def exchange(self, old: str, new: str, *, old_folder: int, new_folder: int) -> None:
        """Swap two names in one step. ``ENOSYS`` or ``EINVAL`` where there is no such call."""
        result = _exchange_call()(old_folder, os.fsencode(old), new_folder, os.fsencode(new))
        if result:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), old, None, new)

    def unlink(self, name: str, *, folder: int) -> None:
        """Remove a name."""
        os.unlink(name, dir_fd=folder)

    def change_mode(self, descriptor: int, mode: int) -> None:
        """Set the mode of an open file."""
        os.fchmod(descriptor, mode)

    def change_owner(self, descriptor: int, user: int, group: int) -> None:
        """Set the owner of an open file."""
        os.fchown(descriptor, user, group)

    def copy_attributes(self, old: int, new: int) -> None:
        """Copy the extended attributes; nothing where the platform has none."""
        if sys.platform.startswith("linux"):
            for name in os.listxattr(old):
                os.setxattr(new, name, os.getxattr(old, name))

    def lock(self, descriptor: int) -> bool:
        """Take the exclusive lock of an open file, if it is free."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in {errno.EAGAIN, errno.EACCES}:
                return False
            raise
        return True

    def lock_holder(self, status: os.stat_result) -> int | None:
        """The process that holds the lock of a file, where the platform tells."""
        place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        for line in lines_of("/proc/locks"):  # ``1: FLOCK  ADVISORY  WRITE 812 08:01:4321 0 EOF``, the device in hex
            words = line.split()
            if "FLOCK" in words and place in words and "->" not in words:
                return int(words[4])
        return None

    def unlock(self, descriptor: int) -> None:
        """Give the lock back by name: closing would leave it to a child that was forked meanwhile."""
        fcntl.flock(descriptor, fcntl.LOCK_UN)

    def lease(self, descriptor: int, *, exclusive: bool = False) -> bool:
        """Take a lease on an open file: granted if no program has it open for writing (``exclusive``: at all)."""
        # While it stands, who opens the file for writing waits until it is given back. `False` if a program has it open
        # already.
        if not sys.platform.startswith("linux"):
            raise OSError(errno.EINVAL, "this platform has no leases")
        # The default signal of a lease that is wanted back ends the process; SIGURG does not. An unlock resets it.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, _SIGURG)
        try:
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK if exclusive else fcntl.F_RDLCK)
        except OSError as error:
            if error.errno in {errno.EAGAIN, errno.EBUSY}:
                return False
            raise
        return True

    def lease_stands(self, descriptor: int) -> bool:
        """Whether the lease is still whole: no program waits for it to be given back, and it was not taken away."""
        return fcntl.fcntl(descriptor, fcntl.F_GETLEASE) != fcntl.F_UNLCK

    def give_back(self, descriptor: int) -> None:
        """Give the lease back by name, for the same reason as ``unlock``."""
        # The system takes it away itself, after some 45 seconds, if a program waits for it so long; that is no error.
        with suppress(BlockingIOError):
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)

    def mount(self, descriptor: int) -> int:
        """The number of the mount through which an open file or folder is reached; 0 where the platform tells none."""
        try:
            info = os.open(f"/proc/self/fdinfo/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return 0
        try:
            found = _MOUNT.search(os.read(info, 4096))
        finally:
            os.close(info)
        return 0 if found is None else int(found[1])

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def clock(self) -> float:
        """Seconds that never go back, for time limits."""
        return time.monotonic()

    def now(self) -> datetime:
        """The moment, in UTC, as the machine's clock says it."""
        return datetime.now(UTC)

    def token(self) -> str:
        """32 random hex digits."""
        return os.urandom(16).hex()

    def boot(self) -> str:
        """A name of the time since the machine was started; empty where the platform tells none."""
        return _boot()

    def booted_at(self) -> float:
        """When the machine was started, in seconds since 1970; 0 where the platform tells nothing."""
        return float(next((line.split()[1] for line in lines_of("/proc/stat") if line.startswith("btime ")), "0"))

    def features(self) -> Features:
        """What this platform offers."""
        linux = sys.platform.startswith("linux")
        return Features(leases=linux, exchange=linux or sys.platform == "darwin", xattrs=linux)


@cache
def _boot() -> str:
    return lines_of("/proc/sys/kernel/random/boot_id")[0]


def lines_of(path: str) -> list[str]:
    """The lines of a file of the system; an empty one where there is none."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return [""]


@cache
def _exchange_call() -> Callable[[int, bytes, int, bytes], int]:
    """``renameat2`` of Linux or ``renameatx_np`` of macOS, with the flag that swaps."""
    name = "renameatx_np" if sys.platform == "darwin" else "renameat2"
    function: Any = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:
        raise OSError(errno.ENOSYS, f"there is no {name} here")
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)

    def exchange(old_folder: int, old: bytes, new_folder: int, new: bytes) -> int:
        return int(function(old_folder, old, new_folder, new, _SWAP))

    return exchange


# --- files read and written whole: a call may do a part of it at a time ---


def read_whole(system: System, descriptor: int, limit: int = MAX_FILE_BYTES) -> bytes:
    """All bytes of an open file, but no more than ``limit``, that of a memory file, and one part over it."""
    parts: list[bytes] = []
    done = 0
    while done <= limit and (part := system.read_at(descriptor, _PART, done)):
        parts.append(part)
        done += len(part)
    return b"".join(parts)


def stands_for(system: System, name: str, folder: int, status: os.stat_result) -> bool:
    """Whether a name in an open folder still stands for a file."""
    try:
        return os.path.samestat(system.look(name, folder=folder), status)
    except FileNotFoundError:
        return False


@contextmanager
def opened(system: System, name: str, folder: int, flags: int = os.O_RDONLY | os.O_NONBLOCK) -> Iterator[int]:
    """A descriptor of a name in an open folder, closed at the end. As it stands it reads, and waits for no FIFO."""
    descriptor = system.open(name, flags, folder=folder)
    try:
        yield descriptor
    finally:
        system.close(descriptor)


def read_file(system: System, name: str, folder: int) -> bytes:
    """All bytes of the file ``name`` in an open folder, as ``read_whole``."""
    with opened(system, name, folder) as descriptor:
        return read_whole(system, descriptor)


def write_whole(system: System, descriptor: int, data: bytes, offset: int = 0) -> None:
    """Write all of ``data`` at ``offset``."""
    done = 0
    while done < len(data):
        written = system.write_at(descriptor, data[done:], offset + done)
        if written <= 0:
            raise OSError(errno.EIO, "the system wrote nothing")
        done += written


def new_file(  # noqa: PLR0913 - what the file is to be
    system: System, name: str, folder: int, data: bytes, *, mode: int, sync: Callable[[int], None]
) -> None:
    """Make a file that is not there yet, with its bytes on the disk; nothing is left of it if that fails."""
    with opened(system, name, folder, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as descriptor:
        try:
            write_whole(system, descriptor, data)
            system.change_mode(descriptor, mode)
            sync(descriptor)
        except OSError:
            system.unlink(name, folder=folder)
            raise


_SAFE = "Nothing was written, and the file is as it was."
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NO_RIGHT = {errno.EACCES, errno.EPERM, errno.EROFS}
_WRONG_KIND = {errno.ENOTDIR, errno.EISDIR, errno.ENXIO}


@contextmanager
def store_errors(path: Path, safe: str = _SAFE) -> Iterator[None]:
    """Raise a ``StoreError`` for what the system says in the block; see ``store_error``."""
    try:
        yield
    except OSError as error:
        raise store_error(error, path, safe) from error


def store_error(error: OSError, path: Path, safe: str = _SAFE) -> StoreError:
    """The ``StoreError`` for what the system said at ``path``; ``safe`` says what became of the bytes."""
    said = error.strerror or str(error)
    if error.errno in _NO_SPACE:
        return StoreError(f"no space: {said}", code="no_space", path=path, hint=f"{safe} Make room on the disk.")
    if error.errno in _NO_RIGHT:
        hint = f"{safe} Check the rights of the file, its folder and .catmem in it."
        return StoreError(f"cannot be written: {said}", code="not_writable", path=path, hint=hint)
    if error.errno == errno.ELOOP:
        return link_in_place(path)
    if error.errno in _WRONG_KIND:
        return not_a_file(path)
    return StoreError(f"the system said: {said}", code="io", path=path, hint=f"{safe} Check the disk.")


def link_in_place(path: Path) -> StoreError:
    """For a symbolic link where a file or folder of the store should be."""
    return StoreError(
        "is a symbolic link, and the store follows none",
        code="symlink",
        path=path,
        hint=f"{_SAFE} Put the file or folder itself there, or set allow_outside: true in the profile.",
    )


def not_a_file(path: Path) -> StoreError:
    """For something else where a file should be."""
    return StoreError(
        "is not a regular file, or a part of its path is not a folder",
        code="not_a_file",
        path=path,
        hint=f"{_SAFE} Move away what stands there.",
    )


def mounted(path: Path) -> StoreError:
    """For a file or folder that is mounted by itself: nothing moves between it and the folder that it lies in."""
    return StoreError(
        "is mounted by itself, so no new file can be put in its place",
        code="not_writable",
        path=path,
        hint=f"{_SAFE} Mount the whole folder that it lies in instead, with .catmem in it, or unmount it.",
    )


def in_doubt(path: Path) -> StoreError:
    """For a store that an earlier failure left unsure of what is on the disk."""
    return StoreError(
        "the disk failed to confirm an earlier write, so nothing more is written through this open store",
        code="read_only",
        path=path,
        hint="What was acknowledged is safe. Check the disk, open the store again, and run catmem fsck.",
    )
