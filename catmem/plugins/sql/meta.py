"""What ``memory_meta`` keeps of each entity: how often its rows changed, and where its log ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import bindparam, func, insert, select, update
from sqlalchemy.dialects import postgresql

from catmem.errors import StoreError
from catmem.plugins.sql.database import GIVE_WAY
from catmem.plugins.sql.link import Link, Statement
from catmem.plugins.sql.tables import AS_THEY_ARE, LOG, META, refuse_changed
from catmem.store.contract import Revision

_ENDS = ("revision", "sequence", "head", "depth", "digest", "chain")
"""The columns that say where the log ends."""

_COLUMNS = (META.c.generation, META.c.recorded, *(META.c[name] for name in _ENDS))
_OF = META.c.entity == bindparam("name")
_HERE = select(*_COLUMNS, *AS_THEY_ARE["sqlite"]).where(_OF)
_ON_SERVER = select(*_COLUMNS, *AS_THEY_ARE["postgresql"]).where(_OF)
_READ = Statement(_HERE, _ON_SERVER)
_ALL_REVISIONS = select(func.coalesce(func.sum(META.c.sequence), 0)).scalar_subquery().label("revisions")
_LOCKED = _ON_SERVER.with_for_update().cte("locked")
# Once the entity is held, no other lock is waited for any longer: see GIVE_WAY.
_LOCK = Statement(_HERE.add_columns(_ALL_REVISIONS), select(_LOCKED, func.set_config("lock_timeout", GIVE_WAY, True)))  # noqa: FBT003 - SQL's own
_ADD = Statement(
    insert(META).values(entity=bindparam("name")),
    postgresql.insert(META).values(entity=bindparam("name")).on_conflict_do_nothing(),
)
_ALL = Statement(select(META.c.entity, *_COLUMNS).order_by(META.c.entity))
_SET = (
    update(META)
    .where(META.c.entity == bindparam("name"), META.c.sequence == bindparam("before"))
    .values(
        recorded=META.c.generation,
        updated_at=bindparam("now"),
        **{name: bindparam(f"new_{name}") for name in _ENDS},
    )
)
_RECORD = Statement(_SET)
_APPEND = Statement(insert(LOG))
# Both in one statement, so that a server is asked once.
_APPENDING = insert(LOG).values({column.name: bindparam(column.name) for column in LOG.c})
_APPEND_AND_RECORD = Statement(_SET, _SET.add_cte(_APPENDING.cte("appended")))


_SEEN = Statement(update(META).where(META.c.entity == bindparam("name")).values(recorded=META.c.generation))

_CHANGED = Statement(update(META).where(META.c.entity == bindparam("name")).values(generation=META.c.generation + 1))


class Meta(NamedTuple):
    """``head`` is the sequence of the head, ``sequence`` that of the last record, ``depth`` the head's in splices."""

    generation: int
    recorded: int
    revision: int
    sequence: int
    head: int
    depth: int
    digest: str
    chain: str

    @property
    def is_drifted(self) -> bool:
        """Whether the rows have an external change since catmem last recorded them."""
        return self.generation != self.recorded


NEVER = Meta(0, 0, 0, 0, 0, 0, "", "")
"""An entity that was never written."""


def look(link: Link, entity: str) -> Meta:
    """What is known of an entity."""
    return _meta(link, link.first(_READ, name=entity))


def look_at_all(link: Link) -> dict[str, Meta]:
    """What is known of every entity."""
    return {str(entity): Meta(*rest) for entity, *rest in link.rows(_ALL)}


def generations(link: Link) -> dict[str, tuple[int, int]]:
    """How often the rows of each entity were changed: by the last record of catmem, and by now."""
    return {entity: (there.recorded, there.generation) for entity, there in look_at_all(link).items()}


def lock(link: Link, entity: str) -> Meta:
    """What is known of an entity, which no other writer reaches until the end of the transaction."""
    found = link.first(_LOCK, name=entity)
    if found is None:
        link.run(_ADD, name=entity)
        found = link.first(_LOCK, name=entity)
    there = _meta(link, found)
    if link.file is not None and found is not None:
        link.revisions = int(found[-1])
        link.file.refuse_behind(link.revisions)
    return there


def _meta(link: Link, found: Sequence[Any] | None) -> Meta:
    """What was found of an entity, in tables that are as they were known."""
    if found is None:
        refuse_changed(link)
        return NEVER
    count = len(_COLUMNS)
    if link.tables is not None and tuple(found[count : count + 2]) != link.tables:
        refuse_changed(link)
    return Meta(*found[:count])


def record(link: Link, before: Meta, after: Meta, last: Revision, log: Mapping[str, Any] | None = None) -> None:
    """Set where the log ends, with ``last``, and that the rows are as they were just written.

    ``log`` are the columns of ``last`` in the log, if they are not there yet.
    """
    values = {"name": last.entity, "before": before.sequence, "now": last.timestamp}
    values |= {f"new_{name}": getattr(after, name) for name in _ENDS}
    if log is None:
        changed = link.run(_RECORD, **values)
    elif link.dialect.name == "postgresql":
        changed = link.run(_APPEND_AND_RECORD, **values, **log)
    else:
        link.run(_APPEND, **log)
        changed = link.run(_RECORD, **values)
    if link.file is not None:
        link.revisions = (link.revisions or 0) + after.sequence - before.sequence
    if changed != 1:
        raise StoreError(f"the record of {last.entity} changed under a lock", hint="Nothing was written. Try again.")


def rows_are_recorded(link: Link, entity: str) -> None:
    """Say that the rows are what the head says, though they were touched."""
    link.run(_SEEN, name=entity)


def rows_were_changed(link: Link, entity: str) -> None:
    """Say that the rows have an external change, though nothing counted it."""
    link.run(_CHANGED, name=entity)
