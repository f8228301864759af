"""Put new bytes in the place of a file's old ones, whole or not at all.

For a person who rewrites a file by hand (``catmem fmt``); it gives up when somebody else changed the file in the
meantime, and the moment in which it cannot notice that is the one between its last look and the rename.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from catmem.errors import ChangedMeanwhileError, UnreadableError
from catmem.files import os_errors, read_bounded, replace_file
from catmem.text import DEFAULT_LIMITS

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

_ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def rewrite_file(path: Path, old: bytes, new: bytes) -> None:
    """Replace the content ``old`` of ``path`` by ``new``, durably, with the file's mode kept.

    Raises ``ChangedMeanwhileError`` if the file does not hold ``old``, and ``UnreadableError`` (``not_writable``) if
    the folder does not allow it, the file is read-only, or it has several hard links, of which only one would get the
    new text; the file is then as it was. The one exception is a disk that fails at the very end, which the error says.
    """
    target = path.resolve()  # a link stays a link: what it points to is rewritten
    with _writing(path):
        # Opened before anything is written: a folder that cannot be made durable is refused while nothing has changed.
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _replace(path, target, old, new)
        with os_errors(
            "was written, but the disk did not confirm it",
            path=path,
            hint="The file holds the new text now; after a power cut it may be the old one. See to the disk.",
        ):
            os.fsync(folder)
    finally:
        os.close(folder)


def _replace(path: Path, target: Path, old: bytes, new: bytes) -> None:
    """Write a new file beside ``target`` and rename it; errors name ``path``."""

    def check() -> None:
        if read_bounded(target, max(len(old), DEFAULT_LIMITS.file_bytes)) != old:
            raise ChangedMeanwhileError(
                "somebody changed this file while it was being rewritten",
                path=path,
                hint="Nothing was written. Run the command again.",
            )

    with _writing(path):
        found = target.stat()
        _refuse_protected(path, found)
        replace_file(target, new, lasting=True, mode=found.st_mode & 0o7777, check=check)


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
            hint="The file is as it was. Copy it to a new file and put that in its place if the names may part.",
        )


def _writing(path: Path) -> AbstractContextManager[None]:
    hint = "The file is as it was. Check the rights of its folder and the space on the disk."
    return os_errors("cannot be written", path=path, hint=hint)
