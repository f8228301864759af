"""A database: its connections, its transactions, and what goes wrong with them.

Statements are SQL with named parameters, the same for both databases, or one for each. They go to the drivers as they
are: sqlite3 of the standard library, and psycopg.
"""

from __future__ import annotations

import ipaddress
import os
import re
import select
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode, urlsplit
from uuid import uuid4

from catmem.errors import BusyError, CatmemError, DamagedError, StoreError
from catmem.plugins.sql.sqlite_file import Connection, DatabaseFile, Log, identity
from catmem.resources import install_command

# https://www.sqlite.org/rescode.html
_BUSY, _LOCKED, _READ_ONLY, _FULL, _CANNOT_OPEN = 5, 6, 8, 13, 14
_CORRUPT, _NOT_A_DATABASE = 11, 26
# https://www.postgresql.org/docs/current/errcodes-appendix.html
_AGAIN = {"40001", "40P01", "55P03"}  # a serialization failure, a deadlock, a lock that took too long
_DISK_FULL, _NO_RIGHT, _READ_ONLY_STATE = "53100", "42501", "25006"
_NOTHING = "Nothing was written."
_PATIENCE = 1.0
"""Seconds for which a server that cannot be reached is asked again."""


class DriverError(Exception):
    """What a driver raised. ``is_lost``: there is no connection any more; ``is_connecting``: there was none yet."""

    def __init__(self, error: BaseException | None, *, is_lost: bool = False, is_connecting: bool = False) -> None:
        super().__init__(str(error))
        self.is_lost = is_lost
        self.is_connecting = is_connecting
        self.code: int | None = getattr(error, "sqlite_errorcode", None)
        self.state: str | None = getattr(error, "sqlstate", None)


class TransientError(Exception):
    """The database asks to try again. Nothing was written; ``error`` is for when that was often enough."""

    def __init__(self, error: CatmemError, *, patience: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.patience = patience


def is_read_only(error: DriverError) -> bool:
    """Whether SQLite has opened the file to read it alone."""
    return error.code is not None and error.code & 0xFF == _READ_ONLY


def fault_of(error: DriverError, name: str) -> CatmemError | TransientError:
    """What a failed statement before the commit means; ``name`` is that of the database."""
    code, state = None if error.code is None else error.code & 0xFF, error.state
    if error.is_lost or (error.is_connecting and code is None):
        return TransientError(_not_available(error, name), patience=_PATIENCE if error.is_connecting else None)
    if state in _AGAIN or code in {_BUSY, _LOCKED}:
        message, hint = "another program keeps writing to the database", f"{_NOTHING} Try again when it is done."
        return TransientError(BusyError(message, code="locked", path=name, hint=hint))
    return _of_code(error, name, code, state)


def _of_code(error: DriverError, name: str, code: int | None, state: str | None) -> CatmemError:
    said = first_line(error)
    if code == _FULL or state == _DISK_FULL:
        return StoreError(f"no space is left: {said}", code="no_space", path=name, hint=f"{_NOTHING} Make room.")
    if code == _READ_ONLY or state in {_NO_RIGHT, _READ_ONLY_STATE}:
        hint = f"{_NOTHING} Give the user who runs catmem the right to write."
        return StoreError(f"the database may not be written: {said}", code="not_writable", path=name, hint=hint)
    if code in {_CORRUPT, _NOT_A_DATABASE}:
        hint = f"{_NOTHING} Restore the database from a backup; 'catmem fsck' says more."
        return DamagedError(f"this is no database, or a damaged one: {said}", path=name, hint=hint)
    if code == _CANNOT_OPEN:
        hint = f"{_NOTHING} Its folder must be there, and may be written; 'store' in catmem.yaml says the path."
        return StoreError(f"the database file cannot be opened: {said}", code="not_available", path=name, hint=hint)
    return StoreError(f"the database says: {said}", path=name, hint=f"{_NOTHING} 'catmem fsck' looks the store over.")


def fault_in_commit(error: DriverError, name: str, op_id: str | None) -> CatmemError | TransientError:
    """What a commit that failed means. Where the connection was lost, it is unknown whether it was made."""
    if not error.is_lost:
        return fault_of(error, name)
    again = f"Repeat it with the op_id {op_id!r}" if op_id else "Read again before you repeat it"
    message = "the connection to the database was lost in the very moment of a commit"
    hint = f"It may have been made or not. {again}: what was made is not made twice."
    return StoreError(message, code="connection_lost", path=name, hint=hint)


def _not_available(error: DriverError, name: str) -> StoreError:
    return StoreError(
        f"the database cannot be reached: {first_line(error)}",
        code="not_available",
        path=name,
        hint=f"{_NOTHING} Start it, or see 'store' in catmem.yaml; its password comes from PGPASSWORD or ~/.pgpass. "
        "A server on another host must prove its name by TLS and ask for SCRAM; PGSSLMODE, PGREQUIREAUTH allow less.",
    )


def first_line(error: DriverError) -> str:
    """The first line of what the driver says, without the statement and its values."""
    return (str(error).strip().splitlines() or ["nothing"])[0]


DriverConnection: TypeAlias = Any
"""A connection of sqlite3, or of psycopg, which is an extra."""

_NAMED = re.compile(r"(?<![:\w]):([a-z_]+)")


class Statement:
    """SQL with parameters such as ``:entity``; ``postgresql`` is what it is there, where that differs."""

    def __init__(self, sqlite: str, postgresql: str | None = None) -> None:
        server = (postgresql or sqlite).replace("%", "%%")
        self.texts = {"sqlite": sqlite, "postgresql": _NAMED.sub(r"%(\1)s", server)}


class Link:
    """A connection, for as long as a transaction or a look. Its methods raise ``DriverError``."""

    def __init__(self, database: Database, driver: DriverConnection) -> None:
        self.kind = database.kind
        self.tables = database.tables
        """As what the tables were known when it was begun: see ``tables.Readiness``."""
        self.driver = driver
        self.file = database.file
        self._error = database.error
        self.revisions: int | None = None
        """How many revisions the store has when this is committed, if it makes any."""
        self._cursor: Any = driver.cursor()  # one for all: what a statement finds is read before the next one
        self.is_lost = False
        """Whether the connection is of no more use."""
        self.op_id: str | None = None
        """The op_id of what is about to be committed, for the message if the connection is lost then."""

    def rows(self, statement: Statement, **values: object) -> Sequence[Sequence[Any]]:
        """Run a query, and give all that it finds."""
        with self._faults():
            self._execute(statement, values)
            return self._cursor.fetchall()  # type: ignore[no-any-return]

    def first(self, statement: Statement, **values: object) -> Sequence[Any] | None:
        found = self.rows(statement, **values)
        return found[0] if found else None

    def run(self, statement: Statement, **values: object) -> int:
        """Run a statement that changes rows, and give their number."""
        with self._faults():
            self._execute(statement, values)
            return int(self._cursor.rowcount)

    def run_each(self, statement: Statement, values: Sequence[Mapping[str, Any]]) -> int:
        """Run a statement once for each set of values, and give the number of rows that it changed in all."""
        if len(values) == 1:
            return self.run(statement, **values[0])
        if not values:
            return 0
        with self._faults():
            self._cursor.executemany(statement.texts[self.kind], values)
            return int(self._cursor.rowcount)

    def text(self, statement: str) -> Sequence[Sequence[Any]]:
        """Run a statement without values, and give all that it finds."""
        with self._faults():
            self._cursor.execute(statement)
            return self._cursor.fetchall() if self._cursor.description else []

    def commit(self) -> None:
        """End a transaction that was begun, so that it stays."""
        self.text("COMMIT")

    def _execute(self, statement: Statement, values: Mapping[str, object]) -> None:
        self._cursor.execute(statement.texts[self.kind], values)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except self._error as error:
            # In the middle of a reset psycopg sees the end and libpq does not yet. What the server says has a SQLSTATE.
            if self.kind == "postgresql":
                is_torn = isinstance(error, _psycopg().OperationalError) and not error.sqlstate
                self.is_lost = is_torn or self.driver.closed
            raise DriverError(error, is_lost=self.is_lost) from error

    def end(self) -> None:
        """Leave the connection to the next caller, without a transaction."""
        driver = self.driver
        if self.is_lost:
            return
        if driver.in_transaction if self.kind == "sqlite" else driver.pgconn.transaction_status:
            self.take_back()

    def take_back(self) -> None:
        """Take back what was begun; a connection on which that fails is closed, with all that it began."""
        try:
            if not self.is_lost:
                self.driver.rollback()
        except self._error:
            self.is_lost = True


_ASKED = {"sslmode": ("verify-full", "PGSSLMODE"), "require_auth": ("scram-sha-256", "PGREQUIREAUTH")}
"""Each option of libpq with the value that is asked for, and the variable of libpq that says another one."""

_FREE = frozenset({
    "application_name", "client_encoding", "connect_timeout", "dbname", "host", "hostaddr", "keepalives",
    "keepalives_count", "keepalives_idle", "keepalives_interval", "load_balance_hosts", "options", "password", "port",
    "target_session_attrs", "tcp_user_timeout", "user",
})  # fmt: skip
"""Options that change nothing of whom is trusted."""


def ask_for_proof(options: dict[str, Any]) -> None:
    """Have a server on another host prove itself; raises ``StoreError`` if the root asks for less."""
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
    hint = f"Nothing was sent to it. Take it out of 'store' in catmem.yaml. {remedy}"
    return StoreError(f"a root may not say {name!r} of a server on another host", code="bad_store", hint=hint)


GIVE_WAY = "50ms"
"""How long a write that holds an entity on PostgreSQL waits for a row. A direct client locks the row first and then, by
the trigger, the entity; so it is catmem that lets go and begins again, and not a person's statement that fails."""


_REOPENING = 0.5
"""Seconds for which a file that could only be read, and may be written now, is tried again."""


def may_write(path: str) -> bool:
    """Whether the user who runs this may write to a file or folder. Also root may not, where it is immutable."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


class Database:
    """Connections to one database, opened as they are needed. Safe in threads, and after a fork."""

    def __init__(self, url: str, *, timeout: float, root: Path | None = None) -> None:
        """``timeout`` is how many seconds a write waits for others; ``root`` keeps which databases it has had."""
        self.kind, mark, rest = url.partition("://")
        path, _, options = rest[1:].partition("?")
        is_file = self.kind == "sqlite" and rest.startswith("/") and path not in {"", ":memory:"} and not options
        if not mark or not (is_file or (self.kind == "postgresql" and rest)):
            raise _bad_url()
        if not is_file and _BAD_PERCENT.search(rest):
            raise _bad_url("a % in the URL of a store needs two hex digits behind it; %25 stands for the sign itself")
        self._url = url
        self.timeout = timeout
        self.path = os.path.abspath(path) if is_file else None  # noqa: PTH100 - as given
        self.file = None if self.path is None else DatabaseFile(self.path, root)
        self.name = self.path or f"{self.kind}://{_without_user(rest)}"
        """Its name in messages: without user, password and options."""
        self.tables: tuple[Any, ...] | None = None
        """As what ``tables.Readiness`` knows the tables; ``None`` until it has looked at them."""
        self._start()

    def _start(self) -> None:
        self._pool: _Pool | None = None
        self._log = None if self.path is None else Log(self.path)
        self._process = os.getpid()
        self._inode: tuple[int, int] | None = None
        self._turn = threading.RLock()
        self._opening = threading.Lock()

    @cached_property
    def error(self) -> type[Exception]:
        return sqlite3.Error if self.path is not None else _psycopg().Error

    @property
    def exists(self) -> bool:
        """Whether there is a database file: false only where there never was one; a server is always there."""
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
        return TransientError(fault, patience=_REOPENING) if may_write(self.path) else fault

    @contextmanager
    def _connected(self) -> Iterator[Link]:
        pool = self._opened()
        try:
            driver = pool.acquire()
        except self.error as error:
            raise fault_of(DriverError(error, is_connecting=True), self.name) from None
        try:
            link = Link(self, driver)
        except self.error as error:
            driver.close()
            raise fault_of(DriverError(error, is_lost=True), self.name) from error
        try:
            yield link
        finally:
            link.end()
            pool.give_back(driver, is_lost=link.is_lost)

    def _opened(self) -> _Pool:
        self._after_fork()
        with self._opening:
            if self.file is not None and (self._inode is None or self._inode != self._found()):
                if self._inode is not None and self.file.store is not None:
                    # Its connections stay as they are: what they hold is there again as soon as the file is.
                    raise self.file.other() if self.file.is_there() else self.file.gone()
                self._end()
            if self._pool is None:
                if self.file is not None:
                    self.file.make()
                self._pool = _Pool(self._connector())
                self._inode = self._found()
                weakref.finalize(self, _let_go, self._pool, self._process)
            return self._pool

    def _connector(self) -> Callable[[], Any]:
        """What opens a connection; it knows nothing of this object, which may end before its connections do."""
        file, log, url, timeout = self.file, self._log, self._url, self.timeout
        if file is not None and log is not None:
            return lambda: _open_sqlite(file, log, timeout)
        _psycopg()
        return lambda: _open_postgresql(url, timeout)

    def _refuse_lost(self, op_id: str | None) -> None:
        """Raise ``StoreError`` if what is open is not the database at its path; ``op_id`` is of what was committed."""
        if self.file is not None and self._inode != self._found():
            raise self.file.gone(op_id=op_id)

    def _found(self) -> tuple[int, int] | None:
        return None if self.path is None else identity(self.path)

    def _after_fork(self) -> None:
        """A child has connections of its own; those of its parent are left to it."""
        if self._process != os.getpid():
            self._start()

    def close(self) -> None:
        self._after_fork()
        with self._opening:
            self._end()

    def _end(self) -> None:
        self._log = None if self.path is None else Log(self.path)
        if self._pool is not None:
            self._pool.close()
            self._pool = None


_IDLE = 5
"""Connections that stay open, to be used again."""


class _Pool:
    """The open connections that are not in use. Safe in threads."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._idle: list[Any] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def acquire(self) -> DriverConnection:
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                if not _is_ended(connection):
                    return connection
                connection.close()
        return self._connect()

    def give_back(self, connection: DriverConnection, *, is_lost: bool) -> None:
        """Keep a connection for the next one who asks, or close it."""
        with self._lock:
            if not is_lost and not self._is_closed and len(self._idle) < _IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def _is_ended(connection: DriverConnection) -> bool:
    """Whether a server has ended an idle connection: it says nothing to one but that, or what a new one learns too."""
    if isinstance(connection, Connection):
        return False  # a file ends nothing
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _let_go(pool: _Pool, process: int) -> None:
    """Close what was not closed; in a child of the process the connections are its parent's."""
    if process == os.getpid():
        pool.close()


def _open_sqlite(file: DatabaseFile, log: Log, timeout: float) -> Connection:
    log.refuse_open()
    uri = f"{Path(file.path).as_uri()}?mode=rw"
    connection = sqlite3.connect(
        uri, uri=True, timeout=timeout, factory=Connection, check_same_thread=False, isolation_level=None
    )
    try:
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "schema_version"):  # from a read on it keeps its log
            connection.execute(f"PRAGMA {pragma}").close()
        connection.begin(file.path)
    except BaseException:
        connection.close()
        raise
    return connection


def _open_postgresql(url: str, timeout: float) -> DriverConnection:
    psycopg = _psycopg()
    try:
        options = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise _bad_url() from None
    ask_for_proof(options)
    connection = psycopg.connect(
        # Memory is UTF-8; PGCLIENTENCODING, or a database without an encoding, would say another.
        **{"connect_timeout": 10, "application_name": "catmem", **options, "client_encoding": "UTF8"},
        autocommit=True,  # BEGIN and COMMIT are statements like any other here
    )
    try:
        connection.execute(
            f"SET lock_timeout = {max(1, int(timeout * 1000))}; "
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )
    except BaseException:
        connection.close()
        raise
    return connection


def _psycopg() -> ModuleType:
    try:
        import psycopg
    except ModuleNotFoundError as error:
        message = "the store of this root is a PostgreSQL database, and psycopg is not installed"
        raise StoreError(message, code="missing_extra", hint=f"Run: {install_command('postgres')}") from error
    return psycopg


def _without_user(rest: str) -> str:
    """Hosts and database of a server's URL. As libpq reads it, a user and a password may hold a question mark."""
    user, at, there = rest.partition("@")
    shown = there if at and "/" not in user else rest
    return shown.partition("?")[0].rpartition("@")[2]


_BAD_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")


def _bad_url(message: str = "this is not the URL of a store") -> StoreError:
    return StoreError(
        message,
        code="bad_store",
        hint="Use sqlite:///PATH (three slashes, and a fourth before a whole path), or postgresql://USER@HOST/DATABASE "
        "with the password in PGPASSWORD or ~/.pgpass.",
    )


@contextmanager
def new_schema(url: str) -> Iterator[str]:
    """A schema in a PostgreSQL database, for a moment, and the URL by which it is what a client sees."""
    name = f"catmem_simulation_{uuid4().hex}"
    database = Database(url, timeout=10)
    with closing(database):
        _run_alone(database, f"CREATE SCHEMA {name}")
        try:
            parts = urlsplit(url)
            query = urlencode({**dict(parse_qsl(parts.query)), "options": f"-csearch_path={name}"}, quote_via=quote)
            yield parts._replace(query=query).geturl()
        finally:
            _run_alone(database, f"DROP SCHEMA {name} CASCADE")


def _run_alone(database: Database, statement: str) -> None:
    try:
        with database.looking() as link:
            link.text(statement)
    except TransientError as error:
        raise error.error from error
