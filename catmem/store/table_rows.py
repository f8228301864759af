"""Entities as rows of a table: what stands between their bytes and their rows, and copies of all rows.

The store knows no Markdown, the service knows no SQL. For each external change of rows a copy of all is kept,
``memory.bak.<unix_ts>.json`` in a folder of the root. A copy of the same change that is there already is used again.
Old ones are removed, never the newest. A digest in it says whether it was edited.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from catmem import clock
from catmem.digest import bytes_digest, canonical_json
from catmem.errors import StoreError
from catmem.files import os_errors
from catmem.store.contract import Rows
from catmem.store.files.system import FOLDER, System, new_file


class TableRow(NamedTuple):
    """What one entry shows in ``user_memories``.

    ``tags`` is a JSON object. ``mark`` is a digest by which the codec knows the entry again after a change of the
    row; a client leaves it alone.
    """

    category: str
    title: str | None
    tier: int | None
    content: str
    tags: str
    created_at: str | None
    mark: str


class FoundRow(NamedTuple):
    """A row as it was found: any client may have written it, so a column may hold what is none of its kind."""

    id: int
    position: int
    category: object
    title: object
    tier: object
    content: object
    tags: object
    created_at: object
    mark: object


class Changed(NamedTuple):
    """The rows of new bytes as a change of the old ones: from ``first`` on, ``gone`` give way to ``rows``."""

    first: int
    gone: Sequence[TableRow]
    rows: Sequence[TableRow]


class EditedRows(NamedTuple):
    """The bytes that rows make of a head, and what is wrong with rows that were left out, by their ids."""

    data: bytes
    bad: Sequence[tuple[int, str]]


class Codec(Protocol):
    """Bytes to rows and back."""

    def rows(self, entity: str, data: bytes) -> Sequence[TableRow]:
        """The rows of an entity, in order; none for bytes that cannot be shown in rows."""

    def changed(self, entity: str, old: bytes, new: bytes) -> Changed:
        """What changes in the rows."""

    def known(self, rows: Sequence[FoundRow]) -> list[FoundRow]:
        """The rows by the names that their categories have now; one whose category had another has no mark."""

    def edited(self, entity: str, head: bytes, rows: Sequence[FoundRow]) -> EditedRows:
        """What rows with an external change make of the head: bytes that no row touches stay as they are."""


KEPT = 100
"""How many copies are kept."""

KEPT_FOR = 30 * 24 * 3600
"""For how many seconds; the newest of all stays whatever its age."""

_NAME = re.compile(r"memory\.bak\.(?P<stamp>\d+)(?:-(?P<number>\d+))?\.json")

MOST_BYTES = 1 << 30
"""Of a copy that is read."""


def rows_saying(says: Callable[[str], bool], rows: Rows | None, known: Collection[str]) -> dict[str, list[int]]:
    """The ids of the rows with a column that ``says`` it, by entity. The category counts if that is not ``known``."""
    found: dict[str, list[int]] = {}
    for row in rows.rows if rows else ():
        columns = ("title", "tier", "content", "tags", *([] if row["entity"] in known else ["category"]))
        if any(says(str(row[each])) for each in columns):
            found.setdefault(row["entity"], []).append(row["id"])
    return found


def row_copy(rows: Rows, entity: str | None = None) -> dict[str, Any]:
    """A copy of rows as JSON-ready data, with a digest of all that it says."""
    # `entity` is the one whose rows had an external change; the generations, observed and actual, are those of it, else
    # of all entities together.
    each = rows.generations.values() if entity is None else [rows.generations[entity]]
    said = {
        "timestamp": clock.timestamp_in_seconds(clock.now()),
        "entity": entity,
        "generation_observed": sum(observed for observed, _ in each),
        "generation_actual": sum(actual for _, actual in each),
        "entities": {name: list(both) for name, both in sorted(rows.generations.items())},
        "entries": list(rows.rows),
    }
    return {"digest": copy_digest(said), **said}


def copy_digest(said: Mapping[str, Any]) -> str:
    """The digest that a copy has to say: of all its fields but that."""
    return bytes_digest(canonical_json({name: value for name, value in said.items() if name != "digest"}))


def copy_text(said: Mapping[str, Any]) -> bytes:
    """A copy as it is written."""
    return json.dumps(said, ensure_ascii=False, indent=1).encode() + b"\n"


def keep_rows(folder: Path, entity: str, rows: Rows) -> Path:
    """Keep rows as they were found after an external change of those of an entity, and say where."""
    with os_errors(
        "no copy of the external change could be kept",
        path=folder,
        hint="So nothing else was written. Make the folder writable.",
        kind=StoreError,
    ):
        there = find_copy(folder, entity, rows.generations[entity])
        if there is not None and rows_of(read_copy(there) or {}, entity) == rows_of({"entries": rows.rows}, entity):
            return there
        path = _write(folder, copy_text(row_copy(rows, entity)))
        _remove_old(folder)
    return path


def find_copy(folder: Path, entity: str, generations: tuple[int, int]) -> Path | None:
    """The newest copy that was made of an external change, by the generations of its entity before and after."""
    wanted = (entity, *generations)
    for path in reversed(copies(folder)):
        said = read_copy(path) or {}
        if tuple(map(said.get, ("entity", "generation_observed", "generation_actual"))) == wanted:
            return path
    return None


def _remove_old(folder: Path) -> None:
    oldest = time.time() - KEPT_FOR
    for number, path in enumerate(reversed(copies(folder))):
        with suppress(FileNotFoundError):  # another process removed it just now
            if number and (number >= KEPT or path.stat().st_mtime < oldest):
                path.unlink()


def copies(folder: Path) -> list[Path]:
    """The copies in a folder, the oldest first."""
    return [path for _, path in _copies(folder)]


def _copies(folder: Path) -> list[tuple[tuple[int, int], Path]]:
    """The copies in a folder, each with its second and its number among those of that."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names are matched
    except FileNotFoundError:
        return []
    found = [match for name in names if (match := _NAME.fullmatch(name))]
    return sorted(((int(each["stamp"]), int(each["number"] or 1)), folder / each[0]) for each in found)


def rows_of(said: Mapping[str, Any], entity: str) -> list[dict[str, Any]]:
    """The rows of an entity that a copy holds."""
    rows = said.get("entries")
    found = rows if isinstance(rows, list | tuple) else []
    return [row for row in found if isinstance(row, dict) and row.get("entity") == entity]


def read_copy(path: Path) -> dict[str, Any] | None:
    """What a copy says; ``None`` for a file that only has the name of one."""
    try:
        if path.is_symlink() or path.stat().st_size > MOST_BYTES:
            return None
        there = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None  # it is left alone, and another one written
    return there if isinstance(there, dict) else None


def _write(folder: Path, data: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    # Its name comes behind all others, also in the same second, and whatever the clock says.
    stamp, number = max([(int(time.time()), 0), *(place for place, _ in _copies(folder)[-1:])])
    system, descriptor = System(), os.open(folder, FOLDER | os.O_CLOEXEC)
    try:
        while True:
            number += 1
            name = f"memory.bak.{stamp}.json" if number == 1 else f"memory.bak.{stamp}-{number}.json"
            with suppress(FileExistsError):
                new_file(system, name, descriptor, data, mode=0o600, sync=system.fsync)
                system.fsync(descriptor)
                return folder / name
    finally:
        system.close(descriptor)
