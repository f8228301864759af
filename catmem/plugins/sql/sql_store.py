"""The SQL store: each entity is rows of a table that other programs may edit, and its history lies in tables beside.

``docs/sql.md`` tells how to use it. Reading takes no lock. Writing is one transaction on the locked entity: what others
did to the rows is taken in first, then comes the caller's update, then the record.
"""

from __future__ import annotations

import logging
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from catmem import clock
from catmem.config.config import Config, expand_user
from catmem.digest import bytes_digest
from catmem.errors import BusyError, DriftError, NoMatchError, RefusedError, StoreError
from catmem.plugins.sql import entry_rows, log_rows, sql_upkeep
from catmem.plugins.sql.connections import Database, DriverError, Link, TransientError, new_schema
from catmem.plugins.sql.log_rows import Heads, LogHistory, LogStep, Meta, chain_start, columns_of, next_step
from catmem.plugins.sql.sql_upkeep import find_copy, keep_rows
from catmem.plugins.sql.sqlite_file import FileMark, left_databases
from catmem.plugins.sql.tables import ChangedTablesError, Readiness, version_of
from catmem.store import contract
from catmem.store.contract import (
    EXTERNAL,
    Anchor,
    Change,
    Current,
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
    Store,
    Update,
)
from catmem.store.judgement import KnownRevision, KnownState, complete, drifted, judge, last_own, point_of, unread
from catmem.workspace.rows import RowCodec
from catmem.workspace.stores import Backend, Opening, tier_of

TIMEOUT = 10.0
"""Seconds that a write waits for others, and is begun again where the database asks for it."""

_CHANGES_NOTHING = "INSERT INTO mem_log SELECT * FROM mem_log WHERE 1 = 0"
_FIRST_WAIT, _LONGEST_WAIT = 0.005, 0.25

_Result = TypeVar("_Result")


class SqlStore(LastingStore):
    """Entities in a database. Safe to use from several threads, processes and, with PostgreSQL, hosts at once."""

    def __init__(
        self,
        url: str,
        codec: RowCodec,
        *,
        folder: Path | None = None,
        root: Path | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        """``folder`` is where rows that others changed are kept; ``root`` keeps that it has this database."""
        self._database = Database(url, timeout=timeout, root=root)
        self.ready = Readiness(self._database)
        self.codec = codec
        self.folder = folder
        self._timeout = timeout
        self.heads = Heads()

    @property
    def name(self) -> str:
        return self._database.name

    def place(self, entity: str) -> str:
        """An entity as messages name it, such as ``sqlite:trinity/user``."""
        return f"{self._database.kind}:{entity}"

    def history_place(self, entity: str) -> Path:
        return Path(self.place(entity))

    # --- reading ------------------------------------------------------------------------------------------------

    def peek(self, entity: str) -> bytes:
        return self.read(entity).data

    def read(self, entity: str, revision: str | None = None) -> Snapshot:
        return self._again(lambda: self._read(entity, revision))

    def _read(self, entity: str, revision: str | None) -> Snapshot:
        if revision == "0":
            return Snapshot.from_bytes(b"", "0")
        if not self.ready.to_read():
            if revision is not None:
                raise contract.unknown_revision(entity, revision)
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
        return self._found(lambda link: LogHistory(link, entity).head(), at_once=True)

    def entities(self) -> Sequence[str]:
        known = self._found(log_rows.look_at_all, at_once=True) or {}
        return sorted(entity for entity, there in known.items() if there.sequence)

    def log(self, entity: str) -> Iterator[Revision]:
        before, most = 1 << 62, log_rows.FIRST_PAGE
        look = log_rows.page_before
        while page := self._found(partial(look, entity=entity, sequence=before, most=most), at_once=True):
            yield from page
            before, most = page[-1].sequence, min(log_rows.PAGE, 4 * most)

    def branches(self, entity: str) -> Sequence[Revision]:
        def look(link: Link) -> list[Revision]:
            head = (past := LogHistory(link, entity)).head()
            return [*([head] if head else []), *past.tips()]

        return self._found(look) or []

    def replay(self, entity: str) -> Iterator[tuple[Revision, bytes]]:
        for step, _, data in log_rows.contents(entity, self._steps(entity)):
            yield step.revision, data

    def _steps(self, entity: str) -> Iterator[LogStep]:
        after = -1
        while page := self._found(partial(log_rows.page_after, entity=entity, sequence=after), at_once=True):
            yield from page
            after = page[-1].revision.sequence

    def _found(self, look: Callable[[Link], _Result], *, at_once: bool = False) -> _Result | None:
        """What a look finds, in one state or by one statement (``at_once``); ``None`` where there are no tables."""

        def once() -> _Result | None:
            if not self.ready.to_read():
                return None
            with self._database.looking() if at_once else self._database.reading() as link:
                return look(link)

        return self._again(once)

    # --- writing ------------------------------------------------------------------------------------------------

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
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
        """Take over a history, all or nothing; never begun again, since it may be read only once."""

        def once() -> int:
            start = self.ready.to_write()
            with self._database.writing() as link:
                return self._bring(link, entity, history, chain_start(start, entity))

        return self._again(once, waits=False)

    def _bring(self, link: Link, entity: str, given: Iterable[tuple[Revision, bytes]], start: str) -> int:
        there = after = log_rows.lock(link, entity, start)
        if there.sequence or there.is_drifted or entry_rows.found_rows(link, entity, self.codec):
            raise contract.not_empty(entity)
        head, last = b"", None
        for sequence, (said, data) in enumerate(given, 1):
            contract.refuse_unsound(entity, said, data)
            last = replace(said, entity=entity, sequence=sequence, size=len(data))
            step = next_step(last, data, after, head)
            link.run(log_rows.APPEND, **columns_of(step))
            after = after.followed_by(step)
            head = head if last.is_branch else data
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
        """Make the triggers again, take in uncounted changes, and take a database that lost its end as it is."""
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
        return self._found(sql_upkeep.count_rows, at_once=True) or {}

    def all_rows(self) -> Rows:
        return self._found(sql_upkeep.all_rows) or Rows([], {})

    def generations(self) -> Mapping[str, tuple[int, int]]:
        return self._found(log_rows.generations, at_once=True) or {}

    def has_had(self, entity: str, digest: str) -> bool:
        return self._found(lambda link: LogHistory(link, entity).with_digest(digest)) is not None

    def bad_rows(self, entity: str) -> Sequence[tuple[int, str]]:
        def look(link: Link) -> Sequence[tuple[int, str]]:
            there = log_rows.look(link, entity)
            if not there.is_drifted and self.ready.is_counted:
                return []
            head = self.heads.data(link, entity, there)
            return self.codec.edited(entity, head, entry_rows.found_rows(link, entity, self.codec)).bad

        return self._found(look) or []

    def anchors(self) -> Iterator[tuple[Path, Anchor]]:
        found = self._found(lambda link: (version_of(link), log_rows.look_at_all(link)))
        version, known = found or (None, {})
        store = "" if version is None else version[1]
        for entity, there in known.items():
            if there.sequence:
                line: Anchor = {"store": f"{store}/{entity}", "sequence": there.sequence, "line": there.chain}
                yield Path(self.place(entity)), line

    def holds(self, anchor: Anchor) -> bool:
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
        if self.folder is None:
            raise StoreError("this store has no folder for copies", code="not_writable", hint="Open it with one.")
        found = self.all_rows()
        rows = [row for row in found.rows if row["entity"] == entity]
        return keep_rows(self.folder, entity, Rows(rows, {entity: found.generations.get(entity, (0, 0))}))

    def kept(self, entity: str) -> Iterator[Kept]:
        if self.folder is not None:
            yield from sql_upkeep.kept(self.folder, entity, self.codec)

    def erase(self, entity: str, erasure: Erasure) -> Erased:
        start = chain_start(self._again(self.ready.to_write), entity)
        removed = () if self.folder is None else sql_upkeep.erase_copies(self.folder, entity, self.codec, erasure)
        count = self._again(lambda: sql_upkeep.erase_log(self._database, entity, self._steps(entity), erasure, start))
        self.heads.clear()
        left = self._again(lambda: sql_upkeep.clean_up(self._database, entity))
        return Erased(count, (), tuple(removed), tuple(left))

    def examine(self) -> Sequence[FolderReport]:
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
        self._database.close()


LOG = logging.getLogger("catmem.plugins.sql")

_AnyRefusal = TypeVar("_AnyRefusal", bound=RefusedError)


class SqlCommit:
    def __init__(self, store: SqlStore, link: Link, entity: str, change: Change, *, distrusts: bool = False) -> None:
        """``distrusts``: the rows are compared though no change of them was counted."""
        self.link = link
        self.entity = entity
        self.change = change
        self.codec = store.codec
        self.heads = store.heads
        self.folder = store.folder
        self.name = store.place(entity)
        self.past = LogHistory(link, entity)
        self.start = chain_start(store.ready.name, entity)
        """With what the chain of the entity begins."""
        self.distrusts = distrusts
        self.meta = log_rows.NEVER
        self.data = b""
        """The bytes of the head."""
        self.before: KnownRevision | None = None
        """The head before this commit found an external change, if it did."""
        self.adopted: str | None = None
        """The revision as which it was recorded."""
        self.kept: Path | None = None
        """The copy that was made of it."""
        self.refusal: BaseException | None = None
        """What stopped the caller's own write; what others wrote is recorded nevertheless."""
        self.begun = False
        """Whether its own write was begun."""

    def run(self, expected: str | None, update: Update) -> Snapshot | None:
        """Make the commit; ``None`` if it was refused after something was adopted, which is to be kept."""
        self.meta = log_rows.lock(self.link, self.entity, self.start)
        first = self.past.operation(self.change.agent, self.change.op_id) if self.change.op_id else None
        if first and contract.is_retry(first, self.change):
            return replace(self.past.snapshot(first.revision), branch=first.is_branch)
        for merged in self.change.merges:
            self._refuse_unknown(merged)
        if expected is not None and expected != "0" and not expected.startswith("sha256:"):
            self._refuse_unknown(expected)
        if self.meta.head and self.heads.checked.get(self.entity) != self.meta.chain:
            self.past.check(self.meta.head, self.start)
        self.data = self.heads.data(self.link, self.entity, self.meta)
        if self.meta.is_drifted or self.distrusts:
            self._adopt()
        try:
            return self._write(expected, update)
        except (DriverError, StoreError):
            raise
        except BaseException as error:
            refusal = self._refusal(error, expected)
            if self.adopted is None or self.begun:
                raise
            self.refusal = refusal
            return None

    def take_in(self) -> str | None:
        """Make the rows and the head one again, whatever was counted; says what was done. Raises ``DriftError``."""
        self.meta = log_rows.lock(self.link, self.entity, self.start)
        self.data = self.heads.data(self.link, self.entity, self.meta)
        rows = entry_rows.found_rows(self.link, self.entity, self.codec)
        if not self.meta.is_drifted and not entry_rows.differ(rows, self.codec.rows(self.entity, self.data)):
            return None
        if not self.meta.sequence:
            # Perhaps of no profile: it stays an external change, which the first write takes in.
            if self.meta.is_drifted:
                return None
            self.link.run(log_rows.CHANGED, name=self.entity)
            return f"{self.entity}: its rows are counted from now on"
        self._adopt()
        if self.adopted is None:
            return f"{self.entity}: the rows show revision {self.meta.revision} again, of which no text had changed"
        copy = "" if self.kept is None else f"; {self.kept} is a copy of the rows"
        return f"{self.entity}: another program changed the rows; that is revision {self.adopted} now{copy}"

    # --- what others wrote --------------------------------------------------------------------------------------

    def _adopt(self) -> None:
        """Take in an external change of the rows, as a revision of its own."""
        rows = entry_rows.found_rows(self.link, self.entity, self.codec)
        edited = self.codec.edited(self.entity, self.data, rows)
        columns = entry_rows.set_back(rows, self.codec.rows(self.entity, self.data))
        if not edited.bad and not columns and edited.data == self.data:
            entry_rows.settle(self.link, self.entity, rows, self.codec.rows(self.entity, self.data))
            self.link.run(log_rows.SEEN, name=self.entity)
            return
        generations = self.meta.recorded, self.meta.generation
        if self.folder is not None:
            self.kept = keep_rows(self.folder, self.entity, sql_upkeep.all_rows(self.link))
        LOG.warning(
            "%s: another program changed its rows%s: expected generation %d, found %d, snapshot at %s",
            self.entity,
            f" ({', '.join(columns)} is set back)" if columns else "",
            *generations,
            self.kept or "no place, since the store has no folder",
        )
        if edited.bad:
            raise _with_rows(self._bad_rows(edited.bad), generations, self.kept)
        if self.meta.revision:
            now = self._now()
            self.before = KnownRevision(str(now.revision), now.digest, self.meta.sequence)
        note: dict[str, Any] = {"generation_observed": generations[0], "generation_actual": generations[1]}
        note |= {"set_back": columns} if columns else {}
        adopting = Change(op="adopt", agent=EXTERNAL, note=note)
        self.data, old = edited.data, self.data
        entry_rows.settle(self.link, self.entity, rows, self.codec.rows(self.entity, self.data))
        self._record(old, self.data, adopting)
        self.adopted = str(self.meta.revision)

    def _bad_rows(self, bad: Sequence[tuple[int, str]]) -> DriftError:
        said = "; ".join(f"row {id_}: {what}" for id_, what in bad[:3])
        return DriftError(
            f"another program wrote rows of {self.entity} that are no entries: {said}",
            code="bad_rows",
            expected=str(self.meta.revision),
            found=f"generation {self.meta.generation}",
            path=self.name,
            hint="Nothing was written. Mend these rows of user_memories, or delete them, with the program that wrote "
            "them; a copy of all rows is kept.",
        )

    # --- the caller's own write ---------------------------------------------------------------------------------

    def _write(self, expected: str | None, update: Update) -> Snapshot:
        now = self._now()
        verdict = judge(expected, self.change, self._known_state(now))
        if verdict.kind == "drift":
            raise drifted(self.entity, self.name, expected, self.before, str(self.meta.revision))
        if verdict.kind == "stale":
            raise contract.stale(self.entity, str(expected), str(now.revision))
        point = verdict.point
        if point is not None and verdict.kind == "branch":
            return self._branch(self.past.snapshot(point.revision), update)
        base = None if point is None else self.past.snapshot(point.revision).data
        data = update(Current(now.data, str(now.revision), base, lambda: unread(self._own())))
        if data == now.data and not self.change.is_always_recorded:
            return now
        changing = self.codec.changed(self.entity, now.data, data)
        self.begun = True
        entry_rows.apply(self.link, self.entity, changing)
        return self._record(now.data, data, self.change)

    def _now(self) -> Snapshot:
        return Snapshot(
            self.data, str(self.meta.revision), self.meta.digest or bytes_digest(self.data), adopted=self.adopted
        )

    def _known_state(self, now: Snapshot) -> KnownState:
        return KnownState(
            now=KnownRevision(str(now.revision), now.digest, self.meta.sequence),
            before=self.before,
            adopted=self.adopted is not None,
            has_text=bool(now.data),
            seen=self._seen,
            external_since=lambda point: self.past.by_agent_since(EXTERNAL, point.sequence) is not None,
            own=lambda: None if (own := self._own()) is None or own.revision == now.revision else point_of(own),
        )

    def _seen(self, expected: str) -> KnownRevision | None:
        find = self.past.with_digest if expected.startswith("sha256:") else self.past.named
        found = find(expected)
        return None if found is None else point_of(found)

    def _own(self) -> Revision | None:
        """The newest head of catmem's own, else the first of all."""
        head = self.past.named(str(self.meta.revision)) if self.meta.revision else None
        return last_own(head, self.past.named)

    def _refusal(self, error: BaseException, expected: str | None) -> BaseException:
        """The error that the caller gets; an external change may have taken away the entry that it means."""
        if isinstance(error, NoMatchError) and self.before is not None:
            error = drifted(self.entity, self.name, expected, self.before, str(self.meta.revision))
        if isinstance(error, RefusedError):
            self._complete(error, expected)
        return error

    def _complete(self, refusal: RefusedError, expected: str | None) -> None:
        own = self._own()
        if not complete(refusal, self.name, own, str(self.meta.revision)) or refusal.drift_backup is not None:
            return
        # The last external change since what the caller saw; without a view that is what catmem wrote last.
        seen = own if expected is None and refusal.code != "not_utf8" else self._seen(expected or "0")
        theirs = self.past.by_agent_since(EXTERNAL, seen.sequence if seen else 0)
        if theirs is not None and "generation_actual" in theirs.note:
            generations = int(theirs.note["generation_observed"]), int(theirs.note["generation_actual"])
            kept = self.kept or (find_copy(self.folder, self.entity, generations) if self.folder else None)
            _with_rows(refusal, generations, kept)

    # --- the record ---------------------------------------------------------------------------------------------

    def _record(self, old: bytes, data: bytes, change: Change) -> Snapshot:
        seen = str(self.meta.revision)
        recorded = self._recorded(str(self.meta.revision + 1), change.parents(seen), data, change)
        self._close(next_step(recorded, data, self.meta, old))
        self.data = data
        self.heads.keep(recorded.digest, data)
        return Snapshot(data, recorded.revision, recorded.digest, adopted=self.adopted)

    def _branch(self, seen: Snapshot, update: Update) -> Snapshot:
        """Keep what ``update`` makes of what the caller saw beside the head."""
        parent = str(seen.revision)
        data = update(Current(seen.data, parent, None))
        if data == seen.data and not self.change.is_always_recorded:
            return Snapshot(seen.data, seen.revision, seen.digest, adopted=self.adopted)
        number = contract.branch_number(parent, str(self.meta.revision))
        name = contract.next_branch(number, self.past.names_of_branches(number))
        recorded = self._recorded(name, self.change.parents(parent), data, self.change)
        self.begun = True
        self._close(next_step(recorded, data, self.meta, b""))
        return Snapshot(data, recorded.revision, recorded.digest, adopted=self.adopted, branch=True)

    def _recorded(self, revision: str, parents: tuple[str, ...], data: bytes, change: Change) -> Revision:
        return Revision(
            entity=self.entity,
            revision=revision,
            parents=parents,
            sequence=self.meta.sequence + 1,
            timestamp=clock.timestamp(clock.now()),
            op=change.op,
            agent=change.agent,
            op_id=change.op_id or uuid4().hex,
            digest=bytes_digest(data),
            size=len(data),
            note=change.recorded_note(),
        )

    def _close(self, step: LogStep) -> None:
        after = self.meta.followed_by(step)
        log_rows.record(self.link, self.meta, after, step.revision, columns_of(step))
        self.meta = after
        self.heads.checked[self.entity] = after.chain
        if step.revision.agent != EXTERNAL:
            self.link.op_id = step.revision.op_id

    def _refuse_unknown(self, revision: str) -> None:
        """Refuse a revision that no caller can have seen: not yet, or never. Later this commit may make it."""
        if revision != str(self.meta.revision) or not self.meta.revision:
            if revision.startswith("sha256:") and self.past.with_digest(revision) is not None:
                return
            if self.past.named(revision) is None:
                raise contract.unknown_revision(self.entity, revision)


def _with_rows(refusal: _AnyRefusal, generations: tuple[int, int], kept: Path | None) -> _AnyRefusal:
    """The refusal with the generation of the rows that was known, the one that was found, and the copy of them."""
    refusal.generation_observed, refusal.generation_actual = generations
    at = "" if kept is None else f", snapshot at {kept}"
    refusal.drift_backup = None if kept is None else str(kept)
    refusal.message += f" (expected generation {generations[0]}, found {generations[1]}{at})"
    refusal.args = (refusal.message,)
    return refusal


_SQLITE = "sqlite:///"
_BEGINNINGS = {b"SQLi", b"7\x7f\x06\x82", b"7\x7f\x06\x83"}
"""Of a database, and of its log."""


def _open_database(opening: Opening, url: str) -> Store:
    config = opening.config
    codec = RowCodec(opening.parse, tier_of(opening.profile))
    return SqlStore(url, codec, folder=config.root, root=config.root if opening.is_own else None)


def _sqlite_url(config: Config) -> str:
    """The URL with a whole path: that in catmem.yaml is taken from the root."""
    path, mark, options = config.store.removeprefix(_SQLITE).partition("?")
    return f"{_SQLITE}{config.root / expand_user(path)}{mark}{options}"


def _sqlite_file(config: Config) -> Path:
    return Path(_sqlite_url(config).removeprefix(_SQLITE).partition("?")[0]).resolve()


def _settling(config: Config) -> Callable[[], None]:
    mark = FileMark(config.root, os.path.abspath(_sqlite_url(config).removeprefix(_SQLITE)))  # noqa: PTH100 - as given
    said = mark.read()
    return lambda: None if said is None else mark.write(*said, only_more=True, is_copied=True)


def _others_below(config: Config) -> dict[str, Path]:
    """The databases of catmem below a root that it does not use. New tables are in the log beside one alone."""
    own = _sqlite_file(config) if config.store.startswith(_SQLITE) else None
    found: dict[str, Path] = {}
    for path in filter(Path.is_file, config.root.rglob("*")):
        file = path.with_name(path.name.removesuffix("-wal"))
        with suppress(OSError), path.open("rb") as opened:  # what this user may not read is no store of this root
            if opened.read(4) in _BEGINNINGS and b"catmem_schema" in opened.read() and file.resolve() != own:
                found[f"{_SQLITE}{file}"] = file
    return found


@contextmanager
def _new_file(config: Config) -> Iterator[str]:
    """A database that does not exist yet, for a moment: it is removed with the files beside it."""
    try:
        yield config.store
    finally:
        for end in ("", "-wal", "-shm"):
            Path(f"{_sqlite_file(config)}{end}").unlink(missing_ok=True)


SQLITE = Backend(
    lambda opening: _open_database(opening, _sqlite_url(opening.config)),
    file=_sqlite_file,
    below=_others_below,
    scratch=_new_file,
    settling=_settling,
    left=left_databases,
)
POSTGRESQL = Backend(
    lambda opening: _open_database(opening, opening.config.store), scratch=lambda config: new_schema(config.store)
)
