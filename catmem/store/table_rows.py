"""Entities as rows of a table: what stands between their bytes and their rows, and copies of all rows.

The store knows no Markdown, the service knows no SQL. A copy is ``memory.bak.<unix_ts>.json`` in a folder of the root;
a digest in it says whether it was edited.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from catmem import clock
from catmem.digest import bytes_digest, canonical_json
from catmem.store.contract import Rows


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


def copies(folder: Path) -> list[Path]:
    """The copies in a folder, the oldest first."""
    return [path for _, path in numbered_copies(folder)]


def numbered_copies(folder: Path) -> list[tuple[tuple[int, int], Path]]:
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
