"""A small file of JSON put in place whole: whoever reads it sees the old one or the new one."""

from __future__ import annotations

import json
import os
import tempfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def replace_json(folder: Path, name: str, value: Any, *, lasting: bool) -> None:  # noqa: ANN401 - JSON data
    """Write ``value`` to the file ``name`` of a folder. One that is not ``lasting`` may be gone after a power cut.

    Raises ``OSError``; what was there is as it was then.
    """
    descriptor, new = tempfile.mkstemp(dir=folder, prefix=f".{name}-")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
            file.write(json.dumps(value, separators=(",", ":")))
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        os.replace(new, folder / name)  # noqa: PTH105 - text in hand
    except BaseException:  # also where the process is told to end: nothing is left lying there
        os.unlink(new)  # noqa: PTH108 - text in hand
        raise
