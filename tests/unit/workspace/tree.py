"""What the files below a folder say, with whatever a journal packs into its lines."""

from __future__ import annotations

import re
import zlib
from base64 import b64decode
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PACKED = re.compile(rb"[A-Za-z0-9+/]{4,}")


def holding(folder: Path, text: bytes) -> list[str]:
    """The names, from the folder, of all files that hold a text, as it is or packed."""
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and any(text in said for said in _said(path.read_bytes()))
    )


def _said(data: bytes) -> Iterator[bytes]:
    yield data
    for packed in _PACKED.findall(data):
        decoded = b64decode(packed[: len(packed) - (len(packed) % 4 == 1)] + b"=" * (-len(packed) % 4))
        yield decoded
        try:
            yield zlib.decompressobj().decompress(decoded)
        except zlib.error:
            continue
