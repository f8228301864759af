"""docker-agent: the tables ``memories`` and ``user_memories`` of its SQLite database, either or both.

``memories(id, created_at, memory, category)`` is its own; ``user_memories(id, content, category, created_at, tags)`` is
that of a guarded memory, which catmem's own databases have too, with more columns.
The database is opened for reading only. One that its program keeps in WAL mode and does not use now is opened as one
that does not change, and with a log beside it as a copy in a temporary folder, because SQLite would otherwise put files
beside it.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from catmem.errors import CatmemError, SourceError, TooLargeError, UnreadableError
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
from catmem.syntax.tags import write_block

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


class _Table(NamedTuple):
    """Which column has the text, which are there in every version, and which have a place here besides ``id``."""

    text: str
    needed: tuple[str, ...]
    known: tuple[str, ...]


_TABLES = {
    "memories": _Table("memory", ("id", "created_at", "memory"), ("created_at", "category")),
    "user_memories": _Table("content", ("id", "content"), ("created_at", "category", "tags")),
}
_WHY = {"tier": "here a profile has a tier, and no entry"}


def read(path: Path) -> Imported:
    """Read the database at ``path``."""
    refuse_missing(path)
    entries: list[ImportedEntry] = []
    left_out: list[LeftOut] = []
    for table, columns, row in _rows(path):
        values = dict(zip(columns, row, strict=True))
        wanted = ("id", "created_at", _TABLES[table].text, "category")
        name, day, body, kind = (_text(values.get(each)) for each in wanted)
        place = f"{table}.id={(name or '?')[:SOURCE_LENGTH]}"
        left_out += _without_place(values, place, _TABLES[table])
        if body is None:
            continue
        own = _tags(values, place, left_out) if table == "user_memories" else {}
        tags, rest = dated({"created_at": day} if day else {}, {"created_at": "created"})
        # Rows of both tables may have the same id.
        where = "" if table == "memories" else f"{table}/"
        tags["source"] = source_tag("docker-agent", f"{where}{name or '?'}")
        entries.append(ImportedEntry(body, place, kind or None, {**own, **tags}, rest, single=bool(name)))
    return Imported(entries, left_out)


def _tags(values: Mapping[str, object], place: str, left_out: list[LeftOut]) -> dict[str, str | list[str]]:
    """The column ``tags``, a JSON object of texts and lists of texts, but for the ``source``."""
    text = _text(values.get("tags"))
    if not text:
        return {}
    try:
        tags = dict(json.loads(text))
        write_block(tags)
    except (CatmemError, ValueError, TypeError, AttributeError, RecursionError):
        left_out.append(LeftOut(place, "tags", text, "it is no JSON object of tags"))
        return {}
    if "source" in tags:
        left_out.append(LeftOut(place, "source", str(tags.pop("source")), "the source of the entry is its row"))
    return tags


def _without_place(values: Mapping[str, object], place: str, table: _Table) -> Iterator[LeftOut]:
    for column, value in values.items():
        text = _text(value)
        if text is None and (value is not None or column == table.text):
            said = value.decode(errors="replace") if isinstance(value, bytes) else ""
            yield LeftOut(place, column, said, "it is no text")
        elif text and column not in {"id", table.text, *table.known}:
            yield LeftOut(place, column, text, _WHY.get(column, "docker-agent itself has no such column"))


def _rows(path: Path) -> list[tuple[str, Sequence[str], tuple[object, ...]]]:
    """Each row with its table and the names of its columns."""
    try:
        with _opened(path) as address, closing(sqlite3.connect(address, uri=True, timeout=_WAIT)) as database:
            database.text_factory = bytes  # what is no UTF-8 is left out, row by row
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, FOLDER_BYTES)
            end = time.monotonic() + _SECONDS
            database.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
            # What the schema computes is for its own program: no functions, no checks, and no columns made of others.
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA ignore_check_constraints = ON")
            tables = _columns(database, path)
            if database.execute("PRAGMA quick_check(1)").fetchone() != (b"ok",):
                raise _damaged(path, "its pages do not fit together")
            rows: list[tuple[str, Sequence[str], tuple[object, ...]]] = []
            size = 0
            for table, columns in tables.items():
                # Not in double quotes: SQLite takes those for a text where no column is called so.
                named = ", ".join("`" + column.replace("`", "``") + "`" for column in columns)
                order = ", ".join([*(["created_at"] if "created_at" in columns else []), "rowid"])
                asked = f"SELECT {named} FROM {table} ORDER BY {order} LIMIT {MOST_ENTRIES + 1}"  # noqa: S608
                for row in database.execute(asked):
                    rows.append((table, columns, row))
                    size += sum(len(value) for value in row if isinstance(value, bytes))
                    if size > FOLDER_BYTES:
                        raise TooLargeError("text", size, FOLDER_BYTES, path=path)
    except sqlite3.Error as error:
        raise _fault(path, error) from error
    refuse_too_many(len(rows), path)
    return rows


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


def _columns(database: sqlite3.Connection, path: Path) -> dict[str, list[str]]:
    """The columns of the tables that are there."""
    tables: dict[str, list[str]] = {}
    for name, table in _TABLES.items():
        asked = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?"
        found = database.execute(asked, [name]).fetchone()
        if found is not None and found[0].upper().startswith(b"CREATE TABLE"):
            about = database.execute(f"PRAGMA table_info({name})")
            tables[name] = [column.decode(errors="replace") for _, column, *_ in about]
            if not set(tables[name]).issuperset(table.needed):
                raise _other(path, f"its table {name} has not the columns {', '.join(table.needed)}")
    if not tables:
        wanted = " and no ".join(f"table {name} ({', '.join(table.needed)})" for name, table in _TABLES.items())
        raise _other(path, f"has no {wanted}")
    return tables


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
