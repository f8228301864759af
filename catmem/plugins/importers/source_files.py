"""What the modules of all programs share: what was read, bounded reading of files, and the fields in front of notes.

Reading goes through no links and no endless trees, and takes nothing that is no file. The fields stand between two
``---`` lines. They are read as lines and not as YAML: two of the programs write plain lines, and what is read must
never be more than text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import NamedTuple

from catmem import clock
from catmem.clock import read_date
from catmem.errors import UnreadableError, errors_at
from catmem.files import os_errors, read_bounded
from catmem.text import BOM, decode, unify_newlines

SOURCE_LENGTH = 200
"""Characters of a ``source`` tag at most."""

# Markup may stand in front of a date: a heading, a bullet, emphasis, brackets, a link to a daily note.
_LEADING_DAY = re.compile(r"[\s#>*_`~(\[+-]{0,16}(\d{4}-\d\d-\d\d)(?![\d-])")

FILE_BYTES = 16 << 20
MOST_ENTRIES = 100_000
MOST_FILES = 10_000

_MARK = "---"
_FIELD = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*))?")
_QUOTED = re.compile(r"(['\"])(.*)\1")
_OTHER_KEY = re.compile(r"#.*|[^\s:-][^:]*:(?:\s.*)?")
"""A comment, or a key that a field cannot have: no part of the value above it."""


@dataclass(frozen=True, slots=True)
class ImportedEntry:
    """One fact. ``place`` says where it stood (a file, perhaps with a line or a row).

    ``kind`` is the other program's word for a category, ``None`` for none. ``tags`` are what the importer knows as tags
    of the format; ``fields`` are what else was said, which has a place only where there is a tag of that name.
    ``target`` is ``user`` or ``memory`` where the other program tells the two apart. ``single``: no other entry has its
    ``source``. ``day`` dates an entry that has no ``created`` and no date in its text: that of its file.
    """

    body: str
    place: str
    kind: str | None = None
    tags: Mapping[str, str | list[str]] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    target: str | None = None
    single: bool = False
    day: date | None = None


class LeftOut(NamedTuple):
    """Something that has no place here: what it is, what it says, and where it stands."""

    place: str
    what: str
    value: str
    why: str


@dataclass(frozen=True, slots=True)
class Imported:
    """The entries, in the order in which they stood, and what has no place."""

    entries: Sequence[ImportedEntry]
    left_out: Sequence[LeftOut] = ()


def source_tag(program: str, place: str) -> str:
    """The ``source`` tag of an entry from ``place``: one line, not too long."""
    return " ".join(f"{program}/{place}".split())[:SOURCE_LENGTH]


def day_of(moment: str) -> str | None:
    """The day of a date or time as text (``2026-05-01T12:00:00Z``), ``YYYY-MM-DD``; ``None`` for anything else."""
    day = moment.strip()[:10]
    rest = moment.strip()[10:11]
    return day if read_date(day) and rest in {"", "T", " "} else None


def leading_day(text: str) -> date | None:
    """The day that a text begins with, ``YYYY-MM-DD`` with or without markup around it."""
    found = _LEADING_DAY.match(text)
    return read_date(found[1]) if found else None


def dated(found: Mapping[str, str], names: Mapping[str, str]) -> tuple[dict[str, str | list[str]], dict[str, str]]:
    """Fields that are dates as tags, by ``names`` (theirs to ours), and the other fields, bad dates included."""
    tags: dict[str, str | list[str]] = {}
    rest: dict[str, str] = {}
    for key, value in found.items():
        day = day_of(value) if key in names else None
        if day is None:
            rest[key] = value
        else:
            tags[names[key]] = day
    return tags, rest


class File(NamedTuple):
    """A file's text, with LF line ends and no BOM, its path from the folder, and the day of its last change."""

    name: str
    text: str
    day: date | None


def day_of_file(path: Path) -> date | None:
    """The day of a file's last change; ``None`` for today, as of a file that was just copied, and for no date."""
    try:
        day = date.fromtimestamp(path.stat().st_mtime)  # noqa: DTZ012 - a day in a memory file has no time zone
    except (OSError, OverflowError, ValueError):
        return None
    return day if day < clock.today() else None


def read_file(path: Path) -> File:
    """One file that was named, and not its folder. Raises ``UnreadableError`` and its kinds."""
    return File(path.name, read_text(path), day_of_file(path))


def read_text(path: Path) -> str:
    with errors_at(path):
        return unify_newlines(decode(read_data(path)).removeprefix(BOM))


def read_data(path: Path) -> bytes:
    return read_bounded(path, FILE_BYTES)


def refuse_too_many(count: int, path: Path) -> None:
    """Raise ``UnreadableError`` for more entries than a memory holds."""
    if count > MOST_ENTRIES:
        raise UnreadableError(
            f"there are more than {MOST_ENTRIES:,} entries",
            code="too_many",
            path=path,
            hint="Nothing was changed. Remove what you no longer need, in that program.",
        )


def is_folder(path: Path) -> bool:
    """Whether a path names a folder; anything else is read as a file, which says what is wrong with it."""
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises below a closed folder


def within(folder: Path, *names: str) -> Path:
    """A path in a folder that was named; refuses a link out of it, whose author could have any file of yours read."""
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


def notes_in(path: Path, left_out: list[LeftOut], *inner: str, below: bool = False) -> list[File]:
    """The file that was named, or the Markdown files of the folder, or of the folder ``inner`` in it, where that is."""
    if not is_folder(path):
        return [read_file(path)]
    folder = within(path, *inner)
    return list(markdown_files(folder if folder.is_dir() else path, left_out, below=below))


def markdown_files(folder: Path, left_out: list[LeftOut], *, below: bool = False) -> Iterator[File]:
    """The ``*.md`` files of a folder in order of their names; with ``below`` those of its folders too.

    Hidden files and folders and links are passed over; a file that is no text, or is too large, is left out. Raises
    ``UnreadableError`` (``too_many``) for a folder that is out of all measure.
    """
    for path in _found(folder, below=below):
        name = path.relative_to(folder).as_posix()
        try:
            text = read_text(path)
        except UnreadableError as error:
            left_out.append(LeftOut(name, "a file", "", error.message))
            continue
        yield File(name, text, day_of_file(path))


def _found(folder: Path, *, below: bool) -> list[Path]:
    def refuse(error: OSError) -> None:
        with os_errors("the folder cannot be read", path=Path(error.filename), hint="Check its rights.", code="io"):
            raise error

    found: list[Path] = []
    for here, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [each for each in folders if below and not each.startswith(".")]
        paths = (Path(here, name) for name in names if name.endswith(".md") and not name.startswith("."))
        found += [path for path in paths if path.is_file() and not path.is_symlink()]
        if len(found) > MOST_FILES:
            raise UnreadableError(
                f"the folder has more than {MOST_FILES:,} Markdown files",
                code="too_many",
                path=folder,
                hint="Name a folder below it.",
            )
    return sorted(found)


def front_matter(file: File) -> tuple[dict[str, str], str, Sequence[LeftOut]]:
    """The fields of a file, the rest of it, and what stood in front and is no field.

    No fields, and the whole text, where none are in front.

    A list below a field, or a value of several lines, comes as one value with ``, `` between its lines. Of a field that
    is there twice the last counts, and one on the first level more than one below another.
    """
    without: tuple[dict[str, str], str, Sequence[LeftOut]] = {}, file.text, ()
    lines = file.text.split("\n")
    if lines[0].rstrip() != _MARK:
        return without
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _MARK), None)
    if end is None:
        return without
    reading = _Fields(file.name)
    for line in lines[1:end]:
        reading.read_line(line)
    if not reading.fields:
        return without
    fields = {name: ", ".join(parts) for name, parts in reading.fields.items()}
    return fields, "\n".join(lines[end + 1 :]), reading.left_out


class _Fields:
    """What the lines in front have said so far."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.fields: dict[str, list[str]] = {}
        self.left_out: list[LeftOut] = []
        self._last = ""

    def read_line(self, line: str) -> None:
        last = self._last
        # Fields below an empty one (`metadata:`) count as fields of their own.
        nested = bool(last) and not self.fields[last] and line.startswith(" ")
        found = _FIELD.fullmatch(line.strip() if nested else line.rstrip())
        if found and nested:
            self._take_nested(found[1], _parts(found[2]))
        elif found:
            before = self.fields.get(found[1])
            if before:
                self._leave_out(found[1], ", ".join(before), "a field of this name comes again")
            self._last = found[1]
            self.fields[found[1]] = _parts(found[2])
        elif not last or _OTHER_KEY.fullmatch(line.rstrip()):
            if line.strip():
                self._leave_out("text", line.strip(), "it is no field")
        elif line.strip():
            more = _plain(re.sub(r"^\s*(?:- )?", "", line).strip())
            if more or self.fields[last]:
                self.fields[last].append(more)

    def _take_nested(self, name: str, value: list[str]) -> None:
        if name not in self.fields:
            self.fields[name] = value
        elif value:
            self._leave_out(name, value[0], "a field of this name is there already")

    def _leave_out(self, what: str, value: str, why: str) -> None:
        self.left_out.append(LeftOut(self.place, what, value, why))


def _parts(value: str | None) -> list[str]:
    plain = _plain(value or "")
    return [plain] if plain else []


def _plain(value: str) -> str:
    quoted = _QUOTED.fullmatch(value.strip())
    return quoted[2] if quoted else value.strip()
