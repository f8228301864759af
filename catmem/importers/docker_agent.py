"""docker-agent: the table ``memories(id, created_at, memory, category)`` of its SQLite database.

The database is opened for reading only. One that its program keeps in WAL mode and does not use now is opened as one
that does not change, and with a log beside it as a copy in a temporary folder, because SQLite would otherwise put files
beside it.
"""

from __future__ import annotations

import shutil
import sqlite3
import time
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import quote

from catmem.errors import SourceError, TooLargeError, UnreadableError
from catmem.files import os_errors, read_bounded
from catmem.importers.source_files import (
    FOLDER_BYTES,
    MOST_ENTRIES,
    SOURCE_LENGTH,
    Imported,
    ImportedEntry,
    LeftOut,
    dated,
    refuse_missing,
    refuse_too_many,
    source_tag,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_HEADER = b"SQLite format 3\0"
_WAL_VERSION = 2
_WAIT = 2.0
"""Seconds to wait for a database that another program writes to."""
_SECONDS = 60.0
"""Seconds that reading may take: a schema can make it endless."""
_STEPS = 10_000
"""SQLite's own steps from one look at the clock to the next."""
_DATABASE_BYTES = 1 << 30
_NEEDED = ("id", "created_at", "memory")
_KNOWN = (*_NEEDED, "category")


def read(path: Path) -> Imported:
    """Read the database at ``path``."""
    refuse_missing(path)
    columns, rows = _rows(path)
    entries: list[ImportedEntry] = []
    left_out: list[LeftOut] = []
    for row in rows:
        values = dict(zip(columns, row, strict=True))
        name, day, body, kind = (_text(values.get(each)) for each in _KNOWN)
        place = f"memories.id={(name or '?')[:SOURCE_LENGTH]}"
        left_out += _without_place(values, place)
        if body is None:
            continue
        tags, rest = dated({"created_at": day} if day else {}, {"created_at": "created"})
        tags["source"] = source_tag("docker-agent", name or "?")
        entries.append(ImportedEntry(body, place, kind or None, tags, rest, single=bool(name)))
    return Imported(entries, left_out)


def _without_place(values: Mapping[str, object], place: str) -> Iterator[LeftOut]:
    for column, value in values.items():
        text = _text(value)
        if text is None and (value is not None or column == "memory"):
            said = value.decode(errors="replace") if isinstance(value, bytes) else ""
            yield LeftOut(place, column, said, "it is no text")
        elif text and column not in _KNOWN:
            yield LeftOut(place, column, text, "docker-agent itself has no such column")


def _rows(path: Path) -> tuple[Sequence[str], list[tuple[object, ...]]]:
    try:
        with _opened(path) as address, closing(sqlite3.connect(address, uri=True, timeout=_WAIT)) as database:
            database.text_factory = bytes  # what is no UTF-8 is left out, row by row
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, FOLDER_BYTES)
            end = time.monotonic() + _SECONDS
            database.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
            # What the schema computes is for its own program: no functions, no checks, and no columns made of others.
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA ignore_check_constraints = ON")
            columns = _columns(database, path)
            if database.execute("PRAGMA quick_check(1)").fetchone() != (b"ok",):
                raise _damaged(path, "its pages do not fit together")
            # Not in double quotes: SQLite takes those for a text where no column is called so.
            named = ", ".join("`" + column.replace("`", "``") + "`" for column in columns)
            asked = f"SELECT {named} FROM memories ORDER BY created_at, rowid LIMIT {MOST_ENTRIES + 1}"  # noqa: S608
            rows: list[tuple[object, ...]] = []
            size = 0
            for row in database.execute(asked):
                rows.append(row)
                size += sum(len(value) for value in row if isinstance(value, bytes))
                if size > FOLDER_BYTES:
                    raise TooLargeError("text", size, FOLDER_BYTES, path=path)
    except sqlite3.Error as error:
        raise _fault(path, error) from error
    refuse_too_many(len(rows), path)
    return columns, rows


@contextmanager
def _opened(path: Path) -> Iterator[str]:
    """The URI to open the database with, after a look at its first page."""
    size = path.stat().st_size if path.is_file() else 0
    _refuse_odd_neighbours(path)
    log, index = path.parent / f"{path.name}-wal", path.parent / f"{path.name}-shm"
    whole = size + (log.stat().st_size if log.is_file() else 0)
    if whole > _DATABASE_BYTES:
        raise SourceError(f"the database has {whole:,} bytes", code="too_many", path=path, hint="Nothing was changed.")
    head = read_bounded(path, _DATABASE_BYTES)[:100] if size < 1 else _first_bytes(path)
    if not head.startswith(_HEADER):
        raise SourceError(
            "is no SQLite database", path=path, hint="Nothing was changed. Name the database of docker-agent."
        )
    in_wal_mode = _WAL_VERSION in head[18:20]
    if in_wal_mode and log.is_file() and not index.exists():
        # A program that had it open would have made the index, so both files stand still.
        with TemporaryDirectory(prefix="catmem-") as folder:
            copy = Path(folder, "memory.db")
            _copy(path, copy)
            _copy(log, copy.with_name("memory.db-wal"))
            yield f"file:{quote(str(copy))}?mode=ro"
        return
    idle = in_wal_mode and not log.exists()
    yield f"file:{quote(str(path.absolute()))}?mode=ro{'&immutable=1' if idle else ''}"


def _refuse_odd_neighbours(path: Path) -> None:
    """Raise ``UnreadableError`` where SQLite would wait for a pipe in the place of one of its own files."""
    for name in ("journal", "wal", "shm"):
        beside = path.parent / f"{path.name}-{name}"
        if beside.exists() and not beside.is_file():
            raise UnreadableError(
                "is no file, and SQLite would open it with the database",
                code="not_a_file",
                path=beside,
                hint="Nothing was changed. Move it away.",
            )


def _copy(path: Path, copy: Path) -> None:
    with os_errors("cannot be copied to be read", path=path, hint="Check its rights.", code="io"):
        shutil.copyfile(path, copy)


def _first_bytes(path: Path) -> bytes:
    with os_errors("cannot be read", path=path, hint="Check its rights.", code="io"), path.open("rb") as stream:
        return stream.read(100)


def _columns(database: sqlite3.Connection, path: Path) -> list[str]:
    found = database.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'memories'").fetchone()
    columns: list[str] = []
    if found is not None and found[0].upper().startswith(b"CREATE TABLE"):
        columns = [name.decode(errors="replace") for _, name, *_ in database.execute("PRAGMA table_info(memories)")]
    if not set(columns).issuperset(_NEEDED):
        raise _other(path, f"has no table memories with the columns {', '.join(_NEEDED)}")
    return columns


def _text(value: object) -> str | None:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return None
    return str(value) if isinstance(value, int | float) else None


def _fault(path: Path, error: sqlite3.Error) -> SourceError:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return SourceError(
            "the database is locked: another program is writing to it",
            code="locked",
            path=path,
            hint="Nothing was changed. Stop that program, or try again.",
        )
    if name == "SQLITE_INTERRUPT":
        return SourceError(
            f"reading the database takes longer than {_SECONDS:,.0f} seconds",
            code="too_many",
            path=path,
            hint="Nothing was changed. Look at its tables: no memory of docker-agent takes so long.",
        )
    if name == "SQLITE_TOOBIG":
        return SourceError(
            f"a value in it is longer than {FOLDER_BYTES:,} bytes",
            code="too_many",
            path=path,
            hint="Nothing was changed. Remove that row, in its program.",
        )
    if name.startswith("SQLITE_ERROR"):
        return _other(path, f"the table cannot be read: {error}")
    return _damaged(path, str(error))


def _other(path: Path, why: str) -> SourceError:
    return SourceError(
        why,
        path=path,
        hint="Nothing was changed. It is no memory of docker-agent, or of a version that catmem does not know.",
    )


def _damaged(path: Path, why: str) -> SourceError:
    return SourceError(
        f"the database cannot be read: {why}",
        code="damaged",
        path=path,
        hint="Nothing was changed. It may have been cut while it was copied: copy it again, or open it in its program.",
    )
