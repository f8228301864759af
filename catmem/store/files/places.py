"""Where it shows that an entity was changed: for whoever watches files and does not want to read them all the time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from catmem.store.files.folder import SIDECAR

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from catmem.store.files.folder import Place

Mark: TypeAlias = "tuple[object, ...]"
"""What stands at a place, without its text: equal where nothing happened, as far as sizes and times tell."""


def folders_of(place: Place) -> tuple[Path, ...]:
    """The folders in which something happens with each revision and with each change from outside."""
    folder = place.path.parent
    return folder, folder / SIDECAR, folder / SIDECAR / "journal"


def mark_of(place: Place) -> Mark:
    """What stands there now. Two changes in one tick of the clock that leave the size alike look like one."""
    return _status(place.path), *_journal(folders_of(place)[-1])


def _journal(folder: Path) -> Sequence[object]:
    try:
        with os.scandir(folder) as found:
            return sorted((each.name, *_status(each.path)) for each in found)
    except OSError:
        return []


def _status(path: str | os.PathLike[str]) -> tuple[int, ...]:
    try:
        found = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - asked often, and a link is no file here
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
