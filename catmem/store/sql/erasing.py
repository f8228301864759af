"""Forget for good: take bytes out of every record of an entity, out of the copies of its rows, and out of the file.

The entity's own rows are written by its owner first, as a revision like any other. Records that change keep a tombstone
in their note: the link of the chain that stood there before.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, update

from catmem.digest import bytes_digest
from catmem.errors import BusyError
from catmem.store.changes import Whole, splice, whole
from catmem.store.lasting import Kept, Left
from catmem.store.sql import drift, history, meta
from catmem.store.sql.codec import FoundRow
from catmem.store.sql.database import Statement
from catmem.store.sql.history import Rebuilding, chained, columns_of
from catmem.store.sql.tables import LOG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.store.changes import Change
    from catmem.store.lasting import Erasure, Redact
    from catmem.store.sql.codec import Codec
    from catmem.store.sql.database import Database
    from catmem.store.sql.history import Step

ERASED = "erased"
"""In the note of a record: the link that it had before something was erased from it."""

_SERVER = "the server's write-ahead log, its backups and its copies may hold it; see to them yourself"
_OPEN = "a program has the database open; end that and purge once more"

_CHANGED = ("digest", "size", "note", "base", "depth", "offset", "removed", "data", "chain")
_REWRITE = Statement(
    update(LOG)
    .where(LOG.c.entity == bindparam("of"), LOG.c.sequence == bindparam("number"))
    .values({LOG.c[name]: bindparam(f"new_{name}") for name in _CHANGED})
)


def erase_log(database: Database, entity: str, redact: Redact, start: str) -> int:
    """Rewrite what holds the text in the log of an entity; returns the number of revisions.

    Raises ``BusyError`` if somebody changed the rows since the head was written: they may hold it too.
    """
    count = 0
    with database.writing() as link:
        there = meta.lock(link, entity)
        if there.is_drifted:
            raise BusyError(f"somebody changed the rows of {entity} meanwhile", hint="Nothing was erased. Try again.")
        rebuilding, chain, after = Rebuilding(database, entity), start, there
        last: Step | None = None
        for old in _steps(database, entity):
            before = rebuilding.base(old)
            data = rebuilding.data(old)
            new = _erased(old, before, data, redact, chain)
            chain = new.chain
            if new != old:
                count += new.revision.digest != old.revision.digest
                columns = columns_of(new)
                values = {f"new_{name}": columns[name] for name in _CHANGED}
                link.run(_REWRITE, of=entity, number=old.revision.sequence, **values)
            if new.revision.sequence == there.head:
                after = after._replace(digest=new.revision.digest)
            last = new
        if last is not None and chain != there.chain:
            meta.record(link, there, after._replace(chain=chain), last.revision)
    return count


def _steps(database: Database, entity: str) -> Iterator[Step]:
    after = -1
    while page := history.page_after(database, entity, after):
        yield from page
        after = page[-1].revision.sequence


def _erased(old: Step, before: bytes | None, data: bytes, redact: Redact, chain: str) -> Step:
    """A record as it is to be."""
    rest = redact(data)
    recorded, change = old.revision, _change(old.change, before, data, rest, redact)
    if rest != data or change != old.change:
        note = {**recorded.note, ERASED: old.chain}
        recorded = replace(recorded, digest=bytes_digest(rest), size=len(rest), note=note)
    new = old._replace(revision=recorded, change=change)
    return new._replace(chain=chained(chain, new))


def _change(change: Change, before: bytes | None, data: bytes, rest: bytes, redact: Redact) -> Change:
    """The change between redacted bytes, of the same kind as the one it takes the place of."""
    if isinstance(change, Whole) or before is None:
        return change if rest == data else whole(rest)
    base = redact(before)
    return change if base == before and rest == data else splice(base, rest)


def clean_up(database: Database, entity: str) -> list[Left]:
    """Give back the room that erased bytes took, so that they are in no free page; says where they may be still."""
    if database.kind == "postgresql":
        with database.looking() as link:
            link.text("VACUUM FULL mem_log")
            link.text("VACUUM FULL user_memories")
        return [Left(Path(f"{database.kind}:{entity}"), _SERVER)]
    with database.looking() as link:
        link.text("VACUUM")
        ((busy, *_),) = link.text("PRAGMA wal_checkpoint(TRUNCATE)")
    return [Left(Path(f"{database.path}-wal"), _OPEN)] if busy else []


def kept(folder: Path, entity: str, codec: Codec) -> Iterator[Kept]:
    """What copies of rows say, as memory files."""
    for path in drift.copies(folder):
        said = drift.said(path)
        if said is None or said.get("entity") != entity or not isinstance(said.get("entries"), list):
            continue
        rows = [_row(number, each) for number, each in enumerate(said["entries"]) if isinstance(each, dict)]
        edited = codec.edited(entity, b"", rows)
        yield Kept(path, edited.data, "retired", entity)
        bad = {id_ for id_, _ in edited.bad}
        for row in rows:
            if row.id in bad:
                yield Kept(path, str(row.content).encode(errors="backslashreplace"), "retired", entity)


def _row(number: int, said: dict[str, object]) -> FoundRow:
    tags = said.get("tags")
    tags = tags if isinstance(tags, str) else json.dumps(tags)
    return FoundRow(
        number, number, said.get("category"), said.get("title"), None, said.get("content"), tags, None, None
    )


def erase_copies(folder: Path, entity: str, codec: Codec, erasure: Erasure) -> list[Path]:
    """Remove the copies of rows that hold what is to be forgotten."""
    holding = dict.fromkeys(each.path for each in kept(folder, entity, codec) if erasure.holds(each))
    for path in holding:
        with suppress(FileNotFoundError):
            path.unlink()
    return list(holding)
