"""Files read and written whole, through the system calls of the store, which may do a part of it at a time."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from catmem.text import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable

    from catmem.store.files.system import System

_PART = 1 << 20


def read_whole(system: System, descriptor: int) -> bytes:
    """All bytes of an open file, but no more than a memory file may have and one part over it."""
    parts: list[bytes] = []
    done = 0
    while done <= DEFAULT_LIMITS.file_bytes and (part := system.read_at(descriptor, _PART, done)):
        parts.append(part)
        done += len(part)
    return b"".join(parts)


def read_file(system: System, name: str, folder: int) -> bytes:
    """All bytes of the file ``name`` in an open folder, as ``read_whole``; waits for no FIFO."""
    descriptor = system.open(name, os.O_RDONLY | os.O_NONBLOCK, folder=folder)
    try:
        return read_whole(system, descriptor)
    finally:
        system.close(descriptor)


def write_whole(system: System, descriptor: int, data: bytes) -> None:
    """Write all of ``data`` where the descriptor stands."""
    done = 0
    while done < len(data):
        written = system.write(descriptor, data[done:])
        if written <= 0:
            raise OSError(errno.EIO, "the system wrote nothing")
        done += written


def new_file(  # noqa: PLR0913 - what the file is to be
    system: System, name: str, folder: int, data: bytes, *, mode: int, sync: Callable[[int], None]
) -> None:
    """Make a file that is not there yet, with its bytes on the disk; nothing is left of it if that fails."""
    descriptor = system.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, folder=folder)
    try:
        write_whole(system, descriptor, data)
        system.change_mode(descriptor, mode)
        sync(descriptor)
    except OSError:
        system.unlink(name, folder=folder)
        raise
    finally:
        system.close(descriptor)
