"""The PostgreSQL server that the tests of all sessions on this machine share, and databases on it.

The first who asks starts it; the last who ends ends it (``tests.sql.keeper``). A process that a test starts finds it by an
environment variable.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from uuid import uuid4

from tests.sql.keeper import KEEPER, READY, USERS, hold, launch
from tests.sql.postgres import MISSING, private

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg

__all__ = ["MISSING", "admin", "fresh_on", "private", "told", "url", "url_of"]

TOLD = "CATMEM_TEST_POSTGRESQL"
"""The environment variable with the server's URL, for processes that tests start."""

KEPT = 25
"""Databases of one process that are there at once; the oldest goes when one more is made. Each takes 7 MB."""

_made: dict[str, list[str]] = {}


def url(name: str) -> str:
    """The URL of a fresh database on the shared server; ``name`` is a part of its name."""
    return fresh_on(server(), name)


def url_of(folder: Path) -> str:
    """The URL of the database that stands for a folder; it is made when it is first asked for, by whatever process."""
    name = "folder_" + hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:24]
    _make(server(), name)
    return _with_path(server(), name)


def fresh_on(server_url: str, name: str) -> str:
    """The URL of a fresh database on any server."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower())[:30]
    full = f"{plain}_{uuid4().hex[:12]}"
    _make(server_url, full)
    return _with_path(server_url, full)


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


def _make(server_url: str, name: str) -> None:
    import psycopg

    with admin(server_url) as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
            return
        try:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE template0 STRATEGY file_copy')
        except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
            return  # another process was faster
        made = _made.setdefault(server_url, [])
        made.append(name)
        while len(made) > KEPT:
            connection.execute(f'DROP DATABASE IF EXISTS "{made.pop(0)}" WITH (FORCE)')


def _with_path(server_url: str, database: str) -> str:
    return urlsplit(server_url)._replace(path=f"/{database}").geturl()
