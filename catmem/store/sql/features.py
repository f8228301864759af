"""What a database gives the store, found out by asking it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.store.lasting import Feature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.store.sql.database import Database, Link

_LOCKS = "writers of one entity wait for each other"
_OPEN_TO_ALL = (
    "SELECT 1 FROM pg_catalog.pg_namespace, "
    "pg_catalog.aclexplode(coalesce(nspacl, pg_catalog.acldefault('n', nspowner))) AS given "
    "WHERE nspname = current_schema() AND given.grantee = 0 AND given.privilege_type = 'CREATE'"
)


def examine(database: Database) -> tuple[str, Sequence[Feature]]:
    """The database's name and version, and its features. Raises ``StoreError``."""
    with database.looking() as link:
        return _sqlite(link) if database.kind == "sqlite" else _postgresql(link)


def _sqlite(link: Link) -> tuple[str, Sequence[Feature]]:
    version = link.text("SELECT sqlite_version()")[0][0]
    mode = link.text("PRAGMA journal_mode")[0][0]
    syncs = int(link.text("PRAGMA synchronous")[0][0])
    return f"SQLite {version}", (
        Feature(
            "write-ahead log",
            mode == "wal",
            "readers and the one writer do not wait for each other"
            if mode == "wal"
            else f"the journal mode is {mode}: readers and the writer wait for each other; is it a network disk?",
        ),
        Feature(
            "synchronous",
            syncs >= 2,  # noqa: PLR2004 - FULL
            "a write is on the disk before it is acknowledged"
            if syncs >= 2  # noqa: PLR2004
            else "a power cut may lose acknowledged writes",
        ),
        Feature("locks", there=True, means=f"{_LOCKS}; all of one file do"),
    )


def _postgresql(link: Link) -> tuple[str, Sequence[Feature]]:
    version = link.text("SHOW server_version")[0][0]
    commit, syncs = (str(link.text(f"SHOW {name}")[0][0]) for name in ("synchronous_commit", "fsync"))
    safe = commit != "off" and syncs == "on"
    open_to_all = bool(link.text(_OPEN_TO_ALL))
    return f"PostgreSQL {version}", (
        Feature(
            "synchronous",
            safe,
            f"a write is on the server's disk before it is acknowledged (synchronous_commit = {commit})"
            if safe
            else f"fsync = {syncs}, synchronous_commit = {commit}: a power cut may lose acknowledged writes",
        ),
        Feature("locks", there=True, means=_LOCKS),
        Feature(
            "own schema",
            not open_to_all,
            "anybody may make tables and functions where catmem has its own: REVOKE CREATE ON SCHEMA … FROM PUBLIC"
            if open_to_all
            else "not everybody may make tables and functions where catmem has its own",
        ),
    )
