"""The tables and their triggers, and whether they are there.

The triggers count: each change of a row of ``user_memories`` adds to ``memory_meta.generation`` of its entity, so a
write of a direct SQL client is noticed. On SQLite a REPLACE deletes rows without their delete trigger (but where the
connection says ``recursive_triggers``), so the rows that give way are counted before it. No trigger has a conflict
clause of its own: SQLite would put that of the outer statement in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any
from uuid import uuid4

from catmem.errors import BusyError, StoreError
from catmem.plugins.sql.connections import Database, Link, Statement, TransientError
from catmem.plugins.sql.sqlite_file import DatabaseFile

SCHEMA_VERSION = 5
"""The version of these tables."""

AT_THE_END = 10**18
"""The position of a row for which a client names none: behind all others."""

_TYPES = {
    "sqlite": {"ID": "INTEGER NOT NULL", "BIG": "INTEGER", "JSON": "TEXT", "BYTES": "BLOB"},
    "postgresql": {"ID": "BIGINT GENERATED ALWAYS AS IDENTITY", "BIG": "BIGINT", "JSON": "JSON", "BYTES": "BYTEA"},
}
_TABLES = """
-- The version of the tables, and a random name of this store, with which every chain begins.
CREATE TABLE catmem_schema (version INTEGER NOT NULL, store TEXT NOT NULL);

-- One row an entry, in the order of position and id: the head of each entity, to be read and edited.
CREATE TABLE user_memories (
  id {ID},
  entity TEXT NOT NULL,
  position {BIG} DEFAULT {AT_THE_END} NOT NULL,
  category TEXT DEFAULT '__uncategorized__' NOT NULL,
  title TEXT,
  tier INTEGER,
  content TEXT NOT NULL,
  tags {JSON} DEFAULT '{{}}' NOT NULL,
  created_at TEXT,
  mark TEXT,
  PRIMARY KEY (id)
);
CREATE INDEX user_memories_order ON user_memories (entity, position);

-- generation counts every change of the rows of an entity, recorded is the one that catmem last made. The rest says
-- where its log ends. branches are those that no other revision follows.
CREATE TABLE memory_meta (
  entity TEXT NOT NULL,
  generation {BIG} DEFAULT 0 NOT NULL,
  recorded {BIG} DEFAULT 0 NOT NULL,
  revision {BIG} DEFAULT 0 NOT NULL,
  sequence {BIG} DEFAULT 0 NOT NULL,
  head {BIG} DEFAULT 0 NOT NULL,
  depth INTEGER DEFAULT 0 NOT NULL,
  digest TEXT DEFAULT '' NOT NULL,
  chain TEXT DEFAULT '' NOT NULL,
  branches TEXT DEFAULT '[]' NOT NULL,
  updated_at TEXT,
  PRIMARY KEY (entity)
);

-- Every revision. data is the whole, packed by zlib, where base is null, else what goes in at offset.
CREATE TABLE mem_log (
  entity TEXT NOT NULL,
  sequence {BIG} NOT NULL,
  revision TEXT NOT NULL,
  parents TEXT NOT NULL,
  timestamp TEXT NOT NULL,
  op TEXT NOT NULL,
  agent TEXT NOT NULL,
  op_id TEXT NOT NULL,
  digest TEXT NOT NULL,
  size {BIG} NOT NULL,
  note TEXT NOT NULL,
  base {BIG},
  depth INTEGER NOT NULL,
  "offset" {BIG},
  removed {BIG},
  data {BYTES} NOT NULL,
  chain TEXT NOT NULL,
  PRIMARY KEY (entity, sequence),
  UNIQUE (entity, revision),
  UNIQUE (entity, agent, op_id)
)
"""


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

_BODY = """
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    UPDATE {schema}.memory_meta SET generation = generation + 1;
  ELSIF TG_OP = 'DELETE' THEN
    UPDATE {schema}.memory_meta SET generation = generation + 1 WHERE entity IN (SELECT entity FROM gone);
  ELSE
    INSERT INTO {schema}.memory_meta AS known (entity, generation) SELECT DISTINCT entity, 1 FROM come ORDER BY entity
      ON CONFLICT (entity) DO UPDATE SET generation = known.generation + 1;
    IF TG_OP = 'UPDATE' THEN
      UPDATE {schema}.memory_meta SET generation = generation + 1
        WHERE entity IN (SELECT entity FROM gone EXCEPT SELECT entity FROM come);
    END IF;
  END IF;
  RETURN NULL;
END """

_SEARCH_PATH = "pg_catalog, pg_temp"
"""Of the function, which has the rights of its maker: no temporary table may come first, nor any schema that
others may make things in; so the tables are named with theirs."""

_FUNCTION = (
    "CREATE OR REPLACE FUNCTION {schema}.catmem_count() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER "
    f"SET search_path = {_SEARCH_PATH} AS $${_BODY}$$"
)
# A user who may call it could hang it on a table of their own, and count what was not changed.
_NOT_FOR_ALL = "REVOKE ALL ON FUNCTION {schema}.catmem_count() FROM PUBLIC"

_POSTGRESQL_TRIGGERS = tuple(
    f"CREATE TRIGGER user_memories_{name} AFTER {when} FOR EACH STATEMENT EXECUTE FUNCTION {{schema}}.catmem_count()"
    for name, when in (
        ("inserted", "INSERT ON {schema}.user_memories REFERENCING NEW TABLE AS come"),
        ("updated", "UPDATE ON {schema}.user_memories REFERENCING OLD TABLE AS gone NEW TABLE AS come"),
        ("deleted", "DELETE ON {schema}.user_memories REFERENCING OLD TABLE AS gone"),
        ("emptied", "TRUNCATE ON {schema}.user_memories"),
    )
)
_POSTGRESQL_KINDS = {
    ("user_memories_inserted", 4, None, "come"),
    ("user_memories_updated", 16, "gone", "come"),
    ("user_memories_deleted", 8, "gone", None),
    ("user_memories_emptied", 32, None, None),
}
"""The same as ``pg_trigger`` has them: name, type, and the names of the old and the new rows."""

_HAS_SCHEMA = {
    "sqlite": "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'catmem_schema'",
    # Not to_regclass: what that remembers may be older than the lock that the asking transaction has waited for.
    "postgresql": "SELECT 1 FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace "
    "WHERE relname = 'catmem_schema' AND nspname = ANY (current_schemas(false))",
}
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(7246170816)"

_SCHEMA_OF_TABLES = (
    "SELECT pg_catalog.quote_ident(nspname) FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace "
    "ON pg_namespace.oid = relnamespace WHERE pg_class.oid = 'user_memories'::pg_catalog.regclass"
)
_SQLITE_COUNTS = "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND lower(tbl_name) = 'user_memories'"
_POSTGRESQL_COUNTS = (
    "SELECT tgname, tgtype, tgoldtable, tgnewtable FROM pg_catalog.pg_trigger JOIN pg_catalog.pg_proc "
    "ON pg_proc.oid = tgfoid WHERE tgrelid = 'user_memories'::pg_catalog.regclass AND tgenabled IN ('O', 'A') "
    "AND tgqual IS NULL AND tgattr = '' AND prosecdef "
    f"AND proconfig = ARRAY['search_path={_SEARCH_PATH}'] AND prosrc = $${_BODY}$$"
)
_OUTDATED = (
    "UPDATE memory_meta SET generation = generation + 1",
    (
        "INSERT INTO memory_meta (entity, generation) SELECT DISTINCT entity, 1 FROM user_memories "
        "WHERE entity NOT IN (SELECT entity FROM memory_meta)"
    ),
)

AS_THEY_ARE: Mapping[str, str] = {
    # Every change of a table or trigger counts the one up; on a server the triggers themselves are counted.
    "sqlite": "(SELECT max(version) FROM catmem_schema) AS version, "
    "(SELECT schema_version FROM pragma_schema_version) AS shape",
    "postgresql": "(SELECT max(version) FROM catmem_schema) AS version, "
    "(SELECT count(*) FROM pg_catalog.pg_trigger WHERE tgrelid = 'user_memories'::pg_catalog.regclass "
    "AND tgenabled IN ('O', 'A') AND NOT tgisinternal) AS shape",
}
"""Columns that say as what the tables are: asked with whatever is read of an entity, since others may change them."""

_MADE = Statement("INSERT INTO catmem_schema (version, store) VALUES (:version, :store)")


def version_of(link: Link) -> tuple[int, str] | None:
    """The version of the tables and the name of the store; ``None`` where there are none."""
    if not link.text(_HAS_SCHEMA[link.kind]):
        return None
    found = link.text("SELECT version, store FROM catmem_schema")
    return (int(found[0][0]), str(found[0][1])) if found else None


def make_ready(database: Database) -> tuple[str, tuple[Any, ...]]:
    """Make the tables and triggers; entities of which changes were not counted are said to be changed."""
    with database.writing() as link:
        if database.kind == "postgresql":
            link.text(_ONE_AT_A_TIME)
        found = version_of(link)
        _refuse_strange(database.file, link, found)
        if found is None:
            name = uuid4().hex
            for statement in _TABLES.format(AT_THE_END=AT_THE_END, **_TYPES[link.kind]).split(";"):
                link.text(statement)
            link.run(_MADE, version=SCHEMA_VERSION, store=name)
        else:
            version, name = found
            refuse_other(version, database.name)
        if not is_counted(link):
            for statement in counting(link):
                link.text(statement)
            for statement in _OUTDATED:
                link.text(statement)
        return name, as_they_are(link)


def _refuse_strange(file: DatabaseFile | None, link: Link, found: tuple[int, str] | None) -> None:
    """Raise ``StoreError`` if the tables are gone that a file had, or are those of another store."""
    if file is None:
        return
    if found is not None:
        file.refuse_other(found[1], partial(revisions_of, link))
    elif file.is_lasting() and version_of(link) is None:  # else another process has just made them
        raise file.gone("has none of the tables that it had")


def revisions_of(link: Link) -> int:
    return int(link.text("SELECT coalesce(sum(sequence), 0) FROM memory_meta")[0][0])


def is_counted(link: Link) -> bool:
    """Whether the triggers are there, as they must be."""
    if link.kind == "sqlite":
        return {str(sql) for (sql,) in link.text(_SQLITE_COUNTS)} >= set(SQLITE_TRIGGERS)
    ((schema,),) = link.text(_SCHEMA_OF_TABLES)
    return {tuple(each) for each in link.text(_POSTGRESQL_COUNTS.replace("{schema}", schema))} >= _POSTGRESQL_KINDS


def counting(link: Link) -> Iterator[str]:
    """The statements that make the triggers, in the place of any that have their names."""
    if link.kind == "sqlite":
        for trigger in SQLITE_TRIGGERS:
            yield f"DROP TRIGGER IF EXISTS {trigger.split()[2]}"
            yield trigger
        return
    ((schema,),) = link.text(_SCHEMA_OF_TABLES)
    for statement in (_FUNCTION, _NOT_FOR_ALL):
        yield statement.replace("{schema}", schema)
    for trigger in _POSTGRESQL_TRIGGERS:
        yield f"DROP TRIGGER IF EXISTS {trigger.split()[2]} ON {schema}.user_memories"
        yield trigger.replace("{schema}", schema)


def as_they_are(link: Link) -> tuple[Any, ...]:
    return tuple(link.text(f"SELECT {AS_THEY_ARE[link.kind]}")[0])


def refuse_changed(link: Link) -> None:
    """Raise if the tables are not as they were known: ``ChangedTablesError``, or as ``refuse_other``."""
    if link.tables is None:
        return
    found = as_they_are(link)
    if found != link.tables:
        refuse_other(int(found[0] or 0), None)
        raise ChangedTablesError


class ChangedTablesError(TransientError):
    """Another program changed the tables or their triggers since the last look: look again."""

    def __init__(self) -> None:
        hint = "Nothing was written. Try again when it is done."
        super().__init__(BusyError("another program changes the tables of the database", hint=hint))


def refuse_other(version: int, name: str | None) -> None:
    """Raise ``StoreError`` for tables of another version than this catmem knows."""
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"the tables have version {version}, and this catmem knows version {SCHEMA_VERSION}",
            code="other_schema",
            path=name,
            hint="Nothing was touched. Install the catmem that made them. Or type 'catmem export --snapshot FILE' with "
            "that one, move the database away, and type 'catmem import --snapshot FILE': the history begins anew.",
        )


class Readiness:
    """Whether the tables are there, asked once for each process and database file."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.name = ""
        """That of the store; empty before it is known."""
        self._known: object = None

    def to_read(self) -> bool:
        database = self._database
        if not database.exists:
            return False
        if self.is_counted:
            return True
        with database.looking() as link:
            found = version_of(link)
            _refuse_strange(database.file, link, found)
            if found is None:
                return False
            if database.file is not None:
                database.file.store = found[1]
            refuse_other(found[0], database.name)
            tables = as_they_are(link)  # first, so that what changes meanwhile is noticed
            if is_counted(link):
                self._learn(found[1], tables)
        return True

    def to_write(self) -> str:
        """Make sure that there are tables; returns the name of the store."""
        if not self.is_counted:
            if self._database.file is not None:
                self._database.file.refuse_elsewhere()
                self._database.file.mark.prepare()
            self._learn(*make_ready(self._database))
        return self.name

    def accepted(self) -> list[str]:
        """Take a SQLite database as it is, also one that lost revisions, or that is another; says what was taken."""
        database = self._database
        if database.file is None or not database.exists:
            return []
        with database.looking() as link:
            found = version_of(link)
            said = None if found is None else database.file.accept(found[1], partial(revisions_of, link))
        return [said] if said else []

    @property
    def is_counted(self) -> bool:
        """Whether every change of a row is counted, as far as is known; else only the rows say what they hold."""
        return self._known == self._database.identity

    def forget(self) -> None:
        self._known = None
        self._database.tables = None

    def _learn(self, name: str, tables: tuple[Any, ...]) -> None:
        self.name = name
        if self._database.file is not None:
            self._database.file.store = name
        self._database.tables = tables
        self._known = self._database.identity
