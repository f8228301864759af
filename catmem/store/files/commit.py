"""One commit on a locked folder: a leased look, who may go on, the caller's update, and a publication."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from catmem.digest import bytes_digest
from catmem.errors import BusyError, DriftError, RefusedError
from catmem.store.contract import (
    EXTERNAL,
    Change,
    Current,
    Revision,
    Snapshot,
    Update,
    branch_number,
    is_retry,
    next_branch,
    stale,
    unknown_revision,
)
from catmem.store.files.external_changes import ExternalWriters
from catmem.store.files.folder import Folder
from catmem.store.files.journal import Journal
from catmem.store.files.observed_file import ObservedFile, look_at
from catmem.store.files.records import Record, RecordDraft, branch_name
from catmem.store.files.system import store_errors
from catmem.store.judgement import (
    NOTHING,
    KnownRevision,
    KnownState,
    complete,
    drifted,
    judge,
    last_own,
    name_copy,
    unread,
)

if TYPE_CHECKING:
    from catmem.store.files.file_store import FileStore


_REAP_EVERY = 128
_SHOWN = ("revision", "parents", "sequence", "timestamp", "op", "agent", "op_id", "size", "note")
"""What a record and a revision have alike."""


class FileCommit:
    """One commit on a locked folder."""

    def __init__(self, store: FileStore, folder: Folder, name: str, entity: str, change: Change) -> None:
        """``store`` says how to publish and to merge; ``change`` what the caller says of its write."""
        self.folder = folder
        self.name = name
        self.path = str(folder.file_path(name))
        self.entity = entity
        self.change = change
        self.journal = folder.writable_journal
        self.publication = store._publish(folder, name)  # noqa: SLF001 - this is the store's own other half
        self.writers = ExternalWriters(self.publication, store._merge)  # noqa: SLF001
        self.before: Record | None = None
        """The record that the journal ended with before this commit found an external writer's text, if it found
        one."""
        self.adopted: str | None = None
        """The revision as which this commit recorded an external writer's text, if it found one."""
        self.begun = False
        """Whether its own write was begun."""
        self.mine: Snapshot | None = None
        """What this commit wrote, once it is in place."""

    def run(self, expected: str | None, update: Update) -> Snapshot:
        """Make the commit; see ``Store.commit``."""
        made = self.change.agent, self.change.op_id or ""
        first = made[1] and (self.journal.operation(*made, file=self.name) or self.journal.operation(*made))
        if first and is_retry(revision_of(self.entity, first), self.change):
            return self._answered(first)
        self._refuse_unknown(expected)
        for merged in self.change.merges:
            if self.journal.find(self.name, merged) is None:
                raise unknown_revision(self.entity, merged)
        for _ in self.writers.adopt_late_writes():
            self.adopted = next((each.revision for each in self._records() if each.agent == EXTERNAL), None)
        while (done := self._attempt(expected, update)) is None:
            if self.folder.out_of_patience():
                raise BusyError(
                    "another program keeps writing to this file",
                    path=self.path,
                    hint="Nothing was written. Try again when they are done.",
                )
        return done

    def _attempt(self, expected: str | None, update: Update) -> Snapshot | None:
        """One try; ``None`` if another write came between the look and the commit point."""
        head = self.journal.head(self.name)
        with closing(look_at(self.folder, self.name, self.journal.head_data(self.name))) as sight:
            visible = self.writers.adopt(sight, head)
            if visible is not None and visible is not head:
                self.adopted = visible.revision
                self.before = self.before or head
            revision = visible.revision if visible else "0"
            data = self._make(expected, update, sight, visible)
            if isinstance(data, Snapshot):
                return data
            self.begun = True
            published = self.publication.put(sight, data, self._draft(self.writers.next_revision(), revision))
        if published is None:
            self.begun = False
            return None
        mine = self.mine = Snapshot(data, published.record.revision, published.record.head, self.adopted)
        if not published.external:
            self._reap(published.record)
            return mine
        try:
            last = self.writers.adopt_all(published.external, published.record)
        except RefusedError:
            # This write is in place. What the external writers wrote is recorded, and the next write joins the two.
            return mine
        if "not_merged" in last.note:
            raise DriftError(
                f"another program replaced the file at the very moment of this write, which is kept as revision "
                f"{published.record.revision} and is not in the file",
                expected=revision,
                found=last.revision,
                path=self.path,
                hint=f"Look at both with 'catmem diff {self.entity}', and repeat the change on what is there now.",
            )
        return Snapshot(self.journal.data(last), last.revision, last.head, self.adopted)

    def _make(
        self, expected: str | None, update: Update, sight: ObservedFile, visible: Record | None
    ) -> bytes | Snapshot:
        """What is to go into the file; or the answer, where nothing is to. Raises the refusals."""
        revision = visible.revision if visible else "0"
        try:
            verdict = judge(expected, self.change, self._known_state(sight, visible))
            if verdict.kind == "drift":
                raise drifted(self.entity, self.path, expected, _point(self.before), revision)
            if verdict.kind == "stale":
                raise stale(self.entity, str(expected), revision)
            point = verdict.point
            first = self._made_since(expected) if expected is not None and point is not None else None
            if first is not None:
                return self._answered(first)
            if point is not None and verdict.kind == "branch":
                return self._branch(point, update)
            base = None if point is None else self._data(point)
            data = update(Current(sight.data, revision, base, lambda: unread(self._own())))
        except DriftError as refusal:
            self._keep(refusal, sight, expected, revision)
            raise
        if data != sight.data:
            return data
        if not self.change.is_always_recorded:
            return Snapshot(data, revision, bytes_digest(sight.data), self.adopted)
        self.begun = True
        return self._recorded(replace(self._draft(self.writers.next_revision(), revision), publishes=False), data)

    def _made_since(self, expected: str) -> Record | None:
        """The record of this very operation, made after what its caller saw, however long ago that is.

        ``run`` looks among the latest alone. Before a write on an old view is made all the same, all of them count: or
        an old write that is sent again would be made again.
        """
        seen = None if expected == "0" else self._seen(expected)
        for record in self.journal.records_of(self.name) if self.change.op_id else ():
            if seen is not None and record.sequence <= seen.sequence:
                return None
            if (record.agent, record.op_id) == (self.change.agent, self.change.op_id):
                return record if is_retry(revision_of(self.entity, record), self.change) else None
        return None

    def _answered(self, first: Record) -> Snapshot:
        return replace(recorded(self.journal, self.entity, self.name, first.revision), branch=first.is_branch)

    def _draft(self, revision: str, parent: str) -> RecordDraft:
        change = self.change
        return RecordDraft(
            file=self.name,
            op=change.op,
            agent=change.agent,
            revision=revision,
            parents=change.parents(parent),
            op_id=change.op_id or self.folder.system.token(),
            note=change.recorded_note(),
        )

    def _recorded(self, draft: RecordDraft, data: bytes) -> Snapshot:
        with store_errors(self.folder.file_path(self.name)):
            record = self.journal.append(draft, data)
        self.mine = Snapshot(data, record.revision, record.head, self.adopted, branch=record.is_branch)
        self.folder.mark_published(record.sequence)  # so that a journal that loses its end is found out
        return self.mine

    # --- beside the head ----------------------------------------------------------------------------------------

    def _branch(self, seen: KnownRevision, update: Update) -> Snapshot:
        """Keep what ``update`` makes of what the caller saw beside the head. The file stays as it is."""
        base = self._data(seen)
        data = update(Current(base, seen.revision, None))
        if data == base and not self.change.is_always_recorded:
            return Snapshot(data, seen.revision, bytes_digest(data), self.adopted)
        self.begun = True
        head = self.journal.head(self.name)
        number = branch_number(seen.revision, head.revision if head else "0")
        name = next_branch(number, self._branches_since(number - 1))
        draft = self._draft(name, seen.revision)
        return self._recorded(replace(draft, file=branch_name(self.name, name), publishes=False), data)

    def _branches_since(self, number: int) -> set[str]:
        """The branches that were made since the head had a number: no older one has a higher number."""
        names: set[str] = set()
        for record in self.journal.records_of(self.name):
            if record.is_branch:
                names.add(record.revision)
            elif record.number <= number:
                break
        return names

    # --- who may go on ------------------------------------------------------------------------------------------

    def _refuse_unknown(self, expected: str | None) -> None:
        """Refuse a revision that no caller can have seen: not yet, or no longer. Later this commit may make it."""
        if expected is None or expected == "0" or expected.startswith("sha256:"):
            return
        head = self.journal.head(self.name)
        known = head is not None and (expected == head.revision or self.journal.find(self.name, expected) is not None)
        if not known:
            raise unknown_revision(self.entity, expected)

    def _known_state(self, sight: ObservedFile, visible: Record | None) -> KnownState:
        return KnownState(
            now=_point(visible) or NOTHING,
            before=_point(self.before),
            adopted=self.adopted is not None,
            has_text=bool(sight.data),
            seen=lambda expected: _point(self._seen(expected)),
            external_since=lambda point: self._external_since(point.sequence) is not None,
            own=lambda: None if (own := self._own()) is None or own == visible else _point(own),
        )

    def _own(self) -> Record | None:
        """The newest record of catmem's own, else the first of the file."""
        return last_own(self.journal.head(self.name), lambda revision: self.journal.find(self.name, revision))

    def _data(self, point: KnownRevision) -> bytes:
        return recorded(self.journal, self.entity, self.name, point.revision).data

    def _seen(self, expected: str) -> Record | None:
        if not expected.startswith("sha256:"):
            return self.journal.find(self.name, expected)
        return next((each for each in self.journal.records_of(self.name) if each.head == expected), None)

    def _external_since(self, sequence: int) -> Record | None:
        """What an external writer wrote last after the record with this number; ever, after 0."""
        for record in self._records():
            if record.sequence <= sequence:
                return None
            if record.agent == EXTERNAL:
                return record
        return None

    def _records(self) -> Iterator[Record]:
        return (record for record in self.journal.records_of(self.name) if not record.is_branch)

    def _keep(self, refusal: RefusedError, sight: ObservedFile, expected: str | None, revision: str) -> None:
        """Say in the refusal where the file is; keep a copy of an external writer's bytes, and say where that is."""
        own = self._own()
        if not complete(refusal, self.path, own, revision):
            return
        found_now = self.before is not None or refusal.code != "drift" or (expected is None and bool(unread(own)))
        found_now = found_now or (isinstance(refusal, DriftError) and refusal.is_of_file)
        theirs = sight.data if found_now else self._theirs(expected)
        if refusal.drift_backup is None and theirs:
            from catmem.store.files.retention import keep_backup

            name_copy(refusal, str(keep_backup(self.folder, self.name, theirs, sight.status)))

    def _theirs(self, expected: str | None) -> bytes:
        """What an external writer wrote last since what the caller saw; nothing if this refusal is about another thing.

        What catmem wrote afterwards is no part of it, so that many refusals after one edit keep one copy.
        """
        seen = None
        if expected is not None or self.adopted is None:
            seen = self._seen(expected) if expected is not None else self._own()
            seen = None if seen is not None and expected is None and seen.agent == EXTERNAL else seen
        record = self._external_since(seen.sequence if seen else 0)
        return b"" if record is None else self.journal.data(record)

    def _reap(self, record: Record) -> None:
        if record.sequence % _REAP_EVERY == 0:
            from catmem.store.files.retention import reap

            reap(self.folder, record.sequence)


def _point(record: Record | None) -> KnownRevision | None:
    return None if record is None else KnownRevision(record.revision, record.head, record.sequence)


def revision_of(entity: str, record: Record) -> Revision:
    """A record as the contract shows it."""
    return Revision(entity=entity, digest=record.head, **{name: getattr(record, name) for name in _SHOWN})


def recorded(journal: Journal | None, entity: str, name: str, revision: str) -> Snapshot:
    """The snapshot of a recorded revision. Raises ``UnknownRevisionError``."""
    if revision == "0":
        return Snapshot.from_bytes(b"", "0")
    record = journal.find(name, revision) if journal else None
    if journal is None or record is None:
        raise unknown_revision(entity, revision)
    return Snapshot(journal.data(record), revision, record.head)
