"""The file ``catmem.sync.lock`` of a root: where catmem wrote, what it made there, and digests of what it wrote.

It holds no words of the memory. If it is lost, blocks are found by their markers still; then nothing counts as an
agent's change, and nothing that was changed is written over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catmem.errors import BusyError, UnreadableError
from catmem.files import read_bounded, replace_file, take_lock
from catmem.plugins.harnesses.bullets import LastBullet

LOCK_NAME = "catmem.sync.lock"
_LIMIT = 64 << 20
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class SyncRecord:
    """What is known of one file: ``made`` are the folders that were made for it, ``created`` the file itself."""

    path: str
    created: bool = False
    made: tuple[str, ...] = ()
    sha: str = ""
    bullets: tuple[LastBullet, ...] = ()


SyncRecords = dict[tuple[str, str], SyncRecord]
"""The records by the name of a sync and the part that the file is."""


@contextmanager
def held_lock(root: Path) -> Iterator[None]:
    """Keep other syncs of this root out. Raises ``BusyError`` (``locked``)."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            take_lock(folder, _PATIENCE)
        except BlockingIOError as error:
            raise BusyError(
                "another sync or seed of this root is running",
                code="locked",
                path=root / LOCK_NAME,
                hint="Nothing was written. Try again when it has ended.",
            ) from error
        yield
    finally:
        os.close(folder)


def read_records(root: Path) -> tuple[SyncRecords, str | None]:
    """The records of a root, and what to know of a file that is not whole."""
    path = root / LOCK_NAME
    try:
        said = json.loads(read_bounded(path, _LIMIT, follow_symlink=False))
        return {
            (name, part): _record(each) for name, parts in said["files"].items() for part, each in parts.items()
        }, None
    except UnreadableError as error:
        if error.code == "missing":
            return {}, None
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}, f"{path} cannot be read, so no change counts as an agent's until the next sync"


def _record(said: dict[str, Any]) -> SyncRecord:
    bullets = tuple(LastBullet(str(t), str(c), str(i), str(d), int(n)) for t, c, i, d, n in said["bullets"])
    made = tuple(str(each) for each in said["made"])
    return SyncRecord(str(said["path"]), bool(said["created"]), made, str(said["sha"]), bullets)


def write_records(root: Path, records: SyncRecords) -> None:
    """Put the records in the place of those that are there, if they are others."""
    files: dict[str, dict[str, Any]] = {}
    for (name, part), each in sorted(records.items()):
        files.setdefault(name, {})[part] = {
            "path": each.path,
            "created": each.created,
            "made": list(each.made),
            "sha": each.sha,
            "bullets": [list(bullet) for bullet in each.bullets],
        }
    path = root / LOCK_NAME
    data = (json.dumps({"version": 1, "files": files}, ensure_ascii=False, indent=1) + "\n").encode()
    if not files and not os.path.lexists(path):
        return
    if not (path.is_file() and path.read_bytes() == data):
        replace_file(path, data, lasting=True, mode=0o600)
