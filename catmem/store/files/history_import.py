"""Take over the whole history of an entity from another store.

The records go into the journal all at once (``Journal.bring``), and then the file gets the head's bytes by the
publication that every write goes through. So a stop leaves one of these:

- before the journal has them: nothing, but for files that the next write removes;
- in the moment in which the segments of a long history get their names: the first of them, and a file that is as it
  was. ``catmem fsck`` tells (``half_brought``). To take over the same history again goes on from there;
- after it: all of it, and the next write to the folder puts the file in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from datetime import datetime

from catmem.digest import bytes_digest
from catmem.errors import BusyError, DamagedError, StoreError
from catmem.store.contract import Revision, not_empty
from catmem.store.files.commit import revision_of
from catmem.store.files.external_changes import ExternalWriters
from catmem.store.files.journal_lines import Brought
from catmem.store.files.observed_file import ObservedFile, look_at
from catmem.store.files.publication import state_of
from catmem.store.files.records import Record, RecordDraft, Retired, is_revision, recorded_name
from catmem.store.files.system import store_errors

_NOTHING = "Nothing was copied. Verify the store that it comes from."


def is_half_brought(head: Record | None) -> bool:
    """Whether a history was taken over up to this head, and no further."""
    return head is not None and head.brought and not head.publishes


def bring(writers: ExternalWriters, entity: str, history: Iterable[tuple[Revision, bytes]]) -> int:
    """Take over a history into the locked folder; returns the number of its revisions. See ``Store.bring``."""
    folder, name = writers.folder, writers.name
    coming = iter(history)
    done = _already_there(writers, entity, coming)
    with closing(look_at(folder, name, b"")) as sight:
        bringing = _Import(writers, entity, sight)
        try:
            with store_errors(folder.file_path(name)):
                folder.writable_journal.bring(bringing.records(coming))
        except BaseException:
            bringing.forget_file()
            raise
        head = folder.writable_journal.head(name)
        if bringing.count and head is not None and head.publishes:
            bringing.put_in_place(head)
    return done + bringing.count


def _already_there(writers: ExternalWriters, entity: str, coming: Iterator[tuple[Revision, bytes]]) -> int:
    """How many of a history's revisions a stopped call left in the journal; they are taken from ``coming``."""
    journal, name = writers.folder.writable_journal, writers.name
    head = journal.head(name)
    if head is None:
        return 0
    if not is_half_brought(head):
        raise not_empty(entity)
    done = 0
    for record in journal.records():
        if record.owner == name:
            given, _ = next(coming, (None, b""))
            if given is None or _identity(given) != _identity(revision_of(entity, record)):
                raise not_empty(entity)
            done += 1
    return done


def _identity(revision: Revision) -> tuple[object, ...]:
    return revision.revision, revision.parents, revision.timestamp, revision.op_id, revision.digest


class _Import:
    def __init__(self, writers: ExternalWriters, entity: str, sight: ObservedFile) -> None:
        self.writers = writers
        self.publication = writers.publication
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
            self._check(revision, data)
            self.count += 1
            if not revision.is_branch:
                yield from (self._brought(*each) for each in waiting)
                waiting.clear()
            waiting.append((revision, data))
        if waiting and not waiting[0][0].is_branch:
            head, data = waiting.pop(0)
            yield self._brought(head, data, publishes=True, retired=self._prepare(head.revision, data))
        yield from (self._brought(*each) for each in waiting)

    def _check(self, revision: Revision, data: bytes) -> None:
        if not is_revision(revision.revision):
            raise DamagedError(f"{revision.revision!r} is no revision of {self.entity}", hint=_NOTHING)
        try:
            datetime.fromisoformat(revision.timestamp)
        except ValueError:
            message = f"{revision.timestamp!r} is no time at which {self.entity} can have become {revision.revision}"
            raise DamagedError(message, hint=_NOTHING) from None
        if bytes_digest(data) != revision.digest:
            message = f"the bytes of revision {revision.revision} of {self.entity} are not what its digest says"
            raise DamagedError(message, hint=_NOTHING)

    def _brought(
        self, revision: Revision, data: bytes, *, publishes: bool = False, retired: Retired | None = None
    ) -> Brought:
        same = {name: getattr(revision, name) for name in ("op", "agent", "revision", "parents", "op_id", "note")}
        file = recorded_name(self.writers.name, revision.revision)
        draft = RecordDraft(**same, file=file, retired=retired, publishes=publishes, brought=True)
        return Brought(draft, data, revision.timestamp)

    def _prepare(self, revision: str, data: bytes) -> Retired | None:
        """Make the new file, unless the bytes are there already; returns the state of the one it takes out."""
        sight, path = self.sight, self.publication.path
        if not sight.missing and sight.data == data:
            return None
        if sight.data:
            raise StoreError(
                "the file holds a text that no revision has",
                code="not_empty",
                path=path,
                hint="Nothing was copied. Move the file elsewhere, and copy again.",
            )
        self.temporary = self.publication.prepare(data, sight, revision)
        if not self.publication.undisturbed(sight):
            raise BusyError("another program writes to this file", path=path, hint="Nothing was copied. Try again.")
        return None if sight.status is None else state_of(sight.status, sight.data)

    def forget_file(self) -> None:
        """Remove the new file, unless the head is recorded all the same: then the next write puts it in place."""
        if self.temporary is not None and not self._is_recorded():
            with suppress(OSError):  # the first error is the one to tell; the next write moves away what is left
                self.publication.system.unlink(self.temporary, folder=self.writers.folder.tmp)

    def _is_recorded(self) -> bool:
        try:
            head = self.writers.journal.head(self.writers.name)
        except (OSError, StoreError):
            return True  # unknown: the next write looks into the journal, and at what is left in tmp/
        return head is not None and head.publishes

    def put_in_place(self, head: Record) -> None:
        """Put the head's bytes into the file, and take in what external writers did meanwhile."""
        if self.temporary is None:
            self.publication.settle(head)
            return
        published = self.publication.publish(self.sight, head, self.temporary)
        self.writers.adopt_all(published.external, published.record)
