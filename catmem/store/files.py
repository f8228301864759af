"""The file store: each entity is a plain Markdown file, and its history lies in ``.catmem`` beside it.

``docs/stores.md`` tells the protocol; this module is the contract on top of it. Reading takes no lock and writes
nothing. Writing goes, under the folder's lock, through recovery, late writers, a leased look at the file, the caller's
update, and a publication; it starts over where somebody came between.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from catmem.digest import bytes_digest
from catmem.errors import BusyError, DriftError, RefusedError, StoreError, UnknownRevisionError, UnreadableError
from catmem.reading import read_bounded
from catmem.store.backups import keep_backup
from catmem.store.contract import EXTERNAL, Change, Current, Revision, Snapshot, repeated, sees, stale
from catmem.store.faults import in_doubt, store_error
from catmem.store.folder import SIDECAR, Folder, Place
from catmem.store.memory import unknown_revision
from catmem.store.outside import WATCHED, Outside, merge_appended
from catmem.store.publication import RECORDED, Publication, replaced_revision
from catmem.store.records import Draft
from catmem.store.recovery import recover
from catmem.store.retired import reap
from catmem.store.sight import look_at
from catmem.store.system import System
from catmem.text import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from catmem.store.contract import Fault, Merge, Update
    from catmem.store.erasing import Erased, Erasure, Redact
    from catmem.store.journal import Anchor, Journal
    from catmem.store.kept import Kept
    from catmem.store.records import Record
    from catmem.store.sight import Sight

LOCK_TIMEOUT = 10.0
"""Seconds that a write waits for the folder's lock."""

_OUTSIDERS = ("drift", "not_utf8")
"""The codes of refusals because of what somebody else wrote. Another says that an update is not possible."""

_TRIES = 40
_REAP_EVERY = 128


class FileStore:
    """Entities as files. Safe to use from several threads, processes and hosts' worth of outsiders at once."""

    def __init__(  # noqa: PLR0913 - choices of whoever opens the store, by keyword
        self,
        locate: Callable[[str], Place],
        entities: Iterable[str] = (),
        *,
        merge: Merge | None = merge_appended,
        durable: bool = True,
        lock_timeout: float = LOCK_TIMEOUT,
        system: System | None = None,
        publication: type[Publication] = Publication,
    ) -> None:
        """``locate`` says where an entity's file is, ``entities`` which ones ``verify`` looks at.

        ``merge`` joins two versions where an outsider wrote at the very moment of a write. ``durable=False`` has the
        disk confirm the journal alone, from which the files are restored after a power cut. ``system`` and
        ``publication`` are for tests.
        """
        self._locate = locate
        self._entities = tuple(entities)
        self._merge = merge
        self._durable = durable
        self._lock_timeout = lock_timeout
        self._system = system or System()
        self._publication = publication
        self._start_empty()

    def _start_empty(self) -> None:
        self._folders: dict[Path, Folder] = {}
        self._guard = threading.RLock()
        self._process = os.getpid()

    # --- reading ------------------------------------------------------------------------------------------------

    def peek(self, entity: str) -> bytes:
        """The file's bytes; none for a missing file. Raises ``UnreadableError``."""
        place = self._locate(entity)
        path = place.path
        while True:
            try:
                return read_bounded(path, DEFAULT_LIMITS.file_bytes, follow_symlink=False)
            except UnreadableError as error:
                # An editor may take the file away for a moment and put another in its place.
                if error.code != "missing" or path.is_symlink():
                    raise
                if not os.path.lexists(path):
                    return b""

    def read(self, entity: str, revision: str | None = None) -> Snapshot:
        """The file as it is now, or as it was at ``revision``."""
        with self._reading(entity) as (journal, name):
            if revision is not None:
                return _recorded(journal, entity, name, revision)
            if journal is None or journal.head(name) is None:
                data = self.peek(entity)
                exists = os.path.lexists(self._locate(entity).path)
                return Snapshot.of(data, None if exists else "0")
            return self._read_beside(journal, entity, name)

    def _read_beside(self, journal: Journal, entity: str, name: str) -> Snapshot:
        """The file with its revision, while others write: the journal is read after the file, until the two agree."""
        seen: tuple[bytes, int] | None = None
        while True:
            data = self.peek(entity)
            journal.refresh()
            head = journal.head(name)
            if head is None:
                return Snapshot.of(data, None)
            digest = bytes_digest(data)
            if digest == head.head:
                return Snapshot(data, head.revision, digest)
            if head.retired is not None and digest == head.retired.digest and self._is_on_its_way(entity, head):
                return Snapshot(data, replaced_revision(head), digest)
            if seen == (data, head.sequence):
                return Snapshot(data, None, digest)
            seen = data, head.sequence

    def _is_on_its_way(self, entity: str, record: Record) -> bool:
        """Whether a recorded write is not in place yet, so that the one before it is what there is."""
        folder = self._folder(self._locate(entity), create=False)
        return folder is not None and record.publishes and record.sequence > folder.published()

    def head(self, entity: str) -> Revision | None:
        """The newest record of the file."""
        with self._reading(entity) as (journal, name):
            head = journal.head(name) if journal else None
            return revision_of(entity, head) if head else None

    def log(self, entity: str) -> Iterator[Revision]:
        """The records of the file, the newest first."""
        with self._own_journal(entity) as (journal, name):
            for record in journal.records(newest_first=True) if journal else ():
                if record.file == name:
                    yield revision_of(entity, record)

    def branches(self, entity: str) -> Sequence[Revision]:
        """The head alone: a file has one content."""
        head = self.head(entity)
        return [head] if head else []

    def replay(self, entity: str) -> Iterator[tuple[Revision, bytes]]:
        """Every revision with its bytes, from the journal alone."""
        with self._own_journal(entity) as (journal, name):
            for record, data in journal.replay() if journal else ():
                if record.file == name:
                    yield revision_of(entity, record), data

    @contextmanager
    def _own_journal(self, entity: str) -> Iterator[tuple[Journal | None, str]]:
        """A journal that is opened for one caller, who may take its time and keep nobody waiting."""
        place = self._locate(entity)
        folder = Folder.open(self._system, place, create=False)
        try:
            yield folder.journal if folder else None, place.name
        except OSError as error:
            raise store_error(error, place.path) from error
        finally:
            if folder is not None:
                folder.close()

    @contextmanager
    def _reading(self, entity: str) -> Iterator[tuple[Journal | None, str]]:
        """The journal of the entity's folder, and the file's name."""
        place = self._locate(entity)
        with self._reading_folder(place) as journal:
            yield journal, place.name

    @contextmanager
    def _reading_folder(self, place: Place) -> Iterator[Journal | None]:
        """The journal of a folder, read up to its end; ``None`` where there is none."""
        with self._own_process():
            folder = self._folder(place, create=False)
            journal = folder.journal if folder else None
            if journal is not None:
                try:
                    journal.refresh()
                except OSError as error:
                    raise store_error(error, place.path) from error
            yield journal

    # --- writing ------------------------------------------------------------------------------------------------

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        """Write what ``update`` makes of the file; see ``Store.commit``."""
        making: _Commit | None = None
        try:
            with self._writing(entity) as (folder, name):
                making = _Commit(self, folder, name, entity, change)
                return making.run(expected, update)
        except StoreError as error:
            error.hint = _hint_of(error, making)
            raise

    @contextmanager
    def _writing(self, entity: str) -> Iterator[tuple[Folder, str]]:
        """The entity's folder, locked, with its journal read and everything unfinished finished."""
        with self._locked(self._locate(entity)) as (folder, name):
            folder.writable_journal.refresh(repair=True)
            recover(folder, self._publish(folder, name), self._merge)
            yield folder, name

    @contextmanager
    def _locked(self, place: Place) -> Iterator[tuple[Folder, str]]:
        with self._own_process():
            folder = self._folder(place, create=True)
            if folder is None or folder.doubtful:
                raise in_doubt(place.path)
            try:
                with folder.lock(place.name, self._lock_timeout):
                    yield folder, place.name
            except OSError as error:
                raise store_error(error, place.path) from error

    @contextmanager
    def _own_process(self) -> Iterator[None]:
        """One thread at a time. A forked child starts with nothing open: what it inherited belongs to its parent."""
        if self._process != os.getpid():
            self._start_empty()
        with self._guard:
            yield

    def _folder(self, place: Place, *, create: bool) -> Folder | None:
        """The open folder of a place, opened again if it is no longer the one that the path leads to."""
        key = place.path.parent
        kept = self._folders.get(key)
        try:
            if kept is not None and (kept.doubtful or kept.is_current(place)):
                return kept
        except OSError as error:
            raise store_error(error, key) from error
        if kept is not None:
            del self._folders[key]
            kept.close()
        folder = Folder.open(self._system, place, create=create)
        if folder is not None:
            self._folders[key] = folder
        return folder

    def _publish(self, folder: Folder, name: str) -> Publication:
        return self._publication(folder, name, durable=self._durable)

    def backup(self, entity: str) -> Path:
        """Keep a copy of the file as it is now, beside it, and say where. Raises ``StoreError``."""
        with self._writing(entity) as (folder, name):
            return keep_backup(folder, name, self.peek(entity), None)

    def verify(self) -> list[Fault]:
        """Look at the journals, files and leftovers of all folders of the store's entities."""
        from catmem.store.fsck import look_over

        with self._own_process():
            return [fault for group in self._by_folder() for fault in look_over(self._system, group)]

    def mend(self) -> list[str]:
        """Mend what is safe to mend, in every folder that the store has used; says what was done."""
        from catmem.store.fsck import mend

        done: list[str] = []
        for group in self._by_folder():
            if not os.path.lexists(group[0].path.parent / SIDECAR):
                continue
            with self._locked(group[0]) as (folder, _):
                done += mend(folder, self._merge, self._publication, durable=self._durable)
        return done

    def anchors(self) -> Iterator[tuple[Path, Anchor]]:
        """The end of each folder's journal, small enough to be kept elsewhere."""
        for journal, folder in self._journals():
            yield folder, journal.anchor()

    def holds(self, anchor: Anchor) -> bool:
        """Whether the journal of one of the folders still holds the record that an anchor names.

        Raises ``UnknownRevisionError`` if none does, and one of them no longer goes back that far.
        """
        compacted: UnknownRevisionError | None = None
        for journal, _ in self._journals():
            try:
                if journal.contains(anchor):
                    return True
            except UnknownRevisionError as error:
                compacted = error  # a copy of the folder, with the same journal, may hold it still
        if compacted is not None:
            raise compacted
        return False

    def _journals(self) -> Iterator[tuple[Journal, Path]]:
        for group in self._by_folder():
            with self._reading_folder(group[0]) as journal:
                if journal is not None and journal.last is not None:
                    yield journal, group[0].path.parent

    def kept(self, entity: str) -> Iterator[Kept]:
        """Every text that lies in the entity's folder besides the file and its journal. See ``kept``."""
        from catmem.store.kept import kept

        place = self._locate(entity)
        folder = Folder.open(self._system, place, create=False)
        if folder is None:
            return
        try:
            yield from kept(folder, place.name)
        except OSError as error:
            raise store_error(error, place.path) from error
        finally:
            folder.close()

    def erase(self, entity: str, erasure: Erasure | Redact) -> Erased:
        """Erase from all that is kept of an entity, once the entity itself no longer has it. See ``erasing``."""
        from catmem.store.erasing import Erasure, erase

        if not isinstance(erasure, Erasure):
            erasure = Erasure.of(erasure)
        with self._writing(entity) as (folder, name):
            return erase(Outside(self._publish(folder, name), self._merge), erasure)

    def _by_folder(self) -> list[list[Place]]:
        groups: dict[Path, list[Place]] = {}
        for place in map(self._locate, self._entities):
            groups.setdefault(place.path.parent, []).append(place)
        return list(groups.values())

    def close(self) -> None:
        """Close all folders; the next call opens them again."""
        with self._own_process():
            for folder in self._folders.values():
                folder.close()
            self._folders.clear()


class _Visible(NamedTuple):
    """What is in the file: its record, if there is one, and the record of what the journal knew before."""

    record: Record | None
    before: Record | None

    @property
    def revision(self) -> str:
        return self.record.revision if self.record else "0"


class _Commit:
    """One commit on a locked folder."""

    def __init__(self, store: FileStore, folder: Folder, name: str, entity: str, change: Change) -> None:
        self.folder = folder
        self.name = name
        self.entity = entity
        self.change = change
        self.journal = folder.writable_journal
        self.publication = store._publish(folder, name)  # noqa: SLF001 - this is the store's own other half
        self.outside = Outside(self.publication, store._merge)  # noqa: SLF001
        self.before: Record | None = None
        """The record that the journal ended with before this commit found an outsider's text, if it found one."""
        self.adopted: str | None = None
        """The revision as which this commit recorded an outsider's text, if it found one."""
        self.begun = False
        """Whether its own write was begun."""
        self.mine: Snapshot | None = None
        """What this commit wrote, once it is in place."""

    def run(self, expected: str | None, update: Update) -> Snapshot:
        op_id = self.change.op_id
        first = op_id and (self.journal.operation(op_id, file=self.name) or self.journal.operation(op_id))
        if first and repeated(revision_of(self.entity, first), self.change):
            return _recorded(self.journal, self.entity, self.name, first.revision)
        self._refuse_unknown(expected)
        for foreign in list(self.outside.late(self.journal.latest(WATCHED))):
            head = self.journal.head(self.name)
            if head is not None:
                self.outside.take_in(foreign, head)
                self.adopted = next((each.revision for each in self._records() if each.agent == EXTERNAL), None)
        for _ in range(_TRIES):
            done = self._attempt(expected, update)
            if done is not None:
                return done
        raise BusyError(
            "somebody keeps writing to this file",
            path=self.folder.path / self.name,
            hint="Nothing was written. Try again when they are done.",
        )

    def _attempt(self, expected: str | None, update: Update) -> Snapshot | None:
        """One try; ``None`` if somebody came between the look and the commit point."""
        head = self.journal.head(self.name)
        sight = look_at(self.folder, self.name, self.journal.head_data(self.name))
        try:
            visible = self.outside.adopt(sight, head)
            if visible is not None and visible is not head:
                self.adopted = visible.revision
                self.before = self.before or head
            revision = visible.revision if visible else "0"
            try:
                base = self._base(expected, sight, visible)
                data = update(Current(sight.data, revision, base))
            except DriftError as refusal:
                self._keep(refusal, sight, expected, revision)
                raise
            if data == sight.data:
                return Snapshot(data, revision, sight.known_digest(), self.adopted)
            self.begun = True
            put = self.publication.put(sight, data, self._draft(revision))
        finally:
            sight.close()
        if put is None:
            self.begun = False
            return None
        mine = self.mine = Snapshot(data, put.record.revision, put.record.head, self.adopted)
        if not put.foreign:
            self._reap(put.record)
            return mine
        try:
            last = self.outside.take_in_all(put.foreign, put.record)
        except RefusedError:
            # This write is in place. What the outsiders wrote is recorded, and the next write joins the two.
            return mine
        if "not_merged" in last.note:
            raise DriftError(
                f"somebody replaced the file at the very moment of this write, which is kept as revision "
                f"{put.record.revision} and is not in the file",
                expected=revision,
                found=last.revision,
                path=self.folder.path / self.name,
                hint=f"Look at both with 'catmem diff {self.entity}', and repeat the change on what is there now.",
            )
        return Snapshot(self.journal.data(last), last.revision, last.head, self.adopted)

    def _draft(self, revision: str) -> Draft:
        change = self.change
        note = dict(change.note) | ({"request": change.request} if change.request else {})
        return Draft(
            file=self.name,
            op=change.op,
            agent=change.agent,
            revision=self.outside.next_revision(),
            parents=() if revision == "0" else (revision,),
            op_id=change.op_id or self.folder.system.token(),
            note=note,
        )

    # --- who may go on ------------------------------------------------------------------------------------------

    def _refuse_unknown(self, expected: str | None) -> None:
        """Refuse a revision that nobody can have seen: not yet, or no longer. Later this commit may make it."""
        if expected is None or expected == "0" or expected.startswith("sha256:"):
            return
        head = self.journal.head(self.name)
        known = head is not None and (expected == head.revision or self.journal.find(self.name, expected) is not None)
        if not known:
            raise unknown_revision(self.entity, expected)

    def _base(self, expected: str | None, sight: Sight, visible: Record | None) -> bytes | None:
        """What the caller could know at best, where that is not what is there now. Raises the refusals."""
        changed = self.before is not None and bool(sight.data)  # a missing or emptied file is nobody's new text
        if changed and self.change.on_drift == "refuse":
            raise self._drift(expected, visible)
        if expected is None:
            return self.journal.data(self.before) if changed and self.before else None
        found = visible.revision if visible else "0"
        if sees(expected, found, sight.known_digest()):
            return None
        seen = self._seen(expected)
        if self.before is not None and seen is not None:
            if not changed and seen.revision == self.before.revision:
                return None
            if visible is not None and seen.head == visible.head:
                return None  # the outsider put back what the caller saw
        if self.change.on_drift == "merge" and (seen is not None or expected == "0"):
            return self.journal.data(seen) if seen else b""
        # When a text was there that no record has, nobody can tell; so only what this commit found itself counts.
        unknown = seen is None and expected != "0"
        drifted = self.adopted is not None if unknown else self._outsider_since(seen) is not None
        if drifted:
            raise self._drift(expected, visible)
        raise stale(self.entity, expected, found)

    def _seen(self, expected: str) -> Record | None:
        """The record of what a caller saw who says ``expected``."""
        if not expected.startswith("sha256:"):
            return self.journal.find(self.name, expected)
        return next((record for record in self._records() if record.head == expected), None)

    def _outsider_since(self, seen: Record | None) -> Record | None:
        """What an outsider wrote last since ``seen``, or ever if that is ``None``."""
        for record in self._records():
            if seen is not None and record.sequence <= seen.sequence:
                return None
            if record.agent == EXTERNAL:
                return record
        return None

    def _records(self) -> Iterator[Record]:
        """The records of the file, the newest first."""
        return (record for record in self.journal.records(newest_first=True) if record.file == self.name)

    def _drift(self, expected: str | None, visible: Record | None) -> DriftError:
        found = visible.revision if visible else "0"
        return DriftError(
            f"{self.entity} was changed from outside; what is there now is revision {found}",
            expected=expected or (self.before.revision if self.before else "0"),
            found=found,
            path=self.folder.path / self.name,
            hint="Nothing was written, and a copy of what was found is kept. Read it again, and repeat the change on "
            "what is there now.",
        )

    def _keep(self, refusal: RefusedError, sight: Sight, expected: str | None, revision: str) -> None:
        """Say in the refusal where the file is; keep a copy of an outsider's bytes, and say where that is."""
        if refusal.path is None:
            refusal.path = str(self.folder.path / self.name)
        if refusal.code not in _OUTSIDERS:
            return
        found_now = self.before is not None or refusal.code == "not_utf8"
        theirs = sight.data if found_now else self._theirs(expected)
        if refusal.drift_backup is None and theirs:
            refusal.drift_backup = str(keep_backup(self.folder, self.name, theirs, sight.status))
        if refusal.found is None:
            refusal.found = revision
        if refusal.expected is None and self.before is not None:
            refusal.expected = self.before.revision

    def _theirs(self, expected: str | None) -> bytes:
        """What an outsider wrote last since what the caller saw; nothing if it is none of this refusal's business.

        What catmem wrote afterwards is no part of it, so that many refusals after one edit keep one copy.
        """
        if expected is None and self.adopted is None:
            return b""
        record = self._outsider_since(None if expected is None else self._seen(expected))
        try:
            return b"" if record is None else self.journal.data(record)
        except UnknownRevisionError:
            return b""  # it was compacted away since: what is past keeping is not copied either

    def _reap(self, record: Record) -> None:
        if record.sequence % _REAP_EVERY == 0:
            reap(self.folder, record.sequence)


def _hint_of(error: StoreError, making: _Commit | None) -> str | None:
    """The hint of an error, as it is true of the write that was asked for: others may have been at work on the way."""
    if making is not None and making.mine is not None:
        return (
            f"This write is in place, as revision {making.mine.revision}; do not repeat it. What somebody else wrote "
            "meanwhile is kept, and the next write joins it. See to the disk."
        )
    if error.hint and error.hint.startswith(RECORDED) and not (making and making.begun):
        return error.hint.replace(RECORDED, "Nothing of this write was recorded.")
    return error.hint


def revision_of(entity: str, record: Record) -> Revision:
    """A record as the contract shows it."""
    return Revision(
        entity=entity,
        revision=record.revision,
        parents=record.parents,
        sequence=record.sequence,
        timestamp=record.timestamp,
        op=record.op,
        agent=record.agent,
        op_id=record.op_id,
        digest=record.head,
        size=record.size,
        note=record.note,
    )


def _recorded(journal: Journal | None, entity: str, name: str, revision: str) -> Snapshot:
    if revision == "0":
        return Snapshot.of(b"", "0")
    record = journal.find(name, revision) if journal else None
    if journal is None or record is None:
        raise unknown_revision(entity, revision)
    return Snapshot(journal.data(record), revision, record.head)
