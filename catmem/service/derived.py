"""What was worked out and is kept in ``.catmem``, to be read again: files that may be lost at any time."""

from __future__ import annotations

import json
import os
import tempfile
from typing import TYPE_CHECKING, Any

from catmem.errors import CatmemError
from catmem.reading import read_bounded

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
    descriptor, new = tempfile.mkstemp(dir=folder, prefix=f".{name}-")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
            file.write(json.dumps(value, separators=(",", ":")))
        os.replace(new, folder / name)  # noqa: PTH105 - text in hand
    except BaseException:
        os.unlink(new)  # noqa: PTH108 - text in hand
        raise
