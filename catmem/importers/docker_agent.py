"""docker-agent: the table ``memories(id, created_at, memory, category)`` of its SQLite database.

The database is opened for reading only. One that its program keeps in WAL mode and does not use now is opened as one
that nobody changes, and with a log beside it as a copy in a temporary folder, because SQLite would otherwise put files
beside it.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import quote

from catmem.errors import UnreadableError
from catmem.importers.imported import Imported, ImportedEntry, LeftOut, SourceError, dated, source_tag
from catmem.reading import read_bounded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_HEADER = b"SQLite format 3\0"
_WAL_VERSION = 2
_WAIT = 2.0
"""Seconds to wait for a database that somebody writes to."""
_MOST_ROWS = 100_000
_ROW_BYTES = 8 << 20
_DATABASE_BYTES = 1 << 30
_NEEDED = ("id", "created_at", "memory")
_KNOWN = (*_NEEDED, "category")


def read(path: Path) -> Imported:
    """Read the database at ``path``."""
    columns, rows = _rows(path)
    entries: list[ImportedEntry] = []
    left_out: list[LeftOut] = []
    for row in rows:
        values = dict(zip(columns, row, strict=True))
        name, day, body, kind = (_text(values.get(each)) for each in _KNOWN)
        place = f"memories.id={name or '?'}"
        left_out += _without_place(values, place)
        if body is None:
            continue
        tags, rest = dated({"created_at": day} if day else {}, {"created_at": "created"})
        tags["source"] = source_tag("docker-agent", name or "?")
        entries.append(ImportedEntry(body, place, kind or None, tags, rest, single=bool(name)))
    return Imported(entries, left_out)


def _without_place(values: Mapping[str, object], place: str) -> Iterator[LeftOut]:
    """What of a row is no text, and what other columns say."""
    for column, value in values.items():
        text = _text(value)
        if text is None and (value is not None or column == "memory"):
            said = value.decode(errors="replace") if isinstance(value, bytes) else ""
            yield LeftOut(place, column, said, "it is no text")
        elif text and column not in _KNOWN:
            yield LeftOut(place, column, text, "docker-agent itself has no such column")


def _rows(path: Path) -> tuple[Sequence[str], list[tuple[object, ...]]]:
    """The names of the columns, and the rows."""
    try:
        with _opened(path) as address, closing(sqlite3.connect(address, uri=True, timeout=_WAIT)) as database:
            database.text_factory = bytes  # what is no UTF-8 is left out, row by row
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _ROW_BYTES)
            database.execute("PRAGMA trusted_schema = OFF")
            columns = _columns(database, path)
            if database.execute("PRAGMA quick_check(1)").fetchone() != (b"ok",):
                raise _damaged(path, "its pages do not fit together")
            rows = database.execute("SELECT * FROM memories ORDER BY created_at, rowid").fetchmany(_MOST_ROWS + 1)
    except sqlite3.Error as error:
        raise _fault(path, error) from error
    if len(rows) > _MOST_ROWS:
        raise SourceError(
            f"the table has more than {_MOST_ROWS:,} rows",
            code="too_many",
            path=path,
            hint="Nothing was changed. Clear out what is no longer needed, in that program.",
        )
    return columns, rows


@contextmanager
def _opened(path: Path) -> Iterator[str]:
    """The URI to open the database with, after a look at its first page."""
    size = path.stat().st_size if path.is_file() else 0
    log, index = path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")
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
        # Whoever had it open would have made the index, so both files stand still.
        with TemporaryDirectory(prefix="catmem-") as folder:
            copy = Path(folder, "memory.db")
            _copy(path, copy)
            _copy(log, copy.with_name("memory.db-wal"))
            yield f"file:{quote(str(copy))}?mode=ro"
        return
    idle = in_wal_mode and not log.exists()
    yield f"file:{quote(str(path.absolute()))}?mode=ro{'&immutable=1' if idle else ''}"


def _copy(path: Path, copy: Path) -> None:
    try:
        shutil.copyfile(path, copy)
    except OSError as error:
        raise UnreadableError(
            f"cannot be copied to be read: {error.strerror or error}", code="io", path=path, hint="Check its rights."
        ) from error


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(100)
    except OSError as error:
        raise UnreadableError(
            f"cannot be read: {error.strerror or error}", code="io", path=path, hint="Check its rights."
        ) from error


def _columns(database: sqlite3.Connection, path: Path) -> list[str]:
    found = database.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'memories'").fetchone()
    columns: list[str] = []
    if found is not None and not found[0].upper().startswith(b"CREATE VIRTUAL"):
        columns = [name.decode(errors="replace") for _, name, *_ in database.execute("PRAGMA table_info(memories)")]
    if not set(columns).issuperset(_NEEDED):
        raise SourceError(
            f"has no table memories with the columns {', '.join(_NEEDED)}",
            path=path,
            hint="Nothing was changed. It is no memory of docker-agent, or of a version that catmem does not know.",
        )
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
    return _damaged(path, str(error))


def _damaged(path: Path, why: str) -> SourceError:
    return SourceError(
        f"the database cannot be read: {why}",
        code="damaged",
        path=path,
        hint="Nothing was changed. It may have been cut while it was copied: copy it again, or open it in its program.",
    )
