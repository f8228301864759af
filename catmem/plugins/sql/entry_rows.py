"""The rows of ``user_memories``: reading them, and changing those that have to change and no others.

Positions have gaps, so an entry that comes between two others moves none of them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import isfinite
from typing import Any

from catmem.plugins.sql.connections import Link, Statement
from catmem.plugins.sql.tables import AT_THE_END
from catmem.store.table_rows import Changed, FoundRow, TableRow
from catmem.workspace.rows import RowCodec

GAP = 10**9
"""Between two positions in a row that was written at once."""

_SHARE = 1024
"""What comes between two others is put this part of the gap behind the first: more usually follows it."""

_TEXTS = ("category", "title", "content", "tags", "created_at", "mark")


def _found(columns: str, end: str) -> Statement:
    # SQLite lets any bytes into a text, and its driver then refuses the whole row.
    texts = {
        kind: ", ".join(f"CAST({name} AS {kind})" for name in (*_TEXTS, *columns.split())) for kind in ("BLOB", "TEXT")
    }
    said = {kind: f"SELECT id, position, tier, {columns} FROM user_memories {end}" for kind, columns in texts.items()}
    return Statement(said["BLOB"], said["TEXT"])


_ALL = _found("", "WHERE entity = :entity ORDER BY position, id")
_OF_ALL = _found("entity", "ORDER BY entity, position, id")
_PLACES = Statement(
    "SELECT id, position FROM user_memories WHERE entity = :entity ORDER BY position, id LIMIT :count OFFSET :skipped"
)
_INSERT = Statement(
    f"INSERT INTO user_memories (entity, position, {', '.join(TableRow._fields)}) "
    f"VALUES (:entity, :position, {', '.join(f':{name}' for name in TableRow._fields)})"
)
_SHOWN = ", ".join(f"{name} = :{name}" for name in TableRow._fields)
# What is overwritten or deleted has to be what was recorded, though nothing counted a change of it.
_SAME = "category = :was_category AND content = :was_content AND CAST(tags AS TEXT) = :was_tags AND created_at"
_UNTOUCHED = (f"{_SAME} IS :was_created_at", f"{_SAME} IS NOT DISTINCT FROM CAST(:was_created_at AS TEXT)")
_UPDATE = Statement(*(f"UPDATE user_memories SET {_SHOWN} WHERE id = :row AND {each}" for each in _UNTOUCHED))
_PLACE = Statement(f"UPDATE user_memories SET position = :position, {_SHOWN} WHERE id = :row")
_MOVE = Statement("UPDATE user_memories SET position = :position WHERE id = :row")
_DELETE = Statement("DELETE FROM user_memories WHERE id = :row")
_DELETE_UNTOUCHED = Statement(*(f"DELETE FROM user_memories WHERE id = :row AND {each}" for each in _UNTOUCHED))


class UncountedError(Exception):
    """A row that was to be changed is not what was recorded, and nothing counted its external change."""


def found_rows(link: Link, entity: str, codec: RowCodec) -> list[FoundRow]:
    """All rows of an entity, in order, by the names that their categories have now."""
    return codec.known([_row(*found) for found in link.rows(_ALL, entity=entity)])


def shown_rows(link: Link) -> list[dict[str, Any]]:
    """All rows of all entities as JSON-ready data, with all columns; tags as what they say where they are JSON."""
    rows = ({"entity": _text(entity)} | _row(*found)._asdict() for *found, entity in link.rows(_OF_ALL))
    return [{name: (_tags if name == "tags" else _jsonable)(value) for name, value in row.items()} for row in rows]


def _row(id_: int, position: int, tier: object, *texts: object) -> FoundRow:
    category, title, content, tags, created_at, mark = map(_text, texts)
    return FoundRow(id_, position, category, title, tier, content, tags, created_at, mark)


def _text(value: object) -> object:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _tags(value: object) -> object:
    """Tags as what they say; as they stand where that does not say all, or could not be written."""
    text = _jsonable(value)
    try:
        said = json.loads(str(text), object_pairs_hook=_once)
        json.dumps(said, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):  # a lone surrogate is a ValueError too
        return text
    return said


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name stands there twice")
    return dict(pairs)


def _jsonable(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def entities(link: Link) -> list[str]:
    return sorted(str(each) for (each,) in link.text("SELECT DISTINCT entity FROM user_memories"))


def apply(link: Link, entity: str, changed: Changed) -> None:
    """Make the rows those of the new bytes. Raises ``UncountedError`` where one that goes is not as recorded."""
    if not changed.gone and not changed.rows:
        return
    lead, gone = 1 if changed.first else 0, len(changed.gone)
    found = link.rows(_PLACES, entity=entity, count=gone + lead + 1, skipped=changed.first - lead)
    ids, places = [id_ for id_, _ in found], [place for _, place in found]
    if len(found) < lead + gone or not all(isinstance(place, int) for place in places):
        raise UncountedError
    left = places[0] if lead else None
    right = places[lead + gone] if len(places) > lead + gone else None
    kept = min(gone, len(changed.rows))
    was = [{"row": id_, **_was(row)} for id_, row in zip(ids[lead : lead + gone], changed.gone, strict=True)]
    now = [{**values, **row._asdict()} for values, row in zip(was, changed.rows, strict=False)]
    if link.run_each(_UPDATE, now) != kept or link.run_each(_DELETE_UNTOUCHED, was[kept:]) != gone - kept:
        raise UncountedError
    new = changed.rows[kept:]
    if not new:
        return
    positions = _between(places[lead + kept - 1] if kept else left, right, len(new))
    if positions is None:
        _insert_tight(link, entity, changed.first + kept, new)
    else:
        _insert(link, entity, zip(positions, new, strict=True))


def _between(left: int | None, right: int | None, count: int) -> list[int] | None:
    """Positions for new rows between two others, ``None`` where there is no room."""
    if right is None:
        start = 0 if left is None else left
        return [start + GAP * number for number in range(1, count + 1)]
    start = right - GAP * (count + 1) if left is None else left
    step = max(1, (right - start) // max(_SHARE, count + 1))
    return [start + step * number for number in range(1, count + 1)] if right - start > count else None


def _insert(link: Link, entity: str, placed: Iterable[tuple[int, TableRow]]) -> None:
    link.run_each(_INSERT, [row._asdict() | {"entity": entity, "position": position} for position, row in placed])


def _insert_tight(link: Link, entity: str, number: int, new: Sequence[TableRow]) -> None:
    """Insert rows where there is no room, after all others were moved apart."""
    for index, (row, *_) in enumerate([*link.rows(_ALL, entity=entity)]):
        position = (index + 1 + (len(new) if index >= number else 0)) * GAP
        link.run(_MOVE, row=row, position=position)
    _insert(link, entity, (((number + index + 1) * GAP, row) for index, row in enumerate(new)))


def settle(link: Link, entity: str, there: Sequence[FoundRow], rows: Sequence[TableRow]) -> None:
    """Make the rows ``there`` those of a document, of any writer; a row that says the same keeps its id."""
    known: dict[tuple[object, object], list[FoundRow]] = defaultdict(list)
    for found in reversed(there):
        known[found.category, found.content].append(found)
    paired = [known[row.category, row.content].pop() if known[row.category, row.content] else None for row in rows]
    kept = [found for found in paired if found is not None]
    in_order = (
        len(kept) == len(rows)
        and all(_is_plain(found.position) for found in kept)
        and all(one.position < other.position for one, other in pairwise(kept))
    )
    stays = {found.id for found in kept}
    link.run_each(_DELETE, [{"row": found.id} for found in there if found.id not in stays])
    moved: list[dict[str, Any]] = []
    new: list[tuple[int, TableRow]] = []
    for number, (row, own) in enumerate(zip(rows, paired, strict=True), 1):
        if own is None:
            new.append((number * GAP, row))
            continue
        position = own.position if in_order else number * GAP
        is_same = not _differs(own, row) and (own.tags, own.mark) == (row.tags, row.mark)
        is_same = is_same and row.tier in {None, own.tier}
        if not is_same or position != own.position:
            moved.append(row._asdict() | {"row": own.id, "position": position})
    link.run_each(_PLACE, moved)
    _insert(link, entity, new)


def _is_plain(position: object) -> bool:
    return isinstance(position, int) and abs(position) < AT_THE_END


def differ(there: Sequence[FoundRow], rows: Sequence[TableRow]) -> bool:
    """Whether the rows are not those of a document, but for the tier, which the profile may say otherwise by now."""
    return len(there) != len(rows) or any(_differs(found, row) for found, row in zip(there, rows, strict=True))


def set_back(there: Sequence[FoundRow], rows: Sequence[TableRow]) -> list[str]:
    """The columns that were changed without effect in rows of catmem; a client's own have no mark."""
    own = {row.mark: row for row in rows}
    columns: set[str] = set()
    for found in there:
        row = own.get(str(found.mark))
        if row is None:
            columns |= {"mark"} if found.mark is not None else set()
            continue
        if row.tier not in {None, found.tier}:
            columns.add("tier")
        if found.title != row.title and found.category == row.category:
            columns.add("title")
        if found.created_at is None and row.created_at is not None:
            columns.add("created_at")
    return sorted(columns)


def _differs(found: FoundRow, row: TableRow) -> bool:
    plain = ("category", "title", "content", "created_at", *(() if found.mark is None else ("mark",)))
    return any(getattr(found, name) != getattr(row, name) for name in plain) or not _same_json(found.tags, row.tags)


def _same_json(found: object, tags: str) -> bool:
    if found == tags:
        return True
    try:
        return bool(json.loads(str(found)) == json.loads(tags))
    except (ValueError, RecursionError):
        return False


def _was(row: TableRow) -> dict[str, Any]:
    """What a row has to say so that it may be overwritten."""
    return {f"was_{name}": getattr(row, name) for name in ("category", "content", "tags", "created_at")}
