"""Finish what a stopped process, or a stopped machine, left half done. Runs under the lock, before every write.

Only the last record of a journal can be unfinished, since every write begins here. What it finds:

- the recorded file is not in place: it is put there (the journal is the commit point);
- it is in place, and what came out of it still lies in ``tmp/``: that is kept aside, or joined if it is an external
writer's;
- an external writer's bytes are recorded and not yet merged: they are;
- the file is empty, full of NUL bytes or cut short, as a machine that stopped leaves it: its text is put back, as a
  revision, and what was found is kept beside it. A file that was cut on purpose is left alone.
"""

from __future__ import annotations

import stat
from contextlib import closing
from datetime import datetime

from catmem.digest import bytes_digest
from catmem.store.contract import EXTERNAL, MergeFunction
from catmem.store.files.external_changes import AFTER_STOP, MERGE_WITH, STILL_TO_MERGE, ExternalWriters
from catmem.store.files.folder import Folder
from catmem.store.files.observed_file import ObservedFile, is_damage, look_at
from catmem.store.files.publication import (
    ExternalVersion,
    Publication,
    replaced_revision,
    set_aside,
    state_of,
    temporary_name,
)
from catmem.store.files.records import Record, RecordDraft
from catmem.store.files.system import read_file, store_errors

MAY_BE_LOST = 60.0
"""Seconds after a write in which a machine that stops may lose it. Linux writes what waits after some 35."""


def recover(folder: Folder, publication: Publication, merge: MergeFunction) -> str | None:
    """Finish the last record of the folder, and restore the file of ``publication`` if a stop of the machine hurt it.

    Returns the revision as which it was restored, if it was. Raises ``StoreError``, ``BusyError`` and ``DamagedError``.
    """
    with store_errors(folder.path):
        idle = not _drop_second_names(folder)
        last = folder.writable_journal.last_write
        if last is not None:
            own = publication if last.file == publication.name else publication.for_file(last.file)
            idle = not _Recovery(own, merge).finish(last) and idle
        for name in () if idle else folder.system.names(folder.tmp):
            set_aside(folder, name)
        return _Recovery(publication, merge).restore()


def _drop_second_names(folder: Folder) -> bool:
    """A file may have its name and one in ``tmp/`` still: the second goes. Says whether anything lay there.

    After a stop of the machine one in ``gen/`` too: the disk may have kept half of a swap.
    """
    system, last = folder.system, folder.writable_journal.last
    rebooted = last is not None and last.boot != system.boot()
    wheres = (folder.tmp, folder.gen) if rebooted else (folder.tmp,)
    here = [(name, where) for where in wheres for name in system.names(where)]
    if not here:
        return False
    files = {_identity(folder, name, folder.descriptor) for name in folder.writable_journal.files()} - {None}
    for name, where in here:
        if _identity(folder, name, where) in files:
            system.unlink(name, folder=where)
    return True


def _identity(folder: Folder, name: str, where: int) -> tuple[int, int] | None:
    try:
        status = folder.system.look(name, folder=where)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


class _Recovery:
    def __init__(self, publication: Publication, merge: MergeFunction) -> None:
        self.publication = publication
        self.folder = publication.folder
        self.name = publication.name
        self.journal = self.folder.writable_journal
        self.writers = ExternalWriters(publication, merge)

    def finish(self, last: Record) -> bool:
        """Finish the last record of the journal, which is one of this file; says whether there was anything to do."""
        if last.brought and not last.publishes:
            return False  # what its note speaks of was done, or not, in another store
        note = last.note if last.agent == EXTERNAL and not last.brought else {}
        if MERGE_WITH in note or STILL_TO_MERGE in note:
            other = self.journal.find(self.name, str(note.get(MERGE_WITH) or note[STILL_TO_MERGE]))
            if other is not None:
                theirs, visible = (last, other) if MERGE_WITH in note else (other, last)
                self._restore_unmerged(visible)
                self.writers.join(theirs, visible)
            return True
        if last.publishes and last.sequence > self.folder.published():
            self._publish(last)
            return True
        external = tuple(self.writers.unrecorded(last)) if last.publishes else ()
        self.writers.adopt_all(external, last)
        return bool(external)

    def _publish(self, record: Record) -> None:
        self.journal.flush()  # the writer of the record may have died before it reached the disk
        data = self.journal.data(record)
        with closing(look_at(self.folder, self.name, data)) as sight:
            replaced = self._is_replaced(sight, record)
            swapped, out = self._look_into_tmp(record, data, still_there=replaced)
            external = self._keep(record, out) if swapped else ()
            in_place = sight.data == data and not sight.missing
            # What was made from the record's bytes tells that they were there.
            swapped = swapped or self.writers.origin(record, sight.data) == record.revision
            base = self.journal.find(self.name, replaced_revision(record))
            damaged = not in_place and (
                is_damage(sight.data, data, missing=sight.missing)
                or (base is not None and self._is_hurt(sight, base, self.journal.data(base)))
            )
            if damaged or (replaced and not in_place and not swapped):
                self._put_in_place(sight, record, data)
            elif in_place or swapped:
                self.publication.settle(record)
            else:
                sight.close()
                self.writers.adopt_over(sight, base, record)
        self.writers.adopt_all(external, record)

    def _look_into_tmp(self, record: Record, data: bytes, *, still_there: bool) -> tuple[bool, str | None]:
        """Whether the new file got into its place, whatever stands there now; and the name of what came out, if any.

        ``still_there``: the old one, or its like, is in its place.
        """
        system, tmp = self.folder.system, self.folder.tmp
        own, aside = temporary_name(record.revision, data), f"{record.sequence}.came-out"
        names = system.names(tmp)
        if own in names:
            if not stat.S_ISREG(system.look(own, folder=tmp).st_mode):
                return False, None
            found = read_file(system, own, tmp)
            if record.retired is not None and bytes_digest(found) == record.retired.digest:
                swapped = not still_there
            else:
                # The new file itself may be half written: a recovery was stopped, or the machine.
                swapped = found != data and not is_damage(found, data, missing=False)
            return swapped, own if swapped else None
        if aside in names:
            return True, aside
        kept = any(name.startswith(f"{record.sequence:012d}-") for name in system.names(self.folder.gen))
        # A stop of the machine may have taken the new file out of tmp/; a stop of the process cannot.
        return kept or record.boot == system.boot(), None

    def _keep(self, record: Record, out: str | None) -> tuple[ExternalVersion, ...]:
        """Keep aside what came out; ``ExternalVersion`` if it is an external writer's."""
        if out is None:
            return tuple(self.writers.unrecorded(record))
        system, tmp = self.folder.system, self.folder.tmp
        status = system.look(out, folder=tmp)
        found = read_file(system, out, tmp)
        state = state_of(status, found)
        replaced = record.retired is not None and state.digest == record.retired.digest
        parent = self.writers.origin(record, found)
        trust = "whole" if replaced else self.writers.trust(record, found, parent)
        if trust == "none":
            set_aside(self.folder, out)
            return ()
        self.publication.retire(out, record.sequence, state)
        if replaced:
            return ()
        return (ExternalVersion("adopt", found, parent, record.sequence, state, state, doubtful=trust == "doubtful"),)

    def _is_replaced(self, sight: ObservedFile, record: Record) -> bool:
        if record.retired is None:
            return sight.missing
        return not sight.missing and bytes_digest(sight.data) == record.retired.digest

    def _put_in_place(self, sight: ObservedFile, record: Record, data: bytes) -> None:
        if not self._is_replaced(sight, record):
            self._keep_copy(sight)
        temporary = self.publication.prepare(data, sight, record.revision)
        published = self.publication.publish(sight, record, temporary)
        self.writers.adopt_all(published.external, published.record)

    def _keep_copy(self, sight: ObservedFile) -> None:
        from catmem.store.files.retention import keep_backup

        if sight.data:
            keep_backup(self.folder, self.name, sight.data, sight.status)

    def restore(self) -> str | None:
        """Restore the file if a stop of the machine damaged it since its last record; returns the new revision."""
        record = self.journal.head(self.name)
        if record is None or record.boot == self.folder.system.boot():
            return None
        data = self.journal.data(record)
        with closing(look_at(self.folder, self.name, data)) as sight:
            if not self._is_hurt(sight, record, data):
                return None
            self._keep_copy(sight)
            draft = RecordDraft(
                file=self.name,
                op="restore",
                agent="catmem",
                revision=self.writers.next_revision(),
                parents=(record.revision,),
                op_id=self.folder.system.token(),
                note={AFTER_STOP: 1},
            )
            published = self.publication.put(sight, data, draft)
        if published is None:
            return None  # another program writes to it, so it is no longer what the stop left
        self.writers.adopt_all(published.external, published.record)
        return draft.revision

    def _restore_unmerged(self, record: Record) -> None:
        """Restore the bytes of ``record``, with which another record is still to be merged, if a stop damaged them."""
        data = self.journal.data(record)
        with closing(look_at(self.folder, self.name, data)) as sight:
            if self._is_hurt(sight, record, data):
                self._put_in_place(sight, record, data)

    def _is_hurt(self, sight: ObservedFile, record: Record, data: bytes) -> bool:
        """Whether the machine was started again since ``record``, whose ``data`` were in the file, and damaged it.

        A person may have cut the file as well. So it must have changed last when the disk may still have lost it: soon
        after the record, or just before the start. NUL bytes are no person's. The time is that of the file's last
        change (ctime), which no program sets.
        """
        system, status = self.folder.system, sight.status
        if not system.boot() or record.boot == system.boot() or status is None:
            return False
        if not is_damage(sight.data, data, missing=False):
            return False
        if sight.data.endswith(b"\0"):
            return True
        recorded, started = datetime.fromisoformat(record.timestamp).timestamp(), system.booted_at()
        soon = status.st_ctime <= recorded + MAY_BE_LOST or status.st_ctime >= started - MAY_BE_LOST
        return status.st_ctime < started and soon
