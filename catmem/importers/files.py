"""Bounded reading of another program's folder: no links, no endless trees, nothing that is no file."""

from __future__ import annotations

import os
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from catmem.errors import CatmemError, TooLargeError, UnreadableError
from catmem.importers.imported import LeftOut, SourceError
from catmem.reading import read_bounded
from catmem.service.clock import today
from catmem.text import BOM, decode, unify_newlines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_BYTES = 16 << 20
FOLDER_BYTES = 64 << 20
MOST_FILES = 10_000
_MOST_LOOKED_AT = 100_000
_DEPTH = 16


class File(NamedTuple):
    """A file's text, with LF line ends and no BOM, its path from the folder, and the day of its last change."""

    name: str
    text: str
    day: date | None


def day_of_file(path: Path) -> date | None:
    """The day on which a file was last changed; ``None`` for a time that is no date.

    ``None`` for today, too: a file that was copied or cloned just now is of today, however old its text is.
    """
    try:
        day = date.fromtimestamp(path.stat().st_mtime)  # noqa: DTZ012 - a day in a memory file has no time zone
    except (OSError, OverflowError, ValueError):
        return None
    return day if day < today() else None


def read_file(path: Path) -> File:
    """One file that was named, and not its folder. Raises ``UnreadableError`` and its kinds."""
    return File(path.name, read_text(path), day_of_file(path))


def read_text(path: Path) -> str:
    """The text of one file. Raises ``UnreadableError`` and its kinds."""
    try:
        return unify_newlines(decode(read_bounded(path, FILE_BYTES)).removeprefix(BOM))
    except CatmemError as error:
        error.path = str(path)
        raise


def refuse_missing(path: Path) -> None:
    """Raise ``UnreadableError`` if nothing is there."""
    if not path.exists():
        raise UnreadableError("no such file or folder", code="missing", path=path, hint="Check the path.")


def markdown_files(folder: Path, left_out: list[LeftOut], *, below: bool = False) -> Iterator[File]:
    """The ``*.md`` files of a folder in order of their names; with ``below`` those of its folders too.

    Hidden files and folders and links are passed over; a file that is no text, or is too large, is left out. Raises
    ``SourceError`` (``too_many``) and ``TooLargeError`` for a folder that is out of all measure.
    """
    total = 0
    for path in _found(folder, below=below):
        name = path.relative_to(folder).as_posix()
        try:
            text = read_text(path)
        except UnreadableError as error:
            left_out.append(LeftOut(name, "a file", "", error.message))
            continue
        total += len(text)
        if total > FOLDER_BYTES:
            raise TooLargeError("folder", total, FOLDER_BYTES, unit="characters", path=folder)
        yield File(name, text, day_of_file(path))


def _found(folder: Path, *, below: bool) -> list[Path]:
    found: list[Path] = []
    waiting = [(folder, 0)]
    looked_at = 0
    while waiting:
        here, depth = waiting.pop()
        for entry in _listed(here):
            looked_at += 1
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            if entry.is_file() and entry.name.endswith(".md"):
                found.append(here / entry.name)
            elif below and entry.is_dir() and depth < _DEPTH:
                waiting.append((here / entry.name, depth + 1))
            if len(found) > MOST_FILES or looked_at > _MOST_LOOKED_AT:
                raise SourceError(
                    f"the folder has more than {MOST_FILES:,} Markdown files or {_MOST_LOOKED_AT:,} files in all",
                    code="too_many",
                    path=folder,
                    hint="Name a folder below it.",
                )
    return sorted(found)


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        raise UnreadableError(
            f"the folder cannot be read: {error.strerror or error}", code="io", path=folder, hint="Check its rights."
        ) from error
