"""Copies of externally changed rows: ``memory.bak.<unix_ts>.json`` in a folder of the root.

One for each content: a copy that is there already is used again. Old ones are removed, never the newest.
"""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from catmem import clock
from catmem.errors import StoreError
from catmem.files import os_errors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

KEPT = 10
"""How many copies of one entity are kept."""

KEPT_FOR = 30 * 24 * 3600
"""For how many seconds; the newest stays whatever its age."""

_NAME = re.compile(r"memory\.bak\.(?P<stamp>\d+)(?:-(?P<number>\d+))?\.json")
_MOST = 64 * 1024 * 1024


def keep_rows(folder: Path, entity: str, generations: tuple[int, int], rows: Sequence[Mapping[str, Any]]) -> Path:
    """Keep rows as they were found, and say where; ``generations`` are that observed and that which is there.

    Raises ``StoreError``: what depends on the copy must then not be done.
    """
    entries = [{name: value for name, value in row.items() if name != "mark"} for row in rows]
    with os_errors(
        "no copy of the external change could be kept",
        path=folder,
        hint="So nothing else was written. Make the folder writable.",
        kind=StoreError,
    ):
        own = [
            path for path in copies(folder) if (there := read_copy(path)) is not None and there.get("entity") == entity
        ]
        for path in reversed(own):
            if _texts((read_copy(path) or {}).get("entries")) == _texts(entries):
                return path
        saying = {
            "timestamp": clock.timestamp_in_seconds(clock.now()),
            "entity": entity,
            "generation_observed": generations[0],
            "generation_actual": generations[1],
            "entries": entries,
        }
        path = _write(folder, json.dumps(saying, ensure_ascii=False, indent=1).encode() + b"\n")
        oldest = time.time() - KEPT_FOR
        for number, old in enumerate(own):
            if number < len(own) + 1 - KEPT or old.stat().st_mtime < oldest:
                old.unlink()
    return path


def copies(folder: Path) -> list[Path]:
    """The copies in a folder, the oldest first."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names are matched
    except FileNotFoundError:
        return []
    found = [match for name in names if (match := _NAME.fullmatch(name))]
    return [
        folder / match[0] for match in sorted(found, key=lambda each: (int(each["stamp"]), int(each["number"] or 0)))
    ]


def _texts(entries: object) -> list[str]:
    """What tells one copy from another: what its entries say, in whatever order."""
    rows = entries if isinstance(entries, list) else []
    said = ([row.get(name) for name in ("category", "content", "tags")] for row in rows if isinstance(row, dict))
    return sorted(json.dumps(each, sort_keys=True) for each in said)


def read_copy(path: Path) -> dict[str, Any] | None:
    """What a copy says; ``None`` for a file that only has the name of one."""
    try:
        if path.is_symlink() or path.stat().st_size > _MOST:
            return None
        there = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None  # it is left alone, and another one written
    return there if isinstance(there, dict) else None


def _write(folder: Path, data: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    stamp, number = int(time.time()), 1
    path = folder / f"memory.bak.{stamp}.json"
    while True:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            break
        except FileExistsError:
            number += 1
            path = folder / f"memory.bak.{stamp}-{number}.json"
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        with suppress(OSError):
            path.unlink()
        raise
    parent = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(parent)
    finally:
        os.close(parent)
    return path
