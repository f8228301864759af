"""What was counted since ``usage.json`` was last written: a line for each search, so that none pays for all before it.

``usage.log`` lies beside ``usage.json`` and holds the same: days and digests, no text. Its first line says what stood
there when it was begun. Where that is no longer so, or the log has grown large, it is folded into ``usage.json`` and a
new one is begun. Whoever writes holds the lock of ``usage.py``.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.policy.staleness import read_date
from catmem.service.backends import FILE_NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from pathlib import Path

LOG_NAME = "usage.log"

FILE_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Nothing of the sidecar is followed if it is a link, or waited for if it is a pipe."""

_MOST_BYTES = 1 << 18
"""What a log has when it is folded in: a hundred and more searches, each with as many entries as an answer takes."""
_LARGEST = 1 << 20
_HEADER_BYTES = 1 << 10
_VERSION = 1

Mark = list[int]
"""Inode, size and time of a file: where one of them is another, something was changed."""


class Line(NamedTuple):
    """One search: the entries of a target that it showed, by ``usage_key``, and the day."""

    target: str
    day: date
    keys: tuple[str, ...]


class Log(NamedTuple):
    """A log as it was read. ``whole`` is false where a part of it could not be; the others count all the same.

    Numbers rise: a log is folded in if ``usage.json`` names its number or a higher one. One that is not ours is 0.
    """

    number: int
    files: dict[str, Mark | None]
    """The memory file of each target whose gone entries were dropped when the log was begun."""
    lines: tuple[Line, ...] = ()
    whole: bool = True


class _Header(NamedTuple):
    number: int
    kept: Mark | None
    """``usage.json`` when the log was begun."""
    files: dict[str, Mark | None]


def mark_of(path: Path | str, folder: int | None = None) -> Mark | None:
    """What tells whether the file at ``path`` (in the open ``folder``) was changed; ``None`` where there is none."""
    try:
        status = os.stat(path, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return [status.st_ino, status.st_size, status.st_mtime_ns]


def append(folder: int, line: Line, memory: Mark | None, kept: Mark | None) -> bool:
    """Add a line to the log; false where it has to be folded in first, or a first one is to be begun.

    ``memory`` is the mark of the memory file, ``kept`` that of ``usage.json``. Raises ``OSError`` for a full disk.
    """
    try:
        descriptor = os.open(LOG_NAME, os.O_RDWR | os.O_APPEND | FILE_FLAGS, dir_fd=folder)
    except OSError:
        return False  # none, or none of ours: whoever puts a new one in its place learns what is wrong
    try:
        status = os.fstat(descriptor)
        size = status.st_size
        # A second name of it may stand anywhere, and there nothing is to be written.
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or not 0 < size < _MOST_BYTES:
            return False
        header = _read_header(os.pread(descriptor, _HEADER_BYTES, 0).partition(b"\n")[0])
        if header is None or header.kept != kept or header.files.get(line.target, []) != memory:
            return False
        if os.pread(descriptor, 1, size - 1) != b"\n":
            return False  # somebody was stopped in the middle of a line
        data = _json([line.target, line.day.isoformat(), line.keys])
        if os.write(descriptor, data) < len(data):
            os.ftruncate(descriptor, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return True
    finally:
        os.close(descriptor)


def read_log(folder: int) -> Log | None:
    """The log, as far as it can be read; ``None`` where there is none. Raises ``OSError``."""
    try:
        descriptor = os.open(LOG_NAME, os.O_RDONLY | FILE_FLAGS, dir_fd=folder)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return Log(0, {}, whole=False)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
        data = file.read(_LARGEST + 1)
    first, *others = data.split(b"\n")
    header = _read_header(first)
    if header is None or len(data) > _LARGEST:
        return Log(0, {}, whole=False)
    # Behind the last newline stands nothing, or a line that somebody was stopped in.
    read = [_read_line(each) for each in others[:-1]]
    lines = tuple(line for line in read if line is not None)
    return Log(header.number, header.files, lines, whole=len(lines) == len(read) and others[-1:] == [b""])


def begin(folder: int, number: int, kept: Mark | None, files: Mapping[str, Mark | None]) -> None:
    """Put a new log without lines in the place of what is there. Raises ``OSError``."""
    put(folder, LOG_NAME, _json({"version": _VERSION, "number": number, "kept": kept, "files": files}))


def put(folder: int, name: str, data: bytes) -> None:
    """Put a new file in the place of an old one. Nothing is waited for: after a power cut it may be an older one."""
    drop_unfinished(folder, name)
    new = _unfinished(name)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FILE_FLAGS, 0o600, dir_fd=folder)
    with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
        file.write(data)
    os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)


def drop_unfinished(folder: int, name: str) -> None:
    """Remove what somebody left who was stopped in ``put``."""
    with suppress(FileNotFoundError):
        os.unlink(_unfinished(name), dir_fd=folder)


def _unfinished(name: str) -> str:
    return f"{name}.new"


def _json(value: Any) -> bytes:  # noqa: ANN401 - JSON data
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _read_header(data: bytes) -> _Header | None:
    """What the first line says; ``None`` if it is not ours."""
    try:
        said = json.loads(data)
        if said["version"] != _VERSION or type(said["number"]) is not int or said["number"] < 1:
            return None
        files = {target: _read_mark(said["files"][target]) for target in FILE_NAMES if target in said["files"]}
        return _Header(said["number"], _read_mark(said["kept"]), files)
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def _read_mark(said: Any) -> Mark | None:  # noqa: ANN401 - JSON data
    if said is None:
        return None
    inode, size, time = said
    return [int(inode), int(size), int(time)]


def _read_line(data: bytes) -> Line | None:
    """What a further line says; ``None`` if it is damaged."""
    try:
        target, said, keys = json.loads(data)
    except (TypeError, ValueError, RecursionError):
        return None
    day = read_date(said)
    if day is None or not isinstance(target, str) or target not in FILE_NAMES or not isinstance(keys, list):
        return None
    return Line(target, day, tuple(keys)) if all(isinstance(key, str) for key in keys) else None
