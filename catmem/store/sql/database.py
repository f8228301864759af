"""A database: its connections, its transactions, and what goes wrong with them.

Statements are those of SQLAlchemy Core, compiled once for each database and then handed to the driver as text: most of
the time that a small statement takes would else be spent on making it.
"""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, create_engine, event, func, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from catmem.errors import StoreError
from catmem.store.sql.faults import DriverError, fault_in_commit, fault_of, missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sqlalchemy import ClauseElement, Dialect, Engine
    from sqlalchemy.pool import PoolProxiedConnection

DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}
"""The databases that there are, each with its driver."""

CHANNEL = "catmem"
"""Where PostgreSQL tells listeners of each commit."""

LISTENER = 7246, 1
"""The advisory lock that each listener shares, so that a commit sees whether there is one."""

GIVE_WAY = "50ms"
"""How long a write that holds an entity on PostgreSQL waits for a row. A direct client locks the row first and then, by
the trigger, the entity; so it is catmem that lets go and begins again, and not a person's statement that fails."""


class Statement:
    """A statement of SQLAlchemy Core, compiled for a dialect when it is first run there."""

    def __init__(self, construct: ClauseElement, postgresql: ClauseElement | None = None) -> None:
        """``postgresql`` is what it is there, where that differs."""
        self._constructs = {"sqlite": construct, "postgresql": construct if postgresql is None else postgresql}
        self._compiled: dict[str, Compiled] = {}

    def on(self, dialect: Dialect) -> Compiled:
        """The statement for a dialect."""
        known = self._compiled.get(dialect.name)
        if known is None:
            compiled = self._constructs[dialect.name].compile(dialect=dialect)
            order = getattr(compiled, "positiontup", None)
            own = {name: value for name, value in compiled.params.items() if value is not None}
            known = Compiled(str(compiled), None if order is None else tuple(order), own)
            self._compiled[dialect.name] = known
        return known


class Compiled(NamedTuple):
    """A statement as text.

    ``order`` is that of the parameters, where they have no names; ``own`` are values that stand in the statement.
    """

    text: str
    order: tuple[str, ...] | None
    own: Mapping[str, Any]

    def values(self, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a tuple or a dict, as the driver wants it
        """The values as the driver takes them."""
        values = {**self.own, **given} if self.own else given
        return values if self.order is None else tuple(values[name] for name in self.order)


class Link:
    """A connection, for as long as a transaction or a look. Its methods raise ``DriverError``."""

    def __init__(self, borrowed: PoolProxiedConnection, dialect: Dialect) -> None:
        """Only ``Database`` makes them."""
        self.borrowed = borrowed
        self.dialect = dialect
        self.driver: Any = borrowed.driver_connection
        self.is_lost = False
        self.op_id: str | None = None
        """The op_id of what is about to be committed, for the message if the connection is lost then."""
        self.news: str | None = None
        """What listeners are told of it, if there are any."""

    def rows(self, statement: Statement, **values: Any) -> Sequence[Sequence[Any]]:  # noqa: ANN401 - columns
        """Run a query, and give all that it finds."""
        return self._executed(statement, values, _all)  # type: ignore[no-any-return]

    def first(self, statement: Statement, **values: Any) -> Sequence[Any] | None:  # noqa: ANN401 - columns
        """Run a query, and give the first row of what it finds."""
        found = self.rows(statement, **values)
        return found[0] if found else None

    def run(self, statement: Statement, **values: Any) -> int:  # noqa: ANN401 - columns
        """Run a statement that changes rows, and give their number."""
        return self._executed(statement, values, _count)  # type: ignore[no-any-return]

    def run_each(self, statement: Statement, values: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement once for each set of values."""
        if len(values) == 1:
            self.run(statement, **values[0])
        elif values:
            compiled = statement.on(self.dialect)
            rows = [compiled.values(each) for each in values]
            self._told(lambda: self.driver.cursor().executemany(compiled.text, rows))

    def text(self, statement: str) -> Sequence[Sequence[Any]]:
        """Run a statement without values, and give all that it finds."""
        return self._told(lambda: _all(self.driver.execute(statement)))  # type: ignore[no-any-return]

    def _executed(self, statement: Statement, values: Mapping[str, Any], answer: Callable[[Any], Any]) -> Any:  # noqa: ANN401
        compiled = statement.on(self.dialect)
        return self._told(lambda: answer(self.driver.execute(compiled.text, compiled.values(values))))

    def _told(self, work: Callable[[], Any]) -> Any:  # noqa: ANN401 - what the driver gives
        dialect = self.dialect
        try:
            return work()
        except dialect.loaded_dbapi.Error as error:
            self.is_lost = dialect.is_disconnect(error, self.driver, None)
            raise DriverError(error, is_lost=self.is_lost) from error

    def tell(self, news: str) -> None:
        """Tell listeners, after the commit: within it, all commits of the server would wait for each other's disk.

        A notification is a hint: whoever misses one reads the same in ``memory_meta``.
        """
        try:
            self.run(_NOTIFY, channel=CHANNEL, news=news)
        except DriverError:
            self.take_back()  # what was committed stays committed

    def take_back(self) -> None:
        """Take back what was begun; a connection on which that fails is closed, with all that it began."""
        try:
            if not self.is_lost:
                self.driver.rollback()
        except self.dialect.loaded_dbapi.Error:
            self.is_lost = True
        if self.is_lost:
            self.borrowed.invalidate()


_NOTIFY = Statement(select(func.pg_notify(bindparam("channel"), bindparam("news"))))


def _all(cursor: Any) -> Any:  # noqa: ANN401 - the driver's
    return cursor.fetchall() if cursor.description else []


def _count(cursor: Any) -> Any:  # noqa: ANN401 - the driver's
    return cursor.rowcount


class Database:
    """Connections to one database, opened as they are needed. Safe in threads, and after a fork."""

    def __init__(self, url: str, *, timeout: float) -> None:
        """``timeout`` is in seconds: how long a write waits for others. Raises ``StoreError``."""
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
        self.name = (
            self.path
            or self._url.set(drivername="postgresql", username=None, password=None, query={}).render_as_string()
        )
        """Its name in messages: without user, password and options."""
        self._start()

    def _start(self) -> None:
        self._engine: Engine | None = None
        self._process = os.getpid()
        self._inode: tuple[int, int] | None = None
        self._turn = threading.RLock()
        self._opening = threading.Lock()

    @property
    def exists(self) -> bool:
        """Whether there is a database file; a server is asked when it is needed."""
        return self.path is None or os.path.lexists(self.path)

    @property
    def identity(self) -> tuple[int, tuple[int, int] | None]:
        """Which process it is, and which database file it has open: what was learnt of another does not count."""
        return os.getpid(), self._found()

    @contextmanager
    def looking(self) -> Iterator[Link]:
        """A connection for single statements, each of which sees what is there."""
        with self._connected() as link, self._told(link):
            yield link

    @contextmanager
    def reading(self) -> Iterator[Link]:
        """A connection whose statements all see the same state."""
        with self._connected() as link, self._told(link):
            link.text("BEGIN" if self.kind == "sqlite" else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield link
            link.text("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[Link]:
        """A transaction that is committed at the end, or taken back."""
        with self._turn_of_thread(), self._connected() as link:
            with self._told(link):
                link.text("BEGIN IMMEDIATE" if self.kind == "sqlite" else "BEGIN")
                yield link
            try:
                link.text("COMMIT")
            except DriverError as error:
                link.take_back()
                raise fault_in_commit(error, self.name, link.op_id) from error
            if link.news is not None:
                link.tell(link.news)

    @contextmanager
    def _turn_of_thread(self) -> Iterator[None]:
        """SQLite has one writer at a time: threads wait for each other here, which is faster than asking it again."""
        self._after_fork()
        if self.kind != "sqlite":
            yield
            return
        with self._turn:
            yield

    @contextmanager
    def _told(self, link: Link) -> Iterator[None]:
        """Take back what was begun if anything goes wrong, and say what a database says as an error of catmem."""
        try:
            yield
        except DriverError as error:
            link.take_back()
            raise fault_of(error, self.name) from error
        except BaseException:
            link.take_back()
            raise

    @contextmanager
    def _connected(self) -> Iterator[Link]:
        engine = self._opened()
        borrowed = self._borrowed(engine)
        try:
            yield Link(borrowed, engine.dialect)
        finally:
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
            if self._engine is not None and self._inode != self._found():
                # The file was removed, or another put in its place: what is written to the old one is lost.
                self._engine.dispose()
                self._engine = None
            if self._engine is None:
                self._engine = self._make()
                self._inode = None
                weakref.finalize(self, _let_go, self._engine, self._process)
            if self.path is not None and self._inode is None:
                self._inode = self._found()
            return self._engine

    def _found(self) -> tuple[int, int] | None:
        if self.path is None:
            return None
        try:
            status = os.stat(self.path)  # noqa: PTH116 - asked at each transaction
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _after_fork(self) -> None:
        """A child has connections of its own; those of its parent are left to it."""
        if self._process != os.getpid():
            if self._engine is not None:
                self._engine.dispose(close=False)
            self._start()

    def _make(self) -> Engine:
        try:
            if self.kind == "sqlite":
                engine = create_engine(
                    self._url.set(database=self.path),
                    connect_args={"timeout": self.timeout},
                    max_overflow=-1,
                )
                event.listen(engine, "connect", _set_up_sqlite)
            else:
                engine = create_engine(
                    self._url,
                    connect_args={"connect_timeout": 10, "application_name": "catmem"},
                    max_overflow=-1,
                )
                event.listen(engine, "connect", partial(_set_up_postgresql, self.timeout))
        except ModuleNotFoundError as error:
            raise missing("psycopg", "postgres") from error
        except NoSuchModuleError as error:
            raise _bad_url() from error
        return engine

    def raw(self) -> Any:  # noqa: ANN401 - the driver's own connection
        """A connection of the driver, outside of the pool, which the caller closes."""
        connection = self._borrowed(self._opened())
        driver = connection.driver_connection
        connection.detach()
        return driver

    def close(self) -> None:
        """Close all connections; the next call opens others."""
        self._after_fork()
        with self._opening:
            if self._engine is not None:
                self._engine.dispose()
                self._engine = None


def _let_go(engine: Engine, process: int) -> None:
    """Close what nobody closed; in a child of the process the connections are its parent's."""
    engine.dispose(close=process == os.getpid())


def _set_up_sqlite(connection: Any, _: object) -> None:  # noqa: ANN401 - the driver's
    connection.isolation_level = None  # BEGIN and COMMIT are statements like any other here
    for pragma in ("journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}").close()


def _set_up_postgresql(timeout: float, connection: Any, _: object) -> None:  # noqa: ANN401 - the driver's
    connection.autocommit = True  # as above
    connection.execute(
        f"SET lock_timeout = {max(1, int(timeout * 1000))}; "
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    )


def _bad_url() -> StoreError:
    return StoreError(
        "this is not the URL of a store",
        code="not_available",
        hint="Use sqlite:///PATH, or postgresql://USER@HOST/DATABASE with the password in PGPASSWORD or ~/.pgpass.",
    )
