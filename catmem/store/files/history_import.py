"""Take over the whole history of an entity from another store.

The records go into the journal all at once (``Journal.bring``), and then the file gets the head's bytes by the
publication that every write goes through. So a stop leaves one of these: before the journal has them nothing, but for
files that the next write removes; after it all of it, and the next write to the folder puts the file in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, suppress

from catmem.errors import BusyError, StoreError
from catmem.store.contract import Revision, not_empty, refuse_unsound
from catmem.store.files.external_changes import ExternalWriters
from catmem.store.files.journal import Brought
from catmem.store.files.observed_file import ObservedFile, look_at
from catmem.store.files.publication import state_of
from catmem.store.files.records import RecordDraft, Retired, recorded_name
from catmem.store.files.system import store_errors


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
