"""Where it shows that an entity was changed: for whoever looks often, and does not want to read files each time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from catmem.store.files.folder import SIDECAR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.store.files.folder import Place

Mark: TypeAlias = "tuple[object, ...]"


def mark_of(place: Place) -> Mark:
    """What stands at a place, without its text: equal where nothing happened, as far as sizes and times tell.

    Two changes in one tick of the clock that leave the size of a file alike look like one.
    """
    journal = os.path.join(place.path.parent, SIDECAR, "journal")  # noqa: PTH118 - asked often
    return _status(place.path), *sorted(_files(journal))


def _files(folder: str) -> Iterator[Mark]:
    try:
        with os.scandir(folder) as found:
            yield from ((each.name, *_status(each.path)) for each in found)
    except OSError:
        return


def _status(path: str | os.PathLike[str]) -> tuple[int, ...]:
    try:
        found = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - asked often, and a link is no file here
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
