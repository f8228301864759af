"""The SQL store: each entity is rows of a table that other programs may edit, and its history lies in tables beside.

``docs/sql.md`` tells how to use it. Reading takes no lock. Writing is one transaction on the locked entity: what others
did to the rows is taken in first, then comes the caller's update, then the record.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from catmem.digest import bytes_digest
from catmem.errors import BusyError, DriftError, StoreError
from catmem.plugins.sql import entry_rows, log_rows, sql_upkeep
from catmem.plugins.sql.connections import Database, Link, TransientError
from catmem.plugins.sql.log_rows import Base, Heads, LogHistory, LogStep, Meta, chain_start, columns_of
from catmem.plugins.sql.row_commit import SqlCommit
from catmem.plugins.sql.tables import ChangedTablesError, Readiness, version_of
from catmem.store.contract import (
    Anchor,
    Change,
    Erased,
    Erasure,
    Fault,
    Feature,
    FolderReport,
    Kept,
    LastingStore,
    Revision,
    Rows,
    Snapshot,
    Update,
    not_empty,
    refuse_unsound,
    unknown_revision,
)
from catmem.store.table_rows import Codec, keep_rows

TIMEOUT = 10.0
"""Seconds that a write waits for others, and is begun again where the database asks for it."""

_CHANGES_NOTHING = "INSERT INTO mem_log SELECT * FROM mem_log WHERE 1 = 0"
_FIRST_WAIT, _LONGEST_WAIT = 0.005, 0.25

_Result = TypeVar("_Result")


class SqlStore(LastingStore):
    """Entities in a database. Safe to use from several threads, processes and, with PostgreSQL, hosts at once."""

    def __init__(
        self, url: str, codec: Codec, *, folder: Path | None = None, root: Path | None = None, timeout: float = TIMEOUT
    ) -> None:
        """``url`` is ``sqlite:///PATH`` or ``postgresql://…``; ``folder`` is where rows that others changed are kept.

        ``root`` keeps that it has this database, so that no other one is made in its place.
        Nothing is opened before it is needed. Raises ``StoreError`` for what is no such URL.
        """
        self._database = Database(url, timeout=timeout, root=root)
        self.ready = Readiness(self._database)
        self.codec = codec
        self.folder = folder
        self._timeout = timeout
        self.heads = Heads()

    @property
    def name(self) -> str:
        """The database as messages name it: without user and password."""
        return self._database.name

    def place(self, entity: str) -> str:
        """An entity as messages name it, such as ``sqlite:trinity/user``."""
        return f"{self._database.kind}:{entity}"

    def history_place(self, entity: str) -> Path:
        """The same: the history is in the same database."""
        return Path(self.place(entity))

    # --- reading ------------------------------------------------------------------------------------------------

    def peek(self, entity: str) -> bytes:
        """What the rows say now."""
        return self.read(entity).data

    def read(self, entity: str, revision: str | None = None) -> Snapshot:
        """What the rows say now, or what was recorded as ``revision``."""
        return self._again(lambda: self._read(entity, revision))

    def _read(self, entity: str, revision: str | None) -> Snapshot:
        if revision == "0":
            return Snapshot.from_bytes(b"", "0")
        if not self.ready.to_read():
            if revision is not None:
                raise unknown_revision(entity, revision)
            return Snapshot.from_bytes(b"", "0")
        if revision is not None:
            with self._database.reading() as link:
                return LogHistory(link, entity).snapshot(revision)
        with self._database.looking() as link:
            there = log_rows.look(link, entity)
        data = self.heads.known.get(there.digest) if there.head else b""
        if data is None or there.is_drifted or not self.ready.is_counted:
            with self._database.reading() as link:
                there = log_rows.look(link, entity)
                data = self.heads.data(link, entity, there)
                if there.is_drifted or not self.ready.is_counted:
                    return self._unrecorded(link, entity, there, data)
        return Snapshot(data, str(there.revision), there.digest or bytes_digest(data))

    def _unrecorded(self, link: Link, entity: str, there: Meta, head: bytes) -> Snapshot:
        """What an external change made of the rows, without rows that are no entries, which ``verify`` reports."""
        rows = entry_rows.found_rows(link, entity, self.codec)
        data = self.codec.edited(entity, head, rows).data
        if data == head:
            return Snapshot(head, str(there.revision), there.digest or bytes_digest(head))
        return Snapshot.from_bytes(data, None)

    def head(self, entity: str) -> Revision | None:
        """The newest recorded revision."""
        return self._found(lambda link: LogHistory(link, entity).head(), at_once=True)

    def entities(self) -> Sequence[str]:
        """The entities that have a revision."""
        known = self._found(log_rows.look_at_all, at_once=True) or {}
        return sorted(entity for entity, there in known.items() if there.sequence)

    def log(self, entity: str) -> Iterator[Revision]:
        """The recorded revisions, the newest first."""
        before, most = 1 << 62, log_rows.FIRST_PAGE
        look = log_rows.page_before
        while page := self._found(partial(look, entity=entity, sequence=before, most=most), at_once=True):
            yield from page
            before, most = page[-1].sequence, min(log_rows.PAGE, 4 * most)

    def branches(self, entity: str) -> Sequence[Revision]:
        """The head, and the branches that nothing follows, the newest first."""

        def look(link: Link) -> list[Revision]:
            head = (past := LogHistory(link, entity)).head()
            return [*([head] if head else []), *past.tips()]

        return self._found(look) or []

    def replay(self, entity: str) -> Iterator[tuple[Revision, bytes]]:
        """Every revision with its bytes, the oldest first."""
        for step, _, data in log_rows.contents(entity, self._steps(entity)):
            yield step.revision, data

    def _steps(self, entity: str) -> Iterator[LogStep]:
        after = -1
        while page := self._found(partial(log_rows.page_after, entity=entity, sequence=after), at_once=True):
            yield from page
            after = page[-1].revision.sequence

    def _found(self, look: Callable[[Link], _Result], *, at_once: bool = False) -> _Result | None:
        """What a look finds, whose statements all see one state; ``None`` where there are no tables.

        ``at_once`` is for a look with a single statement.
        """

        def once() -> _Result | None:
            if not self.ready.to_read():
                return None
            with self._database.looking() if at_once else self._database.reading() as link:
                return look(link)

        return self._again(once)

    # --- writing ------------------------------------------------------------------------------------------------

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        """Write what ``update`` makes of the entity; see ``Store.commit``."""
        return self._again(lambda: self._commit(entity, expected, update, change))

    def _commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        self.ready.to_write()
        for distrusts in (False, True, True):
            try:
                with self._database.writing() as link:
                    making = SqlCommit(self, link, entity, change, distrusts=distrusts)
                    answer = making.run(expected, update)
            except entry_rows.UncountedError:
                continue  # all was taken back; the rows are compared as a whole now
            if answer is None:
                raise making.refusal or AssertionError("a commit gave no answer")
            return answer
        raise BusyError(f"another program keeps changing the rows of {entity}", hint="Nothing was written. Try again.")

    def import_history(self, entity: str, history: Iterable[tuple[Revision, bytes]]) -> int:
        """Take over a whole history, in one transaction: all of it or nothing.

        It is not begun again if the database asks for that, since a history may be read only once.
        """

        def once() -> int:
            start = self.ready.to_write()
            with self._database.writing() as link:
                return self._bring(link, entity, history, chain_start(start, entity))

        return self._again(once, waits=False)

    def _bring(self, link: Link, entity: str, given: Iterable[tuple[Revision, bytes]], chain: str) -> int:
        there = log_rows.lock(link, entity)
        if there.sequence or there.is_drifted or entry_rows.found_rows(link, entity, self.codec):
            raise not_empty(entity)
        after, head, base = there._replace(chain=chain), b"", None
        last: Revision | None = None
        for sequence, (said, data) in enumerate(given, 1):
            refuse_unsound(entity, said, data)
            last = replace(said, entity=entity, sequence=sequence, size=len(data))
            step = log_rows.next_step(last, data, None if last.is_branch else base, after.chain)
            link.run(log_rows.APPEND, **columns_of(step))
            after = after.followed_by(step)
            if not last.is_branch:
                head, base = data, Base(sequence, step.depth, data)
        if last is None:
            return 0
        entry_rows.settle(link, entity, [], self.codec.rows(entity, head))
        log_rows.record(link, there, after, last)
        return after.sequence

    def _again(self, work: Callable[[], _Result], *, waits: bool = True) -> _Result:
        """Do something, again where the database asks for it, until it took too long; once if it never ``waits``."""
        longest = self._timeout if waits else 0.0
        start, wait = time.monotonic(), _FIRST_WAIT
        while True:
            try:
                return work()
            except TransientError as error:
                if isinstance(error, ChangedTablesError):
                    self.ready.forget()
                most = longest if error.patience is None else min(error.patience, longest)
                if time.monotonic() - start >= most:
                    raise error.error from error
            time.sleep(random.uniform(wait / 2, wait))  # noqa: S311 - so that those who wait do not meet again
            wait = min(2 * wait, _LONGEST_WAIT)

    # --- upkeep -------------------------------------------------------------------------------------------------

    def verify(self, entity: str | None = None) -> list[Fault]:
        """Look at every record, digest and row of the database; with ``entity`` leave out the faults of others."""
        if not self._again(self.ready.to_read):
            return []
        found = self._again(partial(sql_upkeep.look_over, self._database, self.codec, self._steps))
        return found if entity is None else [each for each in found if each.path in {None, self.place(entity)}]

    def mend(self) -> list[str]:
        """Make the triggers again, and take in uncounted changes of the rows.

        A database that lost its end, or is another one, is taken as it is from now on; that is said too.
        Rows that are no entries stay as they are, and that is said.
        """
        done = self._again(self.ready.accepted)
        if not self._again(self.ready.to_read):
            return []
        self.ready.forget()
        self._again(self.ready.to_write)
        for entity in self._again(self._with_rows):
            try:
                done += self._again(partial(self._take_in, entity))
            except DriftError as error:
                done.append(f"{entity}: left as it is, {error.message}")
        return done

    def _with_rows(self) -> list[str]:
        with self._database.looking() as link:
            known = (entity for entity, there in log_rows.look_at_all(link).items() if there.sequence)
            return sorted({*known, *entry_rows.entities(link)})

    def _take_in(self, entity: str) -> list[str]:
        self.ready.to_write()
        with self._database.writing() as link:
            said = SqlCommit(self, link, entity, Change(), distrusts=True).take_in()
        return [said] if said else []

    def rows(self) -> Mapping[str, int]:
        """How many rows each entity has, of any writer."""
        return self._found(sql_upkeep.count_rows, at_once=True) or {}

    def all_rows(self) -> Rows:
        """All rows as they are now, with all their columns."""
        return self._found(sql_upkeep.all_rows) or Rows([], {})

    def generations(self) -> Mapping[str, tuple[int, int]]:
        """Of each entity how often its rows were changed, by the last record and by now."""
        return self._found(log_rows.generations, at_once=True) or {}

    def has_had(self, entity: str, digest: str) -> bool:
        """Whether a revision of an entity has the bytes with this digest."""
        return self._found(lambda link: LogHistory(link, entity).with_digest(digest)) is not None

    def bad_rows(self, entity: str) -> Sequence[tuple[int, str]]:
        """The rows of an entity that are no entries, by their ids, and what is wrong with each."""

        def look(link: Link) -> Sequence[tuple[int, str]]:
            there = log_rows.look(link, entity)
            if not there.is_drifted and self.ready.is_counted:
                return []
            head = self.heads.data(link, entity, there)
            return self.codec.edited(entity, head, entry_rows.found_rows(link, entity, self.codec)).bad

        return self._found(look) or []

    def anchors(self) -> Iterator[tuple[Path, Anchor]]:
        """The end of each entity's log, small enough to be kept elsewhere."""
        found = self._found(lambda link: (version_of(link), log_rows.look_at_all(link)))
        version, known = found or (None, {})
        store = "" if version is None else version[1]
        for entity, there in known.items():
            if there.sequence:
                line: Anchor = {"store": f"{store}/{entity}", "sequence": there.sequence, "line": there.chain}
                yield Path(self.place(entity)), line

    def holds(self, anchor: Anchor) -> bool:
        """Whether the log of the entity still holds the record that an anchor names."""
        store, _, entity = anchor["store"].partition("/")

        def look(link: Link) -> bool:
            found = version_of(link)
            return (
                found is not None
                and found[1] == store
                and LogHistory(link, entity).chain(anchor["sequence"]) == anchor["line"]
            )

        return bool(self._found(look))

    def backup(self, entity: str) -> Path:
        """Keep a copy of the rows as they are now, and say where. Raises ``StoreError``."""
        if self.folder is None:
            raise StoreError("this store has no folder for copies", code="not_writable", hint="Open it with one.")
        found = self.all_rows()
        rows = [row for row in found.rows if row["entity"] == entity]
        return keep_rows(self.folder, entity, Rows(rows, {entity: found.generations.get(entity, (0, 0))}))

    def kept(self, entity: str) -> Iterator[Kept]:
        """What copies of rows say of an entity, each as a memory file."""
        if self.folder is not None:
            yield from sql_upkeep.kept(self.folder, entity, self.codec)

    def erase(self, entity: str, erasure: Erasure) -> Erased:
        """Erase from the history and the copies of an entity, once the entity itself no longer has it."""
        start = chain_start(self._again(self.ready.to_write), entity)
        removed = () if self.folder is None else sql_upkeep.erase_copies(self.folder, entity, self.codec, erasure)
        count = self._again(lambda: sql_upkeep.erase_log(self._database, entity, self._steps(entity), erasure, start))
        self.heads.clear()
        left = self._again(lambda: sql_upkeep.clean_up(self._database, entity))
        return Erased(count, (), tuple(removed), tuple(left))

    def examine(self) -> Sequence[FolderReport]:
        """What the database gives the store, or why it gives nothing."""
        try:
            version, features = self._again(partial(sql_upkeep.examine, self._database))
        except StoreError as error:
            note = f"{error.message}. {error.hint or ''}".strip()
            return [FolderReport(self.name, "", (), store=False, records=None, note=note)]
        writes = Feature("writes", there=True, means="the user who runs this may write here")
        try:
            self.check_writable()
        except StoreError as error:
            writes = Feature("writes", there=False, means=f"{error.message}: nothing is written here")
        records = sum(end["sequence"] for _, end in self.anchors())
        return [FolderReport(self.name, version, (writes, *features), store=True, records=records, note=None)]

    def check_writable(self, entities: Iterable[str] = ()) -> None:
        """Raise ``StoreError`` where the database takes no writes: a transaction that changes nothing is tried."""
        del entities  # all are in one database

        def look() -> None:
            if self.ready.to_read():
                with self._database.writing() as link:
                    link.text(_CHANGES_NOTHING)

        with suppress(BusyError):  # another program writes at this moment
            self._again(look)

    def close(self) -> None:
        """Close all connections; the next call opens others."""
        self._database.close()
