"""Put new bytes in the place of a file's old ones, whole or not at all.

For a person who rewrites a file by hand (``catmem fmt``); it gives up when somebody else changed the file in the
meantime, and the moment in which it cannot notice that is the one between its last look and the rename.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from catmem.errors import CatmemError, UnreadableError
from catmem.reading import read_bounded
from catmem.text import DEFAULT_LIMITS


class ChangedMeanwhileError(CatmemError):
    """The file is no longer what it was when it was read; nothing was written."""

    code = "changed_meanwhile"
    exit_status = 3


def rewrite_file(path: Path, old: bytes, new: bytes) -> None:
    """Replace the content ``old`` of ``path`` by ``new``, durably, with the file's mode kept.

    Raises ``ChangedMeanwhileError`` if the file does not hold ``old``, and ``UnreadableError`` (``not_writable``) if
    the folder does not allow it; the file is then as it was.
    """
    target = path.resolve()  # a link stays a link: what it points to is rewritten
    try:
        mode = target.stat().st_mode & 0o7777
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise _not_writable(path, error) from error
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(new)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        if read_bounded(target, DEFAULT_LIMITS.file_bytes) != old:
            raise ChangedMeanwhileError(
                "somebody changed this file while it was being formatted",
                path=path,
                hint="Nothing was written. Run the command again.",
            )
        temporary.replace(target)
        _sync_folder(target.parent)
    except OSError as error:
        raise _not_writable(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _not_writable(path: Path, error: OSError) -> UnreadableError:
    return UnreadableError(
        f"cannot be written: {error.strerror or error}",
        code="not_writable",
        path=path,
        hint="The file is as it was. Check the rights of its folder and the space on the disk.",
    )
