"""One commit in a transaction: what others did to the rows, who may go on, the caller's update, the record."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from catmem import clock
from catmem.digest import bytes_digest
from catmem.errors import DriftError, NoMatchError, RefusedError, StoreError
from catmem.plugins.sql import entry_rows, log_rows, sql_upkeep
from catmem.plugins.sql.connections import DriverError, Link
from catmem.plugins.sql.log_rows import Base, LogHistory, LogStep, chain_start, columns_of, next_step
from catmem.store.contract import (
    EXTERNAL,
    Change,
    Current,
    Revision,
    Snapshot,
    Update,
    branch_number,
    next_branch,
    repeated,
    stale,
    unknown_revision,
)
from catmem.store.judgement import KnownRevision, KnownState, complete, drifted, judge, last_own, unread
from catmem.store.table_rows import find_copy, keep_rows

if TYPE_CHECKING:
    from catmem.plugins.sql.sql_store import SqlStore

LOG = logging.getLogger("catmem.plugins.sql")

_AnyRefusal = TypeVar("_AnyRefusal", bound=RefusedError)


def _point(revision: Revision) -> KnownRevision:
    return KnownRevision(revision.revision, revision.digest, revision.sequence)


class SqlCommit:
    """One commit on a locked entity."""

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
        self.meta = log_rows.lock(self.link, self.entity)
        first = self.past.operation(self.change.agent, self.change.op_id) if self.change.op_id else None
        if first and repeated(first, self.change):
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
        """Make the rows and the head one again, whatever was counted; says what was done, if anything was.

        Raises ``DriftError`` if there are rows that are no entries.
        """
        self.meta = log_rows.lock(self.link, self.entity)
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

    def _bad_rows(self, bad: object) -> DriftError:
        said = "; ".join(f"row {id_}: {what}" for id_, what in list(bad)[:3])  # type: ignore[call-overload]
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
            raise stale(self.entity, str(expected), str(now.revision))
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
            own=lambda: None if (own := self._own()) is None or own.revision == now.revision else _point(own),
        )

    def _seen(self, expected: str) -> KnownRevision | None:
        find = self.past.with_digest if expected.startswith("sha256:") else self.past.named
        found = find(expected)
        return None if found is None else _point(found)

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
        """Add a revision to the line of heads."""
        seen = str(self.meta.revision)
        recorded = self._recorded(str(self.meta.revision + 1), change.parents(seen), data, change)
        base = Base(self.meta.head, self.meta.depth, old) if self.meta.head else None
        step = next_step(recorded, data, base, self.meta.chain or self.start)
        self._close(step)
        self.data = data
        self.heads.keep(recorded.digest, data)
        return Snapshot(data, recorded.revision, recorded.digest, adopted=self.adopted)

    def _branch(self, seen: Snapshot, update: Update) -> Snapshot:
        """Keep what ``update`` makes of what the caller saw beside the head."""
        parent = str(seen.revision)
        data = update(Current(seen.data, parent, None))
        if data == seen.data and not self.change.is_always_recorded:
            return Snapshot(seen.data, seen.revision, seen.digest, adopted=self.adopted)
        number = branch_number(parent, str(self.meta.revision))
        name = next_branch(number, self.past.names_of_branches(number))
        recorded = self._recorded(name, self.change.parents(parent), data, self.change)
        self.begun = True
        step = next_step(recorded, data, None, self.meta.chain or self.start)
        self._close(step)
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
                raise unknown_revision(self.entity, revision)


def _with_rows(refusal: _AnyRefusal, generations: tuple[int, int], kept: Path | None) -> _AnyRefusal:
    """The refusal with the generation of the rows that was known, the one that was found, and the copy of them."""
    refusal.generation_observed, refusal.generation_actual = generations
    at = "" if kept is None else f", snapshot at {kept}"
    refusal.drift_backup = None if kept is None else str(kept)
    refusal.message += f" (expected generation {generations[0]}, found {generations[1]}{at})"
    refusal.args = (refusal.message,)
    return refusal
