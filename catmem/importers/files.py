"""Bounded reading of another program's folder: no links, no endless trees, nothing that is no file."""

from __future__ import annotations

import errno
import os
import stat
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from catmem import clock
from catmem.errors import CatmemError, SourceError, TooLargeError, UnreadableError
from catmem.files import os_errors, read_bounded
from catmem.importers.imported import LeftOut
from catmem.text import BOM, decode, unify_newlines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_BYTES = 16 << 20
FOLDER_BYTES = 64 << 20
MOST_LINES = 500_000
MOST_ENTRIES = 100_000
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
    return day if day < clock.today() else None


def read_file(path: Path) -> File:
    """One file that was named, and not its folder. Raises ``UnreadableError`` and its kinds."""
    return File(path.name, read_text(path), day_of_file(path))


def read_text(path: Path) -> str:
    """The text of one file. Raises ``UnreadableError`` and its kinds."""
    try:
        return unify_newlines(decode(read_data(path)).removeprefix(BOM))
    except CatmemError as error:
        error.path = str(path)
        raise


def read_data(path: Path) -> bytes:
    """The bytes of one file. Raises ``UnreadableError`` and its kinds, ``TooLargeError`` for far too many lines too."""
    data = read_bounded(path, FILE_BYTES)
    _refuse_lines(data.count(b"\n"), path)
    return data


def _refuse_lines(lines: int, path: Path) -> None:
    if lines > MOST_LINES:
        raise TooLargeError("text", lines, MOST_LINES, unit="lines", path=path)


def refuse_too_many(count: int, path: Path) -> None:
    """Raise ``SourceError`` for more entries than anybody remembers."""
    if count > MOST_ENTRIES:
        raise SourceError(
            f"there are more than {MOST_ENTRIES:,} entries",
            code="too_many",
            path=path,
            hint="Nothing was changed. Clear out what is no longer needed, in that program.",
        )


def refuse_missing(path: Path) -> None:
    """Raise ``UnreadableError`` for what is neither a file nor a folder."""
    with os_errors("cannot be read", path=path, hint="Check the path and its rights.", code="io"):
        try:
            mode = path.stat().st_mode
        except OSError as error:
            if error.errno not in {errno.ENOENT, errno.ELOOP}:
                raise
            raise UnreadableError(
                "no such file or folder", code="missing", path=path, hint="Check the path."
            ) from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise UnreadableError(
            "is neither a file nor a folder", code="not_a_file", path=path, hint="Name the file itself, or its folder."
        )


def within(folder: Path, *names: str) -> Path:
    """A path in a folder that was named. Raises ``UnreadableError`` (``symlink``) if a link leads out of the folder.

    Whoever made the folder could have any file of yours read.
    """
    path = folder.joinpath(*names)
    whole = os.path.realpath(folder)
    if os.path.commonpath([whole, os.path.realpath(path)]) != whole:
        raise UnreadableError(
            "a symbolic link leads out of the folder",
            code="symlink",
            path=path,
            hint="Nothing was changed. If you mean what it leads to, name that.",
        )
    return path


def markdown_files(folder: Path, left_out: list[LeftOut], *, below: bool = False) -> Iterator[File]:
    """The ``*.md`` files of a folder in order of their names; with ``below`` those of its folders too.

    Hidden files and folders and links are passed over; a file that is no text, or is too large, is left out. Raises
    ``SourceError`` (``too_many``) and ``TooLargeError`` for a folder that is out of all measure.
    """
    total = lines = 0
    for path in _found(folder, below=below):
        name = path.relative_to(folder).as_posix()
        try:
            text = read_text(path)
        except UnreadableError as error:
            left_out.append(LeftOut(name, "a file", "", error.message))
            continue
        total += len(text)
        lines += text.count("\n")
        if total > FOLDER_BYTES:
            raise TooLargeError("folder", total, FOLDER_BYTES, unit="characters", path=folder)
        _refuse_lines(lines, folder)
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
    refused = os_errors("the folder cannot be read", path=folder, hint="Check its rights.", code="io")
    with refused, os.scandir(folder) as entries:
        return list(islice(entries, _MOST_LOOKED_AT + 1))
