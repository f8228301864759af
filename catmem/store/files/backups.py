"""Copies of what an outsider wrote, beside the file: ``MEMORY.md.bak.20261121T120000Z``.

One for each content: a copy that is there already is used again. Old ones are removed, never the newest.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import closing
from datetime import UTC, timedelta
from typing import TYPE_CHECKING

from catmem.store.files.folder import Folder, Place
from catmem.store.files.system import FOLDER, System, new_file, read_file, store_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

KEPT = 10
"""How many copies of one file are kept."""

KEPT_FOR = timedelta(days=30)
"""For how long; the newest stays whatever its age."""

_NOT_KEPT = "No backup could be written, so nothing else was."
_STAMP = "%Y%m%dT%H%M%SZ"
_NAME = re.compile(r"(?P<file>.+)\.bak\.(?P<stamp>\d{8}T\d{6}Z)(?:-(?P<number>\d+))?")


def keep_backup(folder: Folder, name: str, data: bytes, status: os.stat_result | None) -> Path:
    """Keep ``data`` beside the file ``name``, with the mode in ``status``, and say where.

    Raises ``StoreError``: what depends on the copy must then not be done.
    """
    with store_errors(folder.path / name, _NOT_KEPT):
        there = backups(folder, name)
        for copy in reversed(there):
            if _holds(folder, copy, data):
                return folder.path / copy
        copy = _write(folder, name, data, 0o600 if status is None else stat.S_IMODE(status.st_mode))
        _prune(folder, [*there, copy])
    return folder.path / copy


def keep_copy(path: Path, data: bytes) -> tuple[Path, bool]:
    """Keep ``data`` beside a file; where that is, and whether it was not there before. Raises ``StoreError``."""
    real = path.resolve()
    with store_errors(path, _NOT_KEPT):
        status = real.stat()
        descriptor = os.open(real.parent, FOLDER | os.O_CLOEXEC)
    with closing(Folder(System(), real.parent, descriptor)) as folder:
        there = backups(folder, real.name)
        copy = keep_backup(folder, real.name, data, status)
    return copy, copy.name not in there


def copies_in(path: Path, names: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """The names of the copies of each file in a folder. Raises ``OSError`` and ``StoreError``."""
    folder = Folder.open(System(), Place(path, (), ""), create=False)
    if folder is None:
        return {}
    with closing(folder):
        return {name: backups(folder, name) for name in names}


def backups(folder: Folder, name: str) -> list[str]:
    """The names of the copies of a file, the oldest first: before all, those of a time in which the clock was ahead."""
    found = [match for each in folder.system.names(folder.descriptor) if (match := _NAME.fullmatch(each))]
    own = [match for match in found if match["file"] == name]
    now = folder.system.now().astimezone(UTC).strftime(_STAMP)
    order = sorted(own, key=lambda match: (match["stamp"] <= now, match["stamp"], int(match["number"] or 0)))
    return [match[0] for match in order]


def _holds(folder: Folder, copy: str, data: bytes) -> bool:
    system = folder.system
    status = system.look(copy, folder=folder.descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size != len(data):
        return False
    return read_file(system, copy, folder.descriptor) == data


def _write(folder: Folder, name: str, data: bytes, mode: int) -> str:
    system = folder.system
    stamp = system.now().astimezone(UTC).strftime(_STAMP)
    copy, number = f"{name}.bak.{stamp}", 1
    while True:
        try:
            new_file(system, copy, folder.descriptor, data, mode=mode, sync=folder.sync)
            break
        except FileExistsError:
            number += 1
            copy = f"{name}.bak.{stamp}-{number}"
    folder.sync(folder.descriptor)
    return copy


def _prune(folder: Folder, copies: list[str]) -> None:
    """Remove what is over the number or the age; the newest, the last of ``copies``, stays."""
    oldest = (folder.system.now().astimezone(UTC) - KEPT_FOR).strftime(_STAMP)
    for position, copy in enumerate(copies[:-1]):
        match = _NAME.fullmatch(copy)
        if position < len(copies) - KEPT or (match and match["stamp"] < oldest):
            folder.system.unlink(copy, folder=folder.descriptor)
