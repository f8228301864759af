"""Files of their owner alone, written whole."""

from __future__ import annotations

import json
import os
from typing import Any


def write_private(folder: int, name: str, value: Any) -> None:  # noqa: ANN401 - JSON data
    """Put JSON into a file of mode 0600 in an open folder, in the place of what has the name; it is on the disk then.

    Raises ``OSError``.
    """
    new = f".{name}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(new, flags, 0o600, dir_fd=folder), "w", encoding="ascii") as stream:
        os.fchmod(stream.fileno(), 0o600)
        stream.write(json.dumps(value, indent=2) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)
