"""Whether a database takes writes, found out without writing anything and without waiting for anybody."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from catmem.errors import BusyError, StoreError
from catmem.store.sql.database import may_write
from catmem.store.sql.faults import TransientError

if TYPE_CHECKING:
    from catmem.store.sql.database import Database, Link

_CHANGES_NOTHING = "DELETE FROM catmem_schema WHERE 0"
"""SQLite takes ``BEGIN IMMEDIATE`` on a connection that may only read; a statement that writes it refuses there."""

_POSTGRESQL_READS = "SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('transaction_read_only') = 'on'"
_RIGHTS = {
    "user_memories": ("SELECT", "INSERT", "UPDATE", "DELETE"),
    "memory_meta": ("SELECT", "INSERT", "UPDATE"),
    "mem_log": ("SELECT", "INSERT"),
}
_PAIRS = ", ".join(f"('{table}', '{right}')" for table, rights in _RIGHTS.items() for right in rights)
_POSTGRESQL_LACKS = (
    f"SELECT name, lack FROM (VALUES {_PAIRS}) AS wanted (name, lack) "  # noqa: S608 - every word is ours
    "WHERE NOT pg_catalog.has_table_privilege(name, lack)"
)
_MAY_CREATE = "SELECT pg_catalog.has_schema_privilege(current_schema(), 'CREATE')"


def refuse_unwritable(database: Database, *, has_tables: bool) -> None:
    """Raise ``StoreError`` (``not_writable``) for a database that takes no writes, and as reading does.

    ``has_tables`` says whether there are tables already.
    """
    if database.path is not None:
        _refuse_files(database.path)
        if not has_tables:
            return
    try:
        if database.kind == "postgresql":
            with database.looking() as link:
                _refuse_postgresql(link, database.name, has_tables=has_tables)
        else:
            _refuse_reader(database)
    except TransientError as error:
        if isinstance(error.error, BusyError):
            return  # somebody writes at this moment
        raise error.error from error


def _refuse_files(path: str) -> None:
    """The file, with the log beside it; or the nearest folder of it that is there, for one that has yet to be made."""
    there = [each for each in (path, f"{path}-wal", f"{path}-shm") if os.path.lexists(each)]
    if path not in there:
        folder = os.path.dirname(path)  # noqa: PTH120 - text, as the driver takes it
        while not os.path.lexists(folder):
            folder = os.path.dirname(folder)  # noqa: PTH120
        there.append(folder)
    for each in there:
        if not may_write(each):
            raise _not_writable("may not be written by whoever runs this", each)


def _refuse_reader(database: Database) -> None:
    try:
        _change_nothing(database)
    except TransientError as error:
        if isinstance(error.error, BusyError):
            raise
        _change_nothing(database)  # by a new connection: that one may be of a time when the file could only be read


def _change_nothing(database: Database) -> None:
    with database.looking() as link:
        link.text("PRAGMA busy_timeout = 0")
        try:
            link.text(_CHANGES_NOTHING)
        finally:
            link.text(f"PRAGMA busy_timeout = {int(database.timeout * 1000)}")


def _refuse_postgresql(link: Link, name: str, *, has_tables: bool) -> None:
    ((is_replica, only_reads),) = link.text(_POSTGRESQL_READS)
    if is_replica:
        raise _not_writable("the server is a replica, which can only be read", name)
    if only_reads:
        raise _not_writable("the server lets this user or database only read (default_transaction_read_only)", name)
    if not has_tables:
        if not link.text(_MAY_CREATE)[0][0]:
            raise _not_writable("there are no tables yet, and this user may not make them", name)
        return
    lacks = link.text(_POSTGRESQL_LACKS)
    if lacks:
        said = ", ".join(f"{right} on {table}" for table, right in lacks)
        raise _not_writable(f"this user lacks rights: {said}", name)


def _not_writable(message: str, path: str) -> StoreError:
    hint = "Nothing can be written; what is there is read. Give whoever runs catmem the right to write."
    return StoreError(message, code="not_writable", path=path, hint=hint)
