"""Whether a memory file can be written, found out by asking the system, which writes nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from catmem.errors import StoreError
from catmem.store.files.faults import mounted
from catmem.store.files.system import System
from catmem.store.lasting import SIDECAR

if TYPE_CHECKING:
    from pathlib import Path

    from catmem.store.files.folder import Place

_PARTS = ("lock", "journal", "tmp", "gen")


def refuse_unwritable(place: Place) -> None:
    """Raise ``StoreError`` (``not_writable``) where a file, or what lies beside it, may not be written.

    Of what is not there yet, the nearest folder that is has to be writable. A full disk is not seen.
    """
    folder = place.path.parent
    if not os.path.lexists(folder):
        _refuse(next(each for each in folder.parents if os.path.lexists(each)))
        return
    side = folder / SIDECAR
    for each in (folder, side, *(side / part for part in _PARTS), place.path):
        if os.path.lexists(each):
            _refuse(each)
            if _mount(each) != _mount(folder):
                raise mounted(each)


def _mount(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return 0
    try:
        return System().mount(descriptor)
    finally:
        os.close(descriptor)


def _refuse(path: Path) -> None:
    if not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        hint = "Nothing can be written there; what is there is read. Check the rights, and how the disk is mounted."
        raise StoreError("may not be written by whoever runs this", code="not_writable", path=path, hint=hint)
