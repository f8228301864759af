"""What was worked out and is kept in ``.catmem``, to be read again: files that may be lost at any time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from catmem.errors import CatmemError
from catmem.files import read_bounded
from catmem.store.replacing import replace_json

if TYPE_CHECKING:
    from pathlib import Path


def read_derived(path: Path, limit: int) -> Any:  # noqa: ANN401 - JSON data
    """What such a file says; ``None`` if it is not there, not whole, or over ``limit`` bytes: it is made again then."""
    try:
        return json.loads(read_bounded(path, limit, follow_symlink=False))
    except (CatmemError, ValueError, RecursionError):
        return None


def write_derived(folder: Path, name: str, value: Any) -> None:  # noqa: ANN401 - JSON data
    """Put such a file in place, whole. After a power cut it may be gone. Raises ``OSError``."""
    replace_json(folder, name, value, lasting=False)
