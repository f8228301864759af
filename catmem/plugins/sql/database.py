"""A database: its connections, its transactions, and what goes wrong with them."""

from __future__ import annotations

import ipaddress
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit
from uuid import uuid4

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from catmem.errors import CatmemError, StoreError
from catmem.plugins.sql.link import DriverError, Link, TransientError, fault_in_commit, fault_of, is_read_only
from catmem.plugins.sql.sqlite_file import Connection, DatabaseFile, Log
from catmem.resources import install_command

if TYPE_CHECKING:
    from sqlalchemy.pool import PoolProxiedConnection


_ASKED = {"sslmode": ("verify-full", "PGSSLMODE"), "require_auth": ("scram-sha-256", "PGREQUIREAUTH")}
"""Each option of libpq with the value that is asked for, and the variable of libpq that says another one."""

_FREE = frozenset({
    "application_name", "client_encoding", "connect_timeout", "context", "dbname", "host", "hostaddr", "keepalives",
    "keepalives_count", "keepalives_idle", "keepalives_interval", "load_balance_hosts", "options", "password", "port",
    "target_session_attrs", "tcp_user_timeout", "user",
})  # fmt: skip
"""Options that change nothing of whom is trusted."""


def ask_for_proof(dialect: object, record: object, arguments: object, options: dict[str, Any]) -> None:
    """Have a server on another host prove itself: for SQLAlchemy's ``do_connect``.

    Raises ``StoreError`` (``bad_store``) if the root asks for less, or for what only its reader may say.
    """
    del dialect, record, arguments
    if _is_local(options):
        return
    for name, (asked, variable) in _ASKED.items():
        wanted = os.environ.get(variable) or asked
        if options.pop(name, wanted) not in {wanted, asked}:
            raise _not_for_the_root(name, f"Set {variable} where you trust that server.")
        options[name] = wanted
    for name in sorted(options.keys() - _FREE - _ASKED.keys()):
        raise _not_for_the_root(name, "Use libpq's environment variables or files in your home.")


def _is_local(options: dict[str, Any]) -> bool:
    """Whether it is a server of this machine, or one that the reader's own settings name."""
    if "service" in options or "servicefile" in options:
        return False
    named = [str(options[name]) for name in ("host", "hostaddr") if options.get(name)]
    return all(_is_here(host) for host in ",".join(named).split(","))


def _is_here(host: str) -> bool:
    if not host or host == "localhost" or host.startswith(("/", "@")):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _not_for_the_root(name: str, remedy: str) -> StoreError:
    return StoreError(
        f"a root may not say {name!r} of a server on another host",
        code="bad_store",
        hint=f"Nothing was sent to it. Take it out of 'store' in catmem.yaml. {remedy}",
    )


DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}
"""The databases that there are, each with its driver."""

GIVE_WAY = "50ms"
"""How long a write that holds an entity on PostgreSQL waits for a row. A direct client locks the row first and then, by
the trigger, the entity; so it is catmem that lets go and begins again, and not a person's statement that fails."""


_PATIENCE = 0.5
"""Seconds for which a file that could only be read, and may be written now, is tried again."""


def may_write(path: str) -> bool:
    """Whether the user who runs this may write to a file or folder. Also root may not, where it is immutable."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


class Database:
    """Connections to one database, opened as they are needed. Safe in threads, and after a fork."""

    def __init__(self, url: str, *, timeout: float, root: Path | None = None) -> None:
        """``timeout`` is in seconds: how long a write waits for others. ``root`` keeps which databases it has had.

        Raises ``StoreError``.
        """
        try:
            self._url = make_url(url)
        except ArgumentError:
            raise _bad_url() from None
        self.kind = self._url.get_backend_name()
        if self.kind not in DRIVERS or (self.kind == "sqlite" and self._url.database in {None, "", ":memory:"}):
            raise _bad_url()
        self._url = self._url.set(drivername=DRIVERS[self.kind])
        self.timeout = timeout
        self.path = os.path.abspath(str(self._url.database)) if self.kind == "sqlite" else None  # noqa: PTH100 - as given
        self.file = None if self.path is None else DatabaseFile(self.path, root)
        self.name = (
            self.path
            or self._url.set(drivername="postgresql", username=None, password=None, query={}).render_as_string()
        )
        """Its name in messages: without user, password and options."""
        self.tables: tuple[Any, ...] | None = None
        """As what ``schema.Readiness`` knows the tables; ``None`` until it has looked at them."""
        self._start()

    def _start(self) -> None:
        self._engine: Engine | None = None
        self._log = None if self.path is None else Log(self.path)
        self._process = os.getpid()
        self._inode: tuple[int, int] | None = None
        self._turn = threading.RLock()
        self._opening = threading.Lock()

    @property
    def exists(self) -> bool:
        """Whether there is a database file; a server is asked when it is needed.

        False only where there never was one: raises ``StoreError`` for one that went away.
        """
        return self.file is None or self.file.is_there()

    @property
    def identity(self) -> tuple[int, tuple[int, int] | None]:
        """Which process it is, and which database file it has open: what was learnt of another does not count."""
        return os.getpid(), self._found()

    @contextmanager
    def looking(self) -> Iterator[Link]:
        """A connection for single statements, each of which sees what is there."""
        with self._connected() as link, self._translated(link):
            yield link

    @contextmanager
    def reading(self) -> Iterator[Link]:
        """A connection whose statements all see the same state."""
        with self._connected() as link, self._translated(link):
            link.text("BEGIN" if self.kind == "sqlite" else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield link
            link.commit()

    @contextmanager
    def writing(self) -> Iterator[Link]:
        """A transaction that is committed at the end, or taken back."""
        self._after_fork()
        # SQLite has one writer at a time: threads wait for each other here, which is faster than asking it again.
        with self._turn if self.kind == "sqlite" else nullcontext(), self._connected() as link:
            self._refuse_lost(None)
            if self._log is not None:
                self._log.begin_write(link.driver)
            with self._translated(link):
                link.text("BEGIN IMMEDIATE" if self.kind == "sqlite" else "BEGIN")
                yield link
            try:
                link.commit()
            except DriverError as error:
                link.take_back()
                raise fault_in_commit(error, self.name, link.op_id) from error
            self._refuse_lost(link.op_id)
            if self._log is not None:
                self._log.end_write(link.driver, link.op_id)
            if self.file is not None and link.revisions is not None:
                self.file.acknowledge(link.revisions)

    @contextmanager
    def _translated(self, link: Link) -> Iterator[None]:
        """Take back what was begun if anything goes wrong, and say what a database says as an error of catmem."""
        try:
            yield
        except DriverError as error:
            link.is_lost = link.is_lost or is_read_only(error)
            link.take_back()
            raise self._fault_of(error) from error
        except BaseException:
            link.take_back()
            raise

    def _fault_of(self, error: DriverError) -> CatmemError | TransientError:
        """What an error means; where the connections are of a time when a file could only be read, others are next."""
        fault = fault_of(error, self.name)
        if self.path is None or not is_read_only(error) or isinstance(fault, TransientError):
            return fault
        self.close()  # SQLite's connections stay as they are, also when the file may be written again
        return TransientError(fault, patience=_PATIENCE) if may_write(self.path) else fault

    @contextmanager
    def _connected(self) -> Iterator[Link]:
        engine = self._opened()
        borrowed = self._borrowed(engine)
        try:
            link = Link(borrowed, engine.dialect, self.tables, self.file)
        except engine.dialect.loaded_dbapi.Error as error:
            borrowed.invalidate()
            raise fault_of(DriverError(error, is_lost=True), self.name) from error
        try:
            yield link
        finally:
            link.end()
            borrowed.close()

    def _borrowed(self, engine: Engine) -> PoolProxiedConnection:
        try:
            return engine.raw_connection()
        except (engine.dialect.loaded_dbapi.Error, SQLAlchemyError) as error:
            driver = error.orig if isinstance(error, DBAPIError) else error
            raise fault_of(DriverError(driver, is_connecting=True), self.name) from None

    def _opened(self) -> Engine:
        self._after_fork()
        with self._opening:
            if self.file is not None and (self._inode is None or self._inode != self._found()):
                if self._inode is not None and self.file.is_known:
                    # Its connections stay as they are: what they hold is there again as soon as the file is.
                    raise self.file.other() if self.file.is_there() else self.file.gone()
                self._end()
            if self._engine is None:
                self._engine = self._make()
                self._inode = self._found()
                weakref.finalize(self, _let_go, self._engine, self._process)
            return self._engine

    def _refuse_lost(self, op_id: str | None) -> None:
        """Raise ``StoreError`` if what is open is not the database at its path; ``op_id`` is of what was committed."""
        if self.file is not None and self._inode != self._found():
            raise self.file.gone(op_id=op_id)

    def _found(self) -> tuple[int, int] | None:
        return None if self.file is None else self.file.identity()

    def _after_fork(self) -> None:
        """A child has connections of its own; those of its parent are left to it."""
        if self._process != os.getpid():
            if self._engine is not None:
                self._engine.dispose(close=False)
            self._start()

    def _make(self) -> Engine:
        try:
            if self.file is not None and self._log is not None:
                self.file.make()
                engine = create_engine(
                    self._url.set(database=self.file.path),
                    connect_args={"timeout": self.timeout},
                    max_overflow=-1,
                    pool_reset_on_return=None,  # done by `Link.end`, and only where there is something to take back
                )
                event.listen(engine, "do_connect", partial(_open_sqlite, self.file, self._log))
                event.listen(engine, "connect", partial(_set_up_sqlite, self.file.path))
            else:
                engine = create_engine(
                    self._url,
                    connect_args={"connect_timeout": 10, "application_name": "catmem"},
                    max_overflow=-1,
                    pool_reset_on_return=None,
                )
                event.listen(engine, "do_connect", ask_for_proof)
                event.listen(engine, "connect", partial(_set_up_postgresql, self.timeout))
        except ModuleNotFoundError as error:
            raise StoreError(
                "this store needs psycopg, which is not installed",
                code="missing_extra",
                hint=f"Run: {install_command('postgres')}",
            ) from error
        except NoSuchModuleError as error:
            raise _bad_url() from error
        return engine

    def close(self) -> None:
        """Close all connections; the next call opens others."""
        self._after_fork()
        with self._opening:
            self._end()

    def _end(self) -> None:
        self._log = None if self.path is None else Log(self.path)
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None


def _let_go(engine: Engine, process: int) -> None:
    """Close what was not closed; in a child of the process the connections are its parent's."""
    engine.dispose(close=process == os.getpid())


def _open_sqlite(  # noqa: PLR0913, PLR0917 - as SQLAlchemy calls it
    file: DatabaseFile, log: Log, dialect: object, record: object, arguments: list[Any], options: dict[str, Any]
) -> None:
    del dialect, record
    log.refuse_open()
    arguments[:] = [file.uri]
    options.update(uri=True, factory=Connection)


def _set_up_sqlite(path: str, connection: Any, _: object) -> None:  # noqa: ANN401 - the driver's
    connection.isolation_level = None  # BEGIN and COMMIT are statements like any other here
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "schema_version"):  # from a read on it keeps its log
        connection.execute(f"PRAGMA {pragma}").close()
    connection.begin(path)


def _set_up_postgresql(timeout: float, connection: Any, _: object) -> None:  # noqa: ANN401 - the driver's
    connection.autocommit = True  # as above
    connection.execute(
        f"SET lock_timeout = {max(1, int(timeout * 1000))}; "
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    )


def _bad_url() -> StoreError:
    return StoreError(
        "this is not the URL of a store",
        code="bad_store",
        hint="Use sqlite:///PATH (three slashes, and a fourth before a whole path), or postgresql://USER@HOST/DATABASE "
        "with the password in PGPASSWORD or ~/.pgpass.",
    )


@contextmanager
def new_file(path: Path) -> Iterator[None]:
    """A SQLite database that does not exist yet, for a moment: it is removed with the files beside it."""
    try:
        yield
    finally:
        for end in ("", "-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)


@contextmanager
def new_schema(url: str) -> Iterator[str]:
    """A schema in a PostgreSQL database, for a moment, and the URL by which it is what a client sees."""
    import psycopg

    name = f"catmem_simulation_{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
        try:
            parts = urlsplit(url)
            query = urlencode({**dict(parse_qsl(parts.query)), "options": f"-csearch_path={name}"}, quote_via=quote)
            yield parts._replace(query=query).geturl()
        finally:
            connection.execute(f"DROP SCHEMA {name} CASCADE".encode())
