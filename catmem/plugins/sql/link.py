"""One connection of a database: statements compiled once, and what a driver says as errors.

Statements are those of SQLAlchemy Core, compiled once for each database and then handed to the driver as text: most of
the time that a small statement takes would else be spent on making it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.errors import BusyError, CatmemError, DamagedError, StoreError

if TYPE_CHECKING:
    from sqlalchemy import ClauseElement, Dialect
    from sqlalchemy.pool import PoolProxiedConnection

    from catmem.plugins.sql.sqlite_file import DatabaseFile

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
        """``error`` is the driver's own."""
        super().__init__(str(error))
        self.is_lost = is_lost
        self.is_connecting = is_connecting
        self.code: int | None = getattr(error, "sqlite_errorcode", None)
        self.state: str | None = getattr(error, "sqlstate", None)


class TransientError(Exception):
    """The database asks to try again. Nothing was written; ``error`` is for when that was often enough."""

    def __init__(self, error: CatmemError, *, patience: float | None = None) -> None:
        """``error`` says that nothing was written; ``patience`` is in seconds, where trying longer makes no sense."""
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
        return StoreError(
            f"the database file cannot be opened: {said}",
            code="not_available",
            path=name,
            hint=f"{_NOTHING} Its folder must be there, and may be written; 'store' in catmem.yaml says the path.",
        )
    return StoreError(f"the database says: {said}", path=name, hint=f"{_NOTHING} 'catmem fsck' looks the store over.")


def fault_in_commit(error: DriverError, name: str, op_id: str | None) -> CatmemError | TransientError:
    """What a commit that failed means. Where the connection was lost, it is unknown whether it was made."""
    if not error.is_lost:
        return fault_of(error, name)
    again = f"Repeat it with the op_id {op_id!r}" if op_id else "Read again before you repeat it"
    return StoreError(
        "the connection to the database was lost in the very moment of a commit",
        code="connection_lost",
        path=name,
        hint=f"It may have been made or not. {again}: what was made is not made twice.",
    )


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
            own = {name: value for name, value in compiled.params.items() if value is not None}
            known = Compiled(str(compiled), getattr(compiled, "positiontup", None), own)
            self._compiled[dialect.name] = known
        return known


class Compiled(NamedTuple):
    """A statement as text.

    ``order`` are the names of the parameters where the driver knows none; ``own`` are values that it has itself.
    """

    text: str
    order: Sequence[str] | None
    own: Mapping[str, Any]

    def values(self, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a list or a dict, as the driver wants it
        """The values as the driver takes them."""
        values = {**self.own, **given} if self.own else given
        return values if self.order is None else [values[name] for name in self.order]


class Link:
    """A connection, for as long as a transaction or a look. Its methods raise ``DriverError``."""

    def __init__(
        self,
        borrowed: PoolProxiedConnection,
        dialect: Dialect,
        tables: tuple[Any, ...] | None,
        file: DatabaseFile | None,
    ) -> None:
        """Only ``Database`` makes them. ``file`` is that of SQLite."""
        self.borrowed = borrowed
        self.dialect = dialect
        self.tables = tables
        """As what the tables were known when it was begun: see ``schema.Readiness``."""
        driver: Any = borrowed.driver_connection
        self.driver = driver
        self.file = file
        self.revisions: int | None = None
        """How many revisions the store has when this is committed, if it makes any."""
        self._cursor: Any = driver.cursor()  # one for all: what a statement finds is read before the next one
        self.is_lost = False
        self.op_id: str | None = None
        """The op_id of what is about to be committed, for the message if the connection is lost then."""

    def rows(self, statement: Statement, **values: Any) -> Sequence[Sequence[Any]]:  # noqa: ANN401 - columns
        """Run a query, and give all that it finds."""
        with self._faults():
            self._execute(statement, values)
            return self._cursor.fetchall()  # type: ignore[no-any-return]

    def first(self, statement: Statement, **values: Any) -> Sequence[Any] | None:  # noqa: ANN401 - columns
        """Run a query, and give the first row of what it finds."""
        found = self.rows(statement, **values)
        return found[0] if found else None

    def run(self, statement: Statement, **values: Any) -> int:  # noqa: ANN401 - columns
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
        compiled = statement.on(self.dialect)
        with self._faults():
            self._cursor.executemany(compiled.text, [compiled.values(each) for each in values])
            return int(self._cursor.rowcount)

    def text(self, statement: str) -> Sequence[Sequence[Any]]:
        """Run a statement without values, and give all that it finds."""
        with self._faults():
            self._cursor.execute(statement)
            return self._all()

    def commit(self) -> None:
        """End a transaction that was begun, so that it stays."""
        with self._faults():
            if self.dialect.name == "sqlite":
                self._cursor.execute("COMMIT")
            else:
                self.driver.commit()

    def _execute(self, statement: Statement, values: Mapping[str, Any]) -> None:
        compiled = statement.on(self.dialect)
        self._cursor.execute(compiled.text, compiled.values(values))

    def _all(self) -> Sequence[Sequence[Any]]:
        return self._cursor.fetchall() if self._cursor.description else []

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except self.dialect.loaded_dbapi.Error as error:
            raise self._fault(error) from error

    def _fault(self, error: Exception) -> DriverError:
        """What the driver raised, which may mean that the connection is gone."""
        dbapi = self.dialect.loaded_dbapi
        # In the middle of a reset psycopg sees the end and libpq does not yet. What the server says has a SQLSTATE.
        is_torn = self.dialect.name == "postgresql" and isinstance(error, dbapi.OperationalError) and not error.sqlstate
        self.is_lost = is_torn or self.dialect.is_disconnect(error, self.driver, None)  # type: ignore[arg-type]
        return DriverError(error, is_lost=self.is_lost)

    def end(self) -> None:
        """Leave the connection to the next caller, without a transaction."""
        driver = self.driver
        if self.is_lost:
            return
        if driver.in_transaction if self.dialect.name == "sqlite" else driver.pgconn.transaction_status:
            self.take_back()

    def take_back(self) -> None:
        """Take back what was begun; a connection on which that fails is closed, with all that it began."""
        try:
            if not self.is_lost:
                self.driver.rollback()
        except self.dialect.loaded_dbapi.Error:
            self.is_lost = True
        if self.is_lost:
            self.borrowed.invalidate()
