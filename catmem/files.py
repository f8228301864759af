"""Files: the one bounded read of a regular file, files put in place whole, and errors of the system.

A path may come from a profile or a configuration of another author, so nothing here waits on a FIFO, reads a
device, follows a link that the caller did not allow, or takes in more than ``limit`` bytes.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from catmem.errors import CatmemError, ChangedMeanwhileError, TooLargeError, UnreadableError
from catmem.text import MAX_FILE_BYTES

_READ_SIZE = 1 << 20
_PAUSE = 0.01


def permission_or_io(error: OSError) -> str:
    """The code of an error of a read: ``permission`` where the right is missing, otherwise ``io``."""
    return "permission" if isinstance(error, PermissionError) else "io"


@contextmanager
def os_errors(  # noqa: PLR0913 - the fields of an error
    message: str,
    *,
    path: str | Path | None,
    hint: str | None,
    code: str | Callable[[OSError], str] = "not_writable",
    kind: type[CatmemError] = UnreadableError,
    named: bool = False,
) -> Iterator[None]:
    """Raise ``kind`` for an ``OSError`` of the block: ``message``, and what the system said.

    With ``named`` the error is at the file that the system names, if it names one, and not at ``path``.
    """
    try:
        yield
    except OSError as error:
        raise kind(
            f"{message}: {error.strerror or error}",
            code=code if isinstance(code, str) else code(error),
            path=(error.filename if named else None) or path,
            hint=hint,
        ) from error


def shown_path(path: str | Path) -> str:
    """The path from the working folder where it lies below it, else as it is."""
    text = os.fspath(path)
    try:
        relative = os.path.relpath(text) if os.path.isabs(text) else text  # noqa: PTH117 - text in, text out
    except FileNotFoundError:
        return text  # the working folder is gone
    return text if relative.startswith("..") else relative


def real_path(path: str | Path) -> Path:
    """Where a path leads; for links in a circle the path, of which a read says what it is."""
    return Path(os.path.realpath(path))


def read_bounded(path: str | Path, limit: int, *, follow_symlink: bool = True) -> bytes:
    """The whole of the regular file at ``path``, at most ``limit`` bytes. Raises ``UnreadableError``.

    With ``follow_symlink=False`` the last part of the path must not be a symbolic link.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow_symlink else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise _not_a_file(path, found.st_mode)
        if found.st_size > limit:
            raise TooLargeError("file", found.st_size, limit, path=path)
        return _read_all(descriptor, path, limit, found.st_size)
    except OSError as error:
        raise _unreadable(path, error) from error
    finally:
        os.close(descriptor)


def _read_all(descriptor: int, path: str | Path, limit: int, size: int) -> bytes:
    # The size was looked at before; a file that grows while it is read is held to the limit here.
    parts: list[bytes] = []
    total = 0
    ask = size + 1  # one part as a rule, which need not be copied to be joined
    while part := os.read(descriptor, ask):
        ask = _READ_SIZE
        parts.append(part)
        total += len(part)
        if total > limit:
            raise TooLargeError("file", total, limit, path=path)
    return b"".join(parts)


def _not_a_file(path: str | Path, mode: int) -> UnreadableError:
    kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
    return UnreadableError(
        f"is {kind}, where a file should be", code="not_a_file", path=path, hint="Name the file itself."
    )


_READ_ERRORS = {
    errno.ENOENT: ("missing", "no such file", "Check the path."),
    # Not "missing": a file in the place of a folder hides whatever should be there.
    errno.ENOTDIR: ("not_a_file", "a part of the path is not a folder", "Check the path."),
    errno.ENXIO: ("not_a_file", "is not a regular file, where a file should be", "Name the file itself."),
    errno.ELOOP: (
        "symlink",
        "is a symbolic link that is not followed here, or links lead in a circle",
        "Mend the link, put the file itself there, or set allow_outside: true in the profile.",
    ),
    **dict.fromkeys(
        (errno.EACCES, errno.EPERM),
        ("permission", "no permission to read it", "Give this user the right to read the file."),
    ),
}


def _unreadable(path: str | Path, error: OSError) -> UnreadableError:
    code, message, hint = _READ_ERRORS.get(error.errno or 0, ("io", error.strerror or str(error), None))
    return UnreadableError(message, code=code, path=path, hint=hint)


def replace_file(
    path: Path,
    data: bytes,
    *,
    lasting: bool = False,
    mode: int | None = None,
    check: Callable[[], object] | None = None,
) -> None:
    """Put ``data`` in the place of what ``path`` holds: readers see the old or the new. Raises ``OSError``.

    The file is for its owner alone, if no ``mode`` is given. One that is not ``lasting`` may be gone after a power cut.
    ``check`` is called last, before the file gets its name, and may raise.
    """
    import tempfile

    descriptor, new = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            if mode is not None:
                os.fchmod(stream.fileno(), mode)
            if lasting:
                stream.flush()
                os.fsync(stream.fileno())
        if check is not None:
            check()
        os.replace(new, path)  # noqa: PTH105 - text in hand
    except BaseException:  # also where the process is asked to end: nothing is left lying there
        os.unlink(new)  # noqa: PTH108 - text in hand
        raise


def take_lock(descriptor: int, patience: float, how: int = fcntl.LOCK_EX) -> None:
    """Take the lock of an open file or folder, which ends when that is closed. Raises ``BlockingIOError``."""
    ends = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > ends:
                raise
            time.sleep(_PAUSE)
        else:
            return


@contextmanager
def locked_folder(path: Path, patience: float) -> Iterator[int]:
    """A folder that is reached through no link, opened, with its lock. Raises ``OSError``, and as ``take_lock``."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        take_lock(folder, patience)
        yield folder
    finally:
        os.close(folder)


def write_private(folder: int, name: str, value: Any) -> None:  # noqa: ANN401 - JSON data
    """Put JSON durably into a file of mode 0600 in an open folder, in the place of what has the name."""
    new = f".{name}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(new, flags, 0o600, dir_fd=folder), "w", encoding="ascii") as stream:
        os.fchmod(stream.fileno(), 0o600)
        stream.write(json.dumps(value, indent=2) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)


_ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def rewrite_file(path: Path, old: bytes, new: bytes) -> None:
    """Replace the content ``old`` of ``path`` by ``new``, durably, with the file's mode kept.

    Raises ``ChangedMeanwhileError`` and ``UnreadableError``. Then the file is as it was, unless the error says that the
    disk failed at the very end.
    """
    target = real_path(path)  # a link stays a link: what it points to is rewritten
    with _write_errors(path):
        # Opened before anything is written: a folder that cannot be made durable is refused while nothing has changed.
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _replace(path, target, old, new)
        with os_errors(
            "was written, but the disk did not confirm it",
            path=path,
            hint="The file holds the new text now; after a power cut it may be the old one. Check the disk.",
        ):
            os.fsync(folder)
    finally:
        os.close(folder)


def _replace(path: Path, target: Path, old: bytes, new: bytes) -> None:
    """Write a new file beside ``target`` and rename it; errors name ``path``."""

    def refuse(what: str) -> ChangedMeanwhileError:
        return ChangedMeanwhileError(
            f"another program {what}", path=path, hint="Nothing was written. Run the command again."
        )

    def check() -> None:
        if read_bounded(target, max(len(old), MAX_FILE_BYTES)) != old:
            raise refuse("changed this file while it was being rewritten")
        if not _has_lease(held):
            raise refuse("has this file open for writing")

    with _write_errors(path):
        found = target.stat()
        _refuse_protected(path, found)
        held = os.open(target, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            # Until it is closed, a program that opens the file for writing waits.
            with suppress(OSError, AttributeError):  # no leases here, or it is open: `_has_lease` says which
                fcntl.fcntl(held, fcntl.F_SETSIG, signal.SIGURG)  # what it sends by default ends the process
                fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            replace_file(target, new, lasting=True, mode=found.st_mode & 0o7777, check=check)
        finally:
            os.close(held)


def _has_lease(descriptor: int) -> bool:
    """Whether the lease on a file is whole; true where the file system or the platform has none."""
    try:
        if fcntl.fcntl(descriptor, fcntl.F_GETLEASE) != fcntl.F_UNLCK:
            return True
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except AttributeError:
        return True
    except OSError as error:
        return error.errno not in {errno.EAGAIN, errno.EBUSY}
    return False  # it was there, and a program waits for it to end


def _refuse_protected(path: Path, found: os.stat_result) -> None:
    if not found.st_mode & _ANY_WRITE:
        raise UnreadableError(
            "is read-only, so it was not written",
            code="not_writable",
            path=path,
            hint="The file is as it was. Make it writable first (chmod u+w) if it may change.",
        )
    if found.st_nlink > 1:
        raise UnreadableError(
            f"has {found.st_nlink} hard links, and only this one would get the new text",
            code="not_writable",
            path=path,
            hint="The file is as it was. Copy it to a new file, and put that in the place of this name.",
        )


def _write_errors(path: Path) -> AbstractContextManager[None]:
    hint = "The file is as it was. Check the rights of its folder and the space on the disk."
    return os_errors("cannot be written", path=path, hint=hint)
