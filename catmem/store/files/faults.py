"""What the system says of a disk, as errors that say what is safe and what to do."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from catmem.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

_SAFE = "Nothing was written, and the file is as it was."
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NO_RIGHT = {errno.EACCES, errno.EPERM, errno.EROFS}
_WRONG_KIND = {errno.ENOTDIR, errno.EISDIR, errno.ENXIO}


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
    return StoreError(f"the system said: {said}", code="io", path=path, hint=f"{safe} See to the disk.")


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
        hint="What was acknowledged is safe. See to the disk, open the store again, and run catmem fsck.",
    )
