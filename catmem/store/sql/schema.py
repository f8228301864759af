"""Making the tables and their triggers, and bringing those of an older version here.

The triggers count: each change of a row of ``user_memories`` adds to ``memory_meta.generation`` of its entity, so a
write of a direct SQL client is noticed. On SQLite a REPLACE deletes rows without their delete trigger (but where the
connection says ``recursive_triggers``), so the rows that give way are counted before it. No trigger has a conflict
clause of its own: SQLite would put that of the outer statement in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from sqlalchemy import insert, select
from sqlalchemy.schema import CreateIndex, CreateTable

from catmem.errors import StoreError
from catmem.store.sql.database import Statement
from catmem.store.sql.migrations import STEPS
from catmem.store.sql.tables import ENTRIES, METADATA, SCHEMA, SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Dialect

    from catmem.store.sql.database import Database, Link

_BUMP = "UPDATE memory_meta SET generation = generation + 1 WHERE entity"
_NEW = (
    "INSERT INTO memory_meta (entity) SELECT NEW.entity "
    "WHERE NOT EXISTS (SELECT 1 FROM memory_meta WHERE entity = NEW.entity)"
)
_GIVES_WAY = "(SELECT entity FROM user_memories WHERE id = NEW.id)"

SQLITE_TRIGGERS = tuple(
    f"CREATE TRIGGER user_memories_{name} {when} BEGIN {'; '.join(steps)}; END"
    for name, when, steps in (
        ("gives_way_to_insert", "BEFORE INSERT ON user_memories", (f"{_BUMP} = {_GIVES_WAY}",)),
        ("gives_way_to_update", "BEFORE UPDATE ON user_memories WHEN NEW.id <> OLD.id", (f"{_BUMP} = {_GIVES_WAY}",)),
        ("inserted", "AFTER INSERT ON user_memories", (_NEW, f"{_BUMP} = NEW.entity")),
        ("updated", "AFTER UPDATE ON user_memories", (_NEW, f"{_BUMP} IN (OLD.entity, NEW.entity)")),
        ("deleted", "AFTER DELETE ON user_memories", (f"{_BUMP} = OLD.entity",)),
    )
)

POSTGRESQL_FUNCTION = """
CREATE FUNCTION catmem_count() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    UPDATE memory_meta SET generation = generation + 1;
  ELSIF TG_OP = 'DELETE' THEN
    UPDATE memory_meta SET generation = generation + 1 WHERE entity IN (SELECT entity FROM gone);
  ELSE
    INSERT INTO memory_meta (entity, generation) SELECT DISTINCT entity, 1 FROM come ORDER BY entity
      ON CONFLICT (entity) DO UPDATE SET generation = memory_meta.generation + 1;
    IF TG_OP = 'UPDATE' THEN
      UPDATE memory_meta SET generation = generation + 1
        WHERE entity IN (SELECT entity FROM gone EXCEPT SELECT entity FROM come);
    END IF;
  END IF;
  RETURN NULL;
END $$
"""

POSTGRESQL_TRIGGERS = tuple(
    f"CREATE TRIGGER user_memories_{name} AFTER {when} FOR EACH STATEMENT EXECUTE FUNCTION catmem_count()"
    for name, when in (
        ("inserted", "INSERT ON user_memories REFERENCING NEW TABLE AS come"),
        ("updated", "UPDATE ON user_memories REFERENCING OLD TABLE AS gone NEW TABLE AS come"),
        ("deleted", "DELETE ON user_memories REFERENCING OLD TABLE AS gone"),
        ("emptied", "TRUNCATE ON user_memories"),
    )
)

_HAS_SCHEMA = {
    "sqlite": "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'catmem_schema'",
    # Not to_regclass: what that remembers may be older than the lock that the asking transaction has waited for.
    "postgresql": "SELECT 1 FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace "
    "WHERE relname = 'catmem_schema' AND nspname = ANY (current_schemas(false))",
}
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(7246170816)"

_VERSION = Statement(select(SCHEMA.c.version, SCHEMA.c.store))
_MADE = Statement(insert(SCHEMA))


def version_of(link: Link) -> tuple[int, str] | None:
    """The version of the tables and the name of the store; ``None`` where there are none."""
    if not link.text(_HAS_SCHEMA[link.dialect.name]):
        return None
    found = link.first(_VERSION)
    return None if found is None else (int(found[0]), str(found[1]))


def make_ready(database: Database) -> str:
    """Make the tables, or bring older ones here; returns the name of the store.

    Raises ``StoreError``, with ``newer_schema`` for tables of a newer catmem, of which nothing is touched.
    """
    with database.writing() as link:
        if database.kind == "postgresql":
            link.text(_ONE_AT_A_TIME)
        found = version_of(link)
        if found is None:
            name = uuid4().hex
            for statement in definitions(link.dialect):
                link.text(statement)
            link.run(_MADE, version=SCHEMA_VERSION, store=name)
            return name
        version, name = found
        refuse_newer(version, database.name)
        for step in range(version, SCHEMA_VERSION):
            for statement in STEPS[step]:
                link.text(statement)
        return name


def refuse_newer(version: int, name: str) -> None:
    """Raise ``StoreError`` for tables of a newer version than this catmem knows."""
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"the tables have version {version}, and this catmem knows versions up to {SCHEMA_VERSION}",
            code="newer_schema",
            path=name,
            hint="Nothing was touched. Install the catmem that made them, or a newer one.",
        )


def definitions(dialect: Dialect) -> Iterator[str]:
    """The statements that make everything."""
    for table in METADATA.sorted_tables:
        yield str(CreateTable(table).compile(dialect=dialect))
    for index in sorted(ENTRIES.indexes, key=lambda each: str(each.name)):
        yield str(CreateIndex(index).compile(dialect=dialect))
    if dialect.name == "sqlite":
        yield from SQLITE_TRIGGERS
    else:
        yield POSTGRESQL_FUNCTION
        yield from POSTGRESQL_TRIGGERS


class Readiness:
    """Whether the tables are there, asked once for each process and database file."""

    def __init__(self, database: Database) -> None:
        """Nothing has been asked yet."""
        self._database = database
        self._name: str | None = None
        self._known: object = None

    def to_read(self) -> bool:
        """Whether there is anything to read. Older tables are read as they are, and a write brings them here."""
        database = self._database
        if not database.exists:
            return False
        if self._is_known():
            return True
        with database.looking() as link:
            found = version_of(link)
        if found is None:
            return False
        refuse_newer(found[0], database.name)
        if found[0] == SCHEMA_VERSION:
            self._learn(found[1])
        return True

    def to_write(self) -> str:
        """Make sure that there are tables; returns the name of the store."""
        if not self._is_known():
            self._learn(make_ready(self._database))
        return str(self._name)

    def _is_known(self) -> bool:
        return self._name is not None and self._known == self._database.identity

    def _learn(self, name: str) -> None:
        self._name = name
        self._known = self._database.identity
