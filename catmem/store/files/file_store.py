"""The file store: each entity is a plain Markdown file, and its history lies in ``.catmem`` beside it.

``docs/stores.md`` tells the protocol; this module is the contract on top of it. Reading takes no lock and writes
nothing. Writing goes, under the folder's lock, through recovery, late writers, a leased look at the file, the caller's
update, and a publication; it starts over where another write came between.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from errno import EACCES
from pathlib import Path

from catmem.digest import bytes_digest
from catmem.errors import BusyError, CatmemError, ConfigError, StoreError, UnreadableError
from catmem.files import read_bounded
from catmem.store.contract import (
    SIDECAR,
    Anchor,
    Change,
    Erased,
    Erasure,
    Fault,
    FolderReport,
    Kept,
    LastingStore,
    MergeFunction,
    Revision,
    Snapshot,
    Update,
    not_empty,
    refuse_unsound,
)
from catmem.store.files.commit import FileCommit, recorded, revision_of
from catmem.store.files.external_changes import ExternalWriters
from catmem.store.files.folder import Folder, Place
from catmem.store.files.journal import Brought, Journal
from catmem.store.files.observed_file import ObservedFile, look_at
from catmem.store.files.publication import RECORDED, Publication, replaced_revision, state_of
from catmem.store.files.records import Record, RecordDraft, Retired, recorded_name
from catmem.store.files.recovery import recover
from catmem.store.files.system import System, in_doubt, store_errors
from catmem.text import MAX_FILE_BYTES

MOST_OPEN = 32
"""Folders that are kept open, each with a few descriptors."""

LOCK_TIMEOUT = 10.0
"""Seconds that a write waits for the folder's lock."""


class FileStore(LastingStore):
    """Entities as files. Safe to use from several threads, processes and hosts' worth of external writers at once."""

    has_catalog = False

    def __init__(  # noqa: PLR0913 - choices of the caller, by keyword
        self,
        locate: Callable[[str], Place],
        entities: Iterable[str] = (),
        *,
        merge: MergeFunction,
        durable: bool = True,
        lock_timeout: float = LOCK_TIMEOUT,
        system: System | None = None,
        publication: type[Publication] = Publication,
    ) -> None:
        """``locate`` says where an entity's file is, ``entities`` which ones ``verify`` looks at."""
        # `merge` joins two versions where an external writer wrote at the very moment of a write. `durable=False` has
        # the disk confirm the journal alone, from which the files are restored after a power cut. `system` and
        # `publication` are for tests.
        self._locate = locate
        self._entities = tuple(entities)
        self._written: set[str] = set()
        self._merge = merge
        self._durable = durable
        self._lock_timeout = lock_timeout
        self._system = system or System()
        self._publication = publication
        self._start_empty()

    def _start_empty(self) -> None:
        self._folders: dict[Path, Folder] = {}
        """Those that are open, the one that was used last at the end."""
        if type(self._system) is System:  # one of a test, which stops the process in mid-write, closes what was open
            weakref.finalize(self, _let_go, self._folders, os.getpid()).atexit = False
        self._guards: dict[Path, threading.RLock] = {}
        """A lock for each, which lets one thread at a time into it."""
        self._inside: Counter[Path] = Counter()
        """How often the thread that has the lock is in it."""
        self._process = os.getpid()

    # --- reading ------------------------------------------------------------------------------------------------

    def peek(self, entity: str) -> bytes:
        """The file's bytes; none for a missing file. Raises ``UnreadableError``."""
        place = self._locate(entity)
        path = place.path
        while True:
            try:
                return read_bounded(path, MAX_FILE_BYTES, follow_symlink=False)
            except UnreadableError as error:
                # An editor may take the file away for a moment and put another in its place.
                if error.code != "missing" or path.is_symlink():
                    raise
                if not os.path.lexists(path):
                    return b""

    def read(self, entity: str, revision: str | None = None) -> Snapshot:
        with self._reading(entity) as (journal, name):
            if revision is not None:
                return recorded(journal, entity, name, revision)
            if journal is not None and journal.head(name) is not None:
                return self._read_beside(journal, entity, name)
            data = self.peek(entity)
            if not os.path.lexists(self._locate(entity).path):
                return Snapshot.from_bytes(b"", "0")
        # The file may be that of a first write, which was recorded after this look at the journal.
        with self._reading(entity) as (journal, name):
            if journal is not None and journal.head(name) is not None:
                return self._read_beside(journal, entity, name)
            return Snapshot.from_bytes(data, None)

    def _read_beside(self, journal: Journal, entity: str, name: str) -> Snapshot:
        """The file with its revision, while others write: the journal is read after the file, until the two agree."""
        seen: tuple[bytes, int] | None = None
        while True:
            data = self.peek(entity)
            journal.refresh()
            head = journal.head(name)
            if head is None:
                return Snapshot.from_bytes(data, None)
            digest = bytes_digest(data)
            if digest == head.head:
                return Snapshot(data, head.revision, digest)
            replaced = head.retired.digest if head.retired else bytes_digest(b"")  # else there was no file
            if digest == replaced and self._is_on_its_way(entity, head):
                return Snapshot(data, replaced_revision(head), digest)
            if seen == (data, head.sequence):
                return Snapshot(data, None, digest)
            seen = data, head.sequence

    def _is_on_its_way(self, entity: str, record: Record) -> bool:
        """Whether a recorded write is not in place yet, so that the one before it is what there is."""
        folder = self._folder(self._locate(entity), create=False)
        return folder is not None and record.publishes and record.sequence > folder.published()

    def head(self, entity: str) -> Revision | None:
        with self._reading(entity) as (journal, name):
            head = journal.head(name) if journal else None
            return revision_of(entity, head) if head else None

    def log(self, entity: str) -> Iterator[Revision]:
        # The newest are in memory; older ones are read from the disk when the caller goes on to them.
        with self._reading(entity, whole=True) as (journal, name):
            newest = journal.newest(name) if journal else []
        yield from (revision_of(entity, record) for record in newest)
        if not newest or newest[-1].revision == "1":
            return
        place = self._locate(entity)
        with self._own_folder(place) as folder:
            for record in folder.journal.records_of(place.name) if folder and folder.journal else ():
                if record.sequence < newest[-1].sequence:
                    yield revision_of(entity, record)

    def branches(self, entity: str) -> Sequence[Revision]:
        """The head, and what is kept beside it and not merged. The end of the journal says it."""
        with self._reading(entity) as (journal, name):
            return [revision_of(entity, record) for record in journal.tips(name)] if journal else []

    def entities(self) -> Sequence[str]:
        """Those that the store was given, or wrote, and that have a revision. As ``verify``, of known places only."""
        known = dict(self._placed(sorted({*self._entities, *self._written})))
        return [entity for entity in known if self.head(entity)]

    def replay(self, entity: str) -> Iterator[tuple[Revision, bytes]]:
        place = self._locate(entity)
        with self._own_folder(place) as folder:
            for record, data in folder.journal.replay() if folder and folder.journal else ():
                if record.owner == place.name:
                    yield revision_of(entity, record), data

    @contextmanager
    def _own_folder(self, place: Place) -> Iterator[Folder | None]:
        """A folder that is opened for one caller, who may take its time and keeps no other waiting."""
        folder = Folder.open(self._system, place, create=False)
        with store_errors(place.path), closing(folder) if folder else nullcontext():
            yield folder

    @contextmanager
    def _reading(self, entity: str, *, whole: bool = False) -> Iterator[tuple[Journal | None, str]]:
        place = self._locate(entity)
        with self._reading_folder(place, whole=whole) as journal:
            yield journal, place.name

    @contextmanager
    def _reading_folder(self, place: Place, *, whole: bool = False) -> Iterator[Journal | None]:
        """The journal of a folder, if there is one, read up to its end; asked ``whole``, a lost end is refused."""
        with self._alone(place.home):
            folder = self._folder(place, create=False)
            journal = folder.journal if folder else None
            if folder is not None:
                with store_errors(place.path):
                    known = folder.last_known() if whole else 0  # before the journal, which others may write
                    if journal is not None:
                        journal.refresh()
                    if whole:
                        folder.refuse_lost_end(known)
            yield journal

    # --- writing ------------------------------------------------------------------------------------------------

    def commit(self, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
        making: FileCommit | None = None
        try:
            with self._writing(entity) as (folder, name, restored):
                self._written.add(entity)
                making = FileCommit(self, folder, name, entity, change)
                made = making.run(expected, update)
                return made if restored is None else replace(made, restored=restored)
        except StoreError as error:
            error.hint = _hint_of(error, making)
            raise

    def import_history(self, entity: str, history: Iterable[tuple[Revision, bytes]]) -> int:
        with self._writing(entity) as (folder, name, _):
            self._written.add(entity)
            return import_history(ExternalWriters(self._publish(folder, name), self._merge), entity, history)

    @contextmanager
    def _writing(self, entity: str) -> Iterator[tuple[Folder, str, str | None]]:
        """The entity's folder, locked, with its journal read and everything unfinished finished; see ``recover``."""
        with self._locked(self._locate(entity)) as (folder, name):
            folder.read_to_write()
            yield folder, name, recover(folder, self._publish(folder, name), self._merge)

    @contextmanager
    def _locked(self, place: Place) -> Iterator[tuple[Folder, str]]:
        with self._alone(place.home):
            folder = self._folder(place, create=True)
            if folder is None or folder.doubtful:
                raise in_doubt(place.path)
            with store_errors(place.path), folder.lock(place.name, self._lock_timeout):
                yield folder, place.name

    @contextmanager
    def _alone(self, key: Path) -> Iterator[None]:
        """One thread at a time in a folder. A forked child starts with nothing open: that belongs to its parent."""
        if self._process != os.getpid():
            self._start_empty()
        inside = self._inside  # a child that is forked in the block has another one
        with self._guards.setdefault(key, threading.RLock()):
            inside[key] += 1
            try:
                yield
            finally:
                inside[key] -= 1

    def _folder(self, place: Place, *, create: bool) -> Folder | None:
        """The open folder of a place, opened again if it is no longer the one that the path leads to."""
        key = place.home
        kept = self._folders.get(key)
        with store_errors(key):
            if kept is not None and (kept.doubtful or kept.is_current(place)):
                self._folders[key] = self._folders.pop(key)
                return kept
        if kept is not None:
            del self._folders[key]
            kept.close()
        folder = Folder.open(self._system, place, create=create)
        if folder is not None:
            self._folders[key] = folder
            self._close_idle()
        return folder

    def _close_idle(self) -> None:
        """Close what was used longest ago and is not in use now: a fleet has more folders than a process may open."""
        for key in list(self._folders)[: max(0, len(self._folders) - MOST_OPEN)]:
            guard = self._guards[key]
            if not guard.acquire(blocking=False):
                continue  # another thread is in it
            try:
                if not self._inside[key] and key in self._folders:
                    self._folders.pop(key).close()
            finally:
                guard.release()

    def _publish(self, folder: Folder, name: str) -> Publication:
        return self._publication(folder, name, durable=self._durable)

    def check_writable(self, entities: Iterable[str]) -> None:
        """Take the lock of the first folder that can be written, and write nothing; see ``Store.check_writable``."""
        # A folder in which nothing was written yet is not looked at.
        for folder in list(self._folders.values()):
            folder.refuse_doubt()
        refused: CatmemError | None = None
        for entity in entities:
            try:
                place = self._locate(entity)
                if not os.path.lexists(place.home / SIDECAR):
                    continue
                with self._locked(place) as (folder, _):
                    if not self._system.may_write(".", folder=folder.descriptor):
                        raise PermissionError(EACCES, os.strerror(EACCES))
                    folder.writable_journal.refresh()
                    folder.writable_journal.flush()
            except BusyError:
                return  # another program writes at this moment
            except CatmemError as error:
                refused = refused or error
            else:
                return
        if refused is not None:
            raise refused

    def backup(self, entity: str) -> Path:
        from catmem.store.files.retention import keep_backup

        with self._writing(entity) as (folder, name, _):
            return keep_backup(folder, name, self.peek(entity), None)

    def verify(self, entity: str | None = None) -> list[Fault]:
        """Look at the journals, files and leftovers of all folders of the store's entities, or of that of one."""
        # Left out is an entity whose place `locate` does not know: the caller that knows why reports that.
        from catmem.store.files.file_upkeep import look_over

        only = None if entity is None else self._locate(entity).home
        groups = [group for group in self._by_folder() if only is None or group[0].home == only]
        return [fault for group in groups for fault in look_over(self._system, group)]

    def place(self, entity: str) -> str:
        return str(self._locate(entity).path)

    def history_place(self, entity: str) -> Path:
        return self._locate(entity).home / SIDECAR / "journal"

    def examine(self) -> Sequence[FolderReport]:
        """What every folder of the store's entities is on. As ``verify``, of known places only."""
        from catmem.store.files.file_upkeep import file_system

        ends = {folder: end["sequence"] for folder, end in self.anchors()}
        homes = [group[0].home for group in self._by_folder() if os.path.lexists(group[0].home)]
        of_each = [(home, file_system(home), os.path.lexists(home / SIDECAR), ends.get(home)) for home in homes]
        return [FolderReport(str(home), kind, (), store, records, note=None) for home, kind, store, records in of_each]

    def mend(self) -> list[str]:
        """Mend what is safe to mend, in every folder that the store has used; says what was done. As ``verify``."""
        from catmem.store.files.file_upkeep import mend_files, mend_journal

        done: list[str] = []
        for group in self._by_folder():
            if not os.path.lexists(group[0].home / SIDECAR):
                continue
            with self._locked(group[0]) as (folder, _):
                done += mend_journal(folder, group)
            with self._locked(group[0]) as (folder, _):
                done += mend_files(folder, self._merge, self._publication, durable=self._durable)
        return done

    def anchors(self) -> Iterator[tuple[Path, Anchor]]:
        """The end of each folder's journal, small enough to be kept elsewhere. As ``verify``, of known places only."""
        for journal, folder in self._journals():
            yield folder, journal.anchor()

    def holds(self, anchor: Anchor) -> bool:
        # As `verify`, it knows nothing of journals in a place that is not known.
        return any(journal.contains(anchor) for journal, _ in self._journals())

    def _journals(self) -> Iterator[tuple[Journal, Path]]:
        for group in self._by_folder():
            with self._reading_folder(group[0]) as journal:
                if journal is not None and journal.last is not None:
                    yield journal, group[0].home

    def kept(self, entity: str) -> Iterator[Kept]:
        from catmem.store.files.retention import kept

        place = self._locate(entity)
        with self._own_folder(place) as folder:
            if folder is not None:
                yield from kept(folder, place.name)

    def erase(self, entity: str, erasure: Erasure) -> Erased:
        from catmem.store.files.retention import erase

        with self._writing(entity) as (folder, name, _):
            return erase(ExternalWriters(self._publish(folder, name), self._merge), erasure)

    def _by_folder(self) -> list[list[Place]]:
        groups: dict[Path, list[Place]] = {}
        for _, place in self._placed(self._entities):
            groups.setdefault(place.home, []).append(place)
        return list(groups.values())

    def _placed(self, entities: Iterable[str]) -> Iterator[tuple[str, Place]]:
        for entity in entities:
            with suppress(ConfigError, UnreadableError):  # its profile is not right, and the others are seen to
                yield entity, self._locate(entity)

    def close(self) -> None:
        for key in list(self._folders):
            with self._alone(key):
                folder = self._folders.pop(key, None)
                if folder is not None:
                    folder.close()


def _let_go(folders: dict[Path, Folder], process: int) -> None:
    """Close the folders of a store that is in use no more; those of a parent process are left to it."""
    if os.getpid() == process:
        for folder in folders.values():
            folder.close()


def _hint_of(error: StoreError, making: FileCommit | None) -> str | None:
    """The hint of an error, as it is true of the write that was asked for: others may have been at work on the way."""
    if making is not None and making.mine is not None:
        return (
            f"This write is in place, as revision {making.mine.revision}; do not repeat it. What another program wrote "
            "meanwhile is kept, and the next write joins it. Check the disk."
        )
    if error.hint and error.hint.startswith(RECORDED) and not (making and making.begun):
        return error.hint.replace(RECORDED, "Nothing of this write was recorded.")
    return error.hint


# --- taking over a history --------------------------------------------------------------------------------------------
#
# The records go into the journal all at once (`Journal.bring`), and then the file gets the head's bytes by the
# publication that every write goes through. So a stop leaves one of these: before the journal has them nothing, but for
# files that the next write removes; after it all of it, and the next write to the folder puts the file in place.


def import_history(writers: ExternalWriters, entity: str, history: Iterable[tuple[Revision, bytes]]) -> int:
    """Take over a history into the locked folder; returns the number of its revisions. See ``Store.import_history``."""
    folder, name, publication = writers.folder, writers.name, writers.publication
    if folder.writable_journal.head(name) is not None:
        raise not_empty(entity)
    with closing(look_at(folder, name, b"")) as sight:
        bringing = _Import(writers, entity, sight)
        try:
            with store_errors(folder.file_path(name)):
                folder.writable_journal.append_history(bringing.records(history))
        except BaseException:
            bringing.forget_file()
            raise
        head = folder.writable_journal.head(name)
        if head is not None and bringing.temporary is None:
            publication.settle(head)
        elif head is not None and bringing.temporary is not None:
            published = publication.publish(sight, head, bringing.temporary)
            writers.adopt_all(published.external, published.record)
    return bringing.count


class _Import:
    def __init__(self, writers: ExternalWriters, entity: str, sight: ObservedFile) -> None:
        self.writers = writers
        self.entity = entity
        self.sight = sight
        self.count = 0
        """How many revisions were read."""
        self.temporary: str | None = None
        """The new file in ``tmp/``, where one is to be put in place."""

    def records(self, history: Iterable[tuple[Revision, bytes]]) -> Iterator[Brought]:
        """The records to be written. The newest that is no branch is the head, and goes into the file."""
        waiting: list[tuple[Revision, bytes]] = []
        for revision, data in history:
            refuse_unsound(self.entity, revision, data)
            self.count += 1
            if not revision.is_branch:
                yield from (self._brought(*each) for each in waiting)
                waiting.clear()
            waiting.append((revision, data))
        if waiting and not waiting[0][0].is_branch:
            head, data = waiting.pop(0)
            yield self._brought(head, data, publishes=True, retired=self._prepare(head.revision, data))
        yield from (self._brought(*each) for each in waiting)

    def _brought(
        self, revision: Revision, data: bytes, *, publishes: bool = False, retired: Retired | None = None
    ) -> Brought:
        same = {name: getattr(revision, name) for name in ("op", "agent", "revision", "parents", "op_id", "note")}
        file = recorded_name(self.writers.name, revision.revision)
        draft = RecordDraft(**same, file=file, retired=retired, publishes=publishes, brought=True)
        return Brought(draft, data, revision.timestamp)

    def _prepare(self, revision: str, data: bytes) -> Retired | None:
        """Make the new file, unless the bytes are there already; returns the state of the one it takes out."""
        sight, publication = self.sight, self.writers.publication
        if not sight.missing and sight.data == data:
            return None
        if sight.data:
            raise StoreError(
                "the file holds a text that no revision has",
                code="not_empty",
                path=publication.path,
                hint="Nothing was copied. Move the file elsewhere, and copy again.",
            )
        self.temporary = publication.prepare(data, sight, revision)
        if not publication.undisturbed(sight):
            raise BusyError(
                "another program writes to this file", path=publication.path, hint="Nothing was copied. Try again."
            )
        return None if sight.status is None else state_of(sight.status, sight.data)

    def forget_file(self) -> None:
        """Remove the new file, unless the head is recorded all the same: then the next write puts it in place."""
        try:
            is_recorded = self.writers.journal.head(self.writers.name) is not None
        except (OSError, StoreError):
            is_recorded = True  # unknown: the next write looks into the journal, and at what is left in tmp/
        if self.temporary is not None and not is_recorded:
            with suppress(OSError):  # the first error is the one to tell; the next write moves away what is left
                self.writers.publication.system.unlink(self.temporary, folder=self.writers.folder.tmp)
