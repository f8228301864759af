"""Entities in a database: one store for SQLite and PostgreSQL."""

from __future__ import annotations

from catmem.registry import Registry


def register(registry: Registry) -> None:
    registry.needs(1)
    registry.add_store("sqlite", "catmem.plugins.sql.sql_store:SQLITE")
    registry.add_store("postgresql", "catmem.plugins.sql.sql_store:POSTGRESQL")
