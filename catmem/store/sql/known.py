"""Which SQLite databases a root has had, kept in ``.catmem/databases.json``: none that is away is taken for new.

It names each database by its path (from the root, where it lies in it) with the name of its store. Who removes the file
says by that: begin anew.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from catmem.errors import UnreadableError
from catmem.reading import read_bounded
from catmem.store.lasting import SIDECAR
from catmem.store.replacing import replace_json

if TYPE_CHECKING:
    from pathlib import Path

NAME = "databases.json"
_LIMIT = 1 << 20


def known_store(root: Path, path: str) -> str | None:
    """The name of the store that the database at ``path`` had when it was written last; ``None`` for one never written.

    Raises ``UnreadableError`` where that cannot be told.
    """
    return _known(root).get(_key(root, path))


def remember(root: Path, path: str, store: str) -> None:
    """Keep which store the database at ``path`` has. Raises ``OSError`` and ``UnreadableError``."""
    known, key = _known(root), _key(root, path)
    if known.get(key) == store:
        return
    folder = root / SIDECAR
    folder.mkdir(mode=0o700, exist_ok=True)
    replace_json(folder, NAME, {**known, key: store}, lasting=True)


def _key(root: Path, path: str) -> str:
    """The path from the root, so that a root that is moved as a whole still knows it."""
    top = os.path.abspath(root)  # noqa: PTH100 - as the path of the database is made
    inside = os.path.commonpath([top, path]) == top
    return os.path.relpath(path, top) if inside else path


def _known(root: Path) -> dict[str, str]:
    place = root / SIDECAR / NAME
    try:
        said = json.loads(read_bounded(place, _LIMIT, follow_symlink=False))
    except UnreadableError as error:
        if error.code == "missing" and not os.path.lexists(place):
            return {}
        raise
    except (ValueError, RecursionError):
        said = None
    if isinstance(said, dict) and all(isinstance(store, str) for store in said.values()):
        return said
    raise UnreadableError(
        "does not say which databases this root has had",
        path=place,
        hint="Look whether the database is in its place; then remove this file, which the next write makes again.",
    )
