"""The PostgreSQL server that the tests of all sessions on this machine share, and databases on it.

The first who asks starts it; the last who ends ends it (``tests.sql.keeper``). A process that a test starts finds it by an
environment variable.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg

from tests.sql.keeper import KEEPER, READY, USERS, hold, launch
from tests.sql.postgres import MISSING, private

__all__ = ["MISSING", "admin", "fresh_on", "private", "told", "url", "url_of"]

TOLD = "CATMEM_TEST_POSTGRESQL"
"""The environment variable with the server's URL, for processes that tests start."""

KEPT = 25
"""Databases, and schemas, of one process that are there at once; the oldest goes when one more is made."""

_databases: dict[str, list[str]] = {}
_schemas: dict[str, list[str]] = {}


def url(name: str) -> str:
    """The URL of a fresh database on the shared server; ``name`` is a part of its name."""
    return fresh_on(server(), name)


def url_of(folder: Path) -> str:
    """The URL that stands for a folder; what is behind it is made when it is first asked for, by whatever process.

    It is a schema, which takes some milliseconds to make and to remove; a database takes hundreds.
    """
    import psycopg

    schema = "folder_" + hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:24]
    made = _schemas.setdefault(server(), [])
    if schema not in made:
        with admin(server()) as connection:
            # Of two processes at once one is faster.
            with contextlib.suppress(psycopg.errors.DuplicateSchema, psycopg.errors.UniqueViolation):
                connection.execute(f"CREATE SCHEMA {schema}")
                made.append(schema)
            while len(made) > KEPT:
                connection.execute(f"DROP SCHEMA IF EXISTS {made.pop(0)} CASCADE")
    return f"{server()}?options=-csearch_path%3D{schema}"


def fresh_on(server_url: str, name: str) -> str:
    """The URL of a fresh database on any server."""
    full = f"{re.sub(r'[^a-z0-9]+', '_', name.lower())[:30]}_{uuid4().hex[:12]}"
    made = _databases.setdefault(server_url, [])
    with admin(server_url) as connection:
        connection.execute(f'CREATE DATABASE "{full}" TEMPLATE template0')
        made.append(full)
        while len(made) > KEPT:
            connection.execute(f'DROP DATABASE IF EXISTS "{made.pop(0)}" WITH (FORCE)')
    return urlsplit(server_url)._replace(path=f"/{full}").geturl()


def admin(server_url: str) -> psycopg.Connection[tuple[object, ...]]:
    """A connection of ours, past all that is tested, where each statement is a transaction."""
    import psycopg

    return psycopg.connect(server_url, autocommit=True)


def server() -> str:
    """The URL of the shared server, which runs from now on until this process ends."""
    if TOLD not in os.environ:
        os.environ[TOLD] = _started()
    return os.environ[TOLD]


@contextlib.contextmanager
def told(server_url: str) -> Iterator[None]:
    """Another server in the place of the shared one, here and in the processes that are started meanwhile."""
    before = os.environ.get(TOLD)
    os.environ[TOLD] = server_url
    try:
        yield
    finally:
        del os.environ[TOLD]
        if before is not None:
            os.environ[TOLD] = before


def _started() -> str:
    folder = Path(tempfile.gettempdir(), f"catmem-postgresql-{os.getuid()}")
    folder.mkdir(mode=0o711, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise RuntimeError(f"{folder} belongs to somebody else")
    hold(folder, USERS, fcntl.LOCK_SH)  # never let go of: the end of this process does that
    starting = hold(folder, "starting", fcntl.LOCK_EX)
    try:
        if not (folder / READY).exists() or not _has_keeper(folder):
            launch("keep", folder)
        return (folder / READY).read_text(encoding="ascii")
    finally:
        os.close(starting)


def _has_keeper(folder: Path) -> bool:
    """Whether the one who will end the server still lives; else a new one starts afresh."""
    try:
        os.close(hold(folder, KEEPER, fcntl.LOCK_EX | fcntl.LOCK_NB))
    except BlockingIOError:
        return True
    return False
