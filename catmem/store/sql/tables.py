"""The tables: what a person with a SQL shell sees and edits, and what catmem keeps of it."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

SCHEMA_VERSION = 3
"""The version of these tables. ``migrations`` brings older ones here."""

AT_THE_END = 10**18
"""The position of a row for which a client names none: behind all others."""

METADATA = MetaData()

_BIG = BigInteger().with_variant(Integer, "sqlite")
_JSON = Text().with_variant(JSON, "postgresql")

SCHEMA = Table(
    "catmem_schema",
    METADATA,
    Column("version", Integer, nullable=False),
    Column("store", Text, nullable=False),
    comment="The version of the tables, and a random name of this store, with which every chain begins.",
)

ENTRIES = Table(
    "user_memories",
    METADATA,
    Column("id", _BIG, Identity(always=True), primary_key=True),
    Column("entity", Text, nullable=False),
    Column("position", _BIG, nullable=False, server_default=str(AT_THE_END)),
    Column("category", Text, nullable=False, server_default="__uncategorized__"),
    Column("title", Text),
    Column("tier", Integer),
    Column("content", Text, nullable=False),
    Column("tags", _JSON, nullable=False, server_default="{}"),
    Column("created_at", Text),
    Column("mark", Text),
    Index("user_memories_order", "entity", "position"),
    comment="One row an entry, in the order of position and id: the head of each entity, to be read and edited.",
)

META = Table(
    "memory_meta",
    METADATA,
    Column("entity", Text, primary_key=True),
    Column("generation", _BIG, nullable=False, server_default="0"),
    Column("recorded", _BIG, nullable=False, server_default="0"),
    Column("revision", _BIG, nullable=False, server_default="0"),
    Column("sequence", _BIG, nullable=False, server_default="0"),
    Column("head", _BIG, nullable=False, server_default="0"),
    Column("depth", Integer, nullable=False, server_default="0"),
    Column("digest", Text, nullable=False, server_default=""),
    Column("chain", Text, nullable=False, server_default=""),
    Column("updated_at", Text),
    comment="generation counts every change of the rows of an entity; recorded is the one that catmem last made.",
)

LOG = Table(
    "mem_log",
    METADATA,
    Column("entity", Text, primary_key=True),
    Column("sequence", _BIG, primary_key=True, autoincrement=False),
    Column("revision", Text, nullable=False),
    Column("parents", Text, nullable=False),
    Column("timestamp", Text, nullable=False),
    Column("op", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("op_id", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("size", _BIG, nullable=False),
    Column("note", Text, nullable=False),
    Column("base", _BIG),
    Column("depth", Integer, nullable=False),
    Column("offset", _BIG),
    Column("removed", _BIG),
    Column("data", LargeBinary, nullable=False),
    Column("chain", Text, nullable=False),
    UniqueConstraint("entity", "revision"),
    UniqueConstraint("entity", "op_id"),
    comment="Every revision. data is the whole, packed by zlib, where base is null; else what goes in at offset.",
)

BRANCHES = Table(
    "mem_branches",
    METADATA,
    Column("entity", Text, primary_key=True),
    Column("revision", Text, primary_key=True),
    Column("sequence", _BIG, nullable=False),
    comment="The branches that no other revision follows.",
)
