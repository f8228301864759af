"""The plainest compare-and-swap on a database, right as it stands, and the ways in which people get it wrong.

The checker must take the right one and catch every wrong one. These are the mistakes that a store on SQL is made with; the
store itself is under test beside them (``tests.store.stores``).
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from catmem.store.contract import Change, Current, Revision, Snapshot, Update, sees, stale
from tests.sql import server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TABLES = (
    "CREATE TABLE heads (entity TEXT PRIMARY KEY, revision INTEGER NOT NULL, data TEXT NOT NULL)",
    "CREATE TABLE log (number {serial}, entity TEXT NOT NULL, revision INTEGER NOT NULL, op_id TEXT NOT NULL, data TEXT NOT NULL)",
)
SET_HEAD = "UPDATE heads SET revision = ?, data = ? WHERE entity = ?"
COUNT_HEAD = "UPDATE heads SET revision = revision + 1, data = ? WHERE entity = ? RETURNING revision"
SWAP_HEAD = f"{SET_HEAD} AND revision = ?"
ADD = "INSERT INTO log (entity, revision, op_id, data) VALUES (?, ?, ?, ?)"
TRIES = 50


class Lost(Exception):  # noqa: N818 - no error of anybody's: begin again
    """Somebody else was faster."""


class PlainSql:
    """``connect`` opens a connection in which every statement is a transaction; each thread has one of its own."""

    begin = lasting = serial = ""
    mark = "?"

    def __init__(self, connect: Callable[[], Any], way: Way | None = None) -> None:
        self.connect = connect
        self.way = way or guarded
        self.meeting = threading.Barrier(2)
        self.mine = threading.local()
        self.opened: list[Any] = []
        for table in TABLES:
            self.run(table.format(serial=self.serial))

    def run(self, statement: str, *values: Any, on: Any = None) -> Any:
        if not hasattr(self.mine, "connection"):
            self.mine.connection = self.open()
        connection = on or self.mine.connection
        return connection.execute(statement if self.mark == "?" else statement.replace("?", self.mark), values)

    def open(self) -> Any:
        self.opened.append(self.connect())
        return self.opened[-1]

    def meet(self) -> None:
        """Wait a little for another thread at the same place, so that what may go wrong there does."""
        try:
            self.meeting.wait(0.002)
        except threading.BrokenBarrierError:
            self.meeting.reset()

    def read(self, entity: str, revision: str | None = None) -> Snapshot:
        if self.way is not old_snapshot:
            return self.now(entity)
        if not hasattr(self.mine, "reading"):
            self.mine.reading = self.open()
            self.mine.reading.execute(self.lasting)
        return self.now(entity, self.mine.reading)

    def now(self, entity: str, connection: Any = None) -> Snapshot:
        row = self.run("SELECT revision, data FROM heads WHERE entity = ?", entity, on=connection).fetchone()
        return Snapshot.of(row[1].encode(), str(row[0])) if row else Snapshot.of(b"", "0")

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        for _ in range(TRIES):
            try:
                return self._attempt(entity, expected, update, change)
            except (Lost, *self.again()):
                continue
        raise RuntimeError("nobody got to write")

    def _attempt(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        """Look for an answer that was given before; else make one, in the way of this store."""
        query = "SELECT revision, data FROM log WHERE entity = ? AND op_id = ?"
        first = self.run(query, entity, change.op_id).fetchone()
        if first:
            return Snapshot.of(first[1].encode(), str(first[0]))
        self.run("INSERT INTO heads VALUES (?, 0, '') ON CONFLICT DO NOTHING", entity)
        return self.way(self, Ask(entity, expected, update, change))

    def again(self) -> tuple[type[Exception], ...]:
        """What a database says to one who is to begin again."""
        return ()

    def replay(self, entity: str) -> Iterator[tuple[Revision, bytes]]:
        for revision, op_id, data in self.run(
            "SELECT revision, op_id, data FROM log WHERE entity = ? ORDER BY revision, number", entity
        ).fetchall():
            recorded = Revision(entity, str(revision), (), revision, "", "put", "", op_id, "", len(data))
            yield recorded, data.encode()

    def close(self) -> None:
        for connection in self.opened:
            connection.close()


@dataclass(frozen=True)
class Ask:
    """What a commit is asked for."""

    entity: str
    expected: str | None
    update: Update
    change: Change

    def compare(self, now: Snapshot) -> bytes:
        """The new bytes, if what is there is what was expected."""
        if self.expected is not None and not sees(self.expected, now.revision, now.digest):
            raise stale(self.entity, self.expected, str(now.revision))
        return self.update(Current(now.data, str(now.revision), None))


Way = Callable[[PlainSql, Ask], Snapshot]


class PlainSqlite(PlainSql):
    """SQLite, in a file."""

    begin = "BEGIN IMMEDIATE"
    lasting = "BEGIN"
    serial = "INTEGER PRIMARY KEY"

    @classmethod
    def on(cls, folder: Path, way: Way | None = None) -> PlainSqlite:
        def connect() -> sqlite3.Connection:
            connection = sqlite3.connect(folder / "plain.db", isolation_level=None, timeout=60, check_same_thread=False)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = OFF")
            return connection

        return cls(connect, way)


class PlainPostgresql(PlainSql):
    """PostgreSQL, with its default isolation."""

    begin = "BEGIN"
    lasting = "BEGIN ISOLATION LEVEL REPEATABLE READ"
    serial = "SERIAL PRIMARY KEY"
    mark = "%s"

    @classmethod
    def on(cls, folder: Path, way: Way | None = None) -> PlainPostgresql:  # noqa: ARG003 - as the other one
        url = server.url("plain")
        return cls(lambda: server.admin(url), way)

    def again(self) -> tuple[type[Exception], ...]:
        import psycopg

        return (psycopg.errors.SerializationFailure,)


def guarded(store: PlainSql, ask: Ask) -> Snapshot:
    """The right way: one transaction, which looks under a lock, or swaps only what it looked at."""
    store.run(store.begin)
    try:
        now = store.now(ask.entity)
        data = ask.compare(now)
        number = int(str(now.revision)) + 1
        if not store.run(SWAP_HEAD, number, data.decode(), ask.entity, number - 1).rowcount:
            raise Lost  # noqa: TRY301 - the transaction is taken back in one place
        store.run(ADD, ask.entity, number, ask.change.op_id, data.decode())
        store.run("COMMIT")
    except BaseException:
        store.run("ROLLBACK")
        raise
    return Snapshot.of(data, str(number))


def compared_outside(store: PlainSql, ask: Ask) -> Snapshot:
    """Compares, and only then begins the transaction."""
    now = store.now(ask.entity)
    data = ask.compare(now)
    store.meet()
    number = int(str(now.revision)) + 1
    store.run(store.begin)
    store.run(SET_HEAD, number, data.decode(), ask.entity)
    store.run(ADD, ask.entity, number, ask.change.op_id, data.decode())
    store.run("COMMIT")
    return Snapshot.of(data, str(number))


def unguarded(store: PlainSql, ask: Ask) -> Snapshot:
    """One transaction, but what it looks at is not locked, and what it writes to is not compared: READ COMMITTED allows it."""
    store.run("BEGIN")
    try:
        now = store.now(ask.entity)
        data = ask.compare(now)
        store.meet()
        (number,) = store.run(COUNT_HEAD, data.decode(), ask.entity).fetchone()
        store.run(ADD, ask.entity, number, ask.change.op_id, data.decode())
        store.run("COMMIT")
    except BaseException:
        store.run("ROLLBACK")
        raise
    return Snapshot.of(data, str(number))


def halves(store: PlainSql, ask: Ask) -> Snapshot:
    """Two statements, each a transaction of its own: the log is written even if the head is not."""
    now = store.now(ask.entity)
    data = ask.compare(now)
    store.meet()
    number = int(str(now.revision)) + 1
    store.run(ADD, ask.entity, number, ask.change.op_id, data.decode())
    if not store.run(SWAP_HEAD, number, data.decode(), ask.entity, number - 1).rowcount:
        raise stale(ask.entity, str(ask.expected), store.now(ask.entity).revision or "")
    return Snapshot.of(data, str(number))


def old_snapshot(store: PlainSql, ask: Ask) -> Snapshot:
    """Writes as it should; but who reads does so in a transaction that stays open: a snapshot of its first read."""
    if hasattr(store.mine, "reading") and int(str(store.now(ask.entity).revision)) % 10 == 0:
        store.mine.reading.execute("COMMIT")
        del store.mine.reading
    return guarded(store, ask)


def answered_early(store: PlainSql, ask: Ask) -> Snapshot:
    """Answers before it commits, which it does when the next write comes."""
    with SLOWLY:
        waiting = getattr(store, "waiting", None)
        if waiting is not None:
            guarded(store, waiting)
            store.waiting = None  # type: ignore[attr-defined]
        now = store.now(ask.entity)
        data = ask.compare(now)
        store.waiting = Ask(ask.entity, None, lambda _: data, ask.change)  # type: ignore[attr-defined]
        return Snapshot.of(data, str(int(str(now.revision)) + 1))


SLOWLY = threading.Lock()


def swallowed(store: PlainSql, ask: Ask) -> Snapshot:
    """Takes no notice of how many rows it changed."""
    now = store.now(ask.entity)
    data = ask.compare(now)
    store.meet()
    number = int(str(now.revision)) + 1
    store.run(store.begin)
    if store.run(SWAP_HEAD, number, data.decode(), ask.entity, number - 1).rowcount:
        store.run(ADD, ask.entity, number, ask.change.op_id, data.decode())
    store.run("COMMIT")
    return Snapshot.of(data, str(number))


BROKEN_SQL: dict[Way, set[str]] = {
    compared_outside: {"lost", "swap"},
    unguarded: {"swap"},
    halves: {"foreign"},
    old_snapshot: {"order"},
    answered_early: {"order", "lost"},
    swallowed: {"lost"},
}
"""Each wrong way, and the codes of which it must be caught by one."""

SQLITE_FORBIDS = {unguarded}
"""What SQLite does not let anybody do: a transaction that read may not write over what has come since."""
