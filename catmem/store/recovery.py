"""Finish what a stopped process, or a stopped machine, left half done. Runs under the lock, before every write.

Only the last record of a journal can be unfinished, since every write begins here. What it finds:

- the recorded file is not in place: it is put there (the journal is the commit point);
- it is in place, and what came out of it still lies in ``tmp/``: that is kept aside, or joined if it is an outsider's;
- an outsider's bytes are recorded and not yet merged: they are;
- the file is empty, full of NUL bytes or cut short, as a machine that stopped leaves it: it is restored, and what was
  found is kept beside it. A file that somebody emptied on purpose is left alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.digest import bytes_digest
from catmem.store.backups import keep_backup
from catmem.store.contract import EXTERNAL
from catmem.store.faults import store_error
from catmem.store.outside import MERGE_WITH, STILL_TO_MERGE, Outside
from catmem.store.publication import (
    Foreign,
    Publication,
    replaced_revision,
    set_aside,
    state_of,
    temporary_name,
)
from catmem.store.sight import look_at
from catmem.store.whole import read_file

if TYPE_CHECKING:
    from catmem.store.contract import Merge
    from catmem.store.folder import Folder
    from catmem.store.records import Record
    from catmem.store.sight import Sight


def recover(folder: Folder, publication: Publication, merge: Merge | None) -> None:
    """Finish the last record of the folder, and restore the file of ``publication`` if a stop of the machine hurt it.

    Raises ``StoreError``, ``BusyError`` and ``DamagedError``.
    """
    try:
        _drop_second_names(folder)
        last = folder.writable_journal.last
        if last is not None:
            own = publication if last.file == publication.name else publication.of(last.file)
            _Recovery(own, merge).finish(last)
        for name in folder.system.names(folder.tmp):
            set_aside(folder, name)
        _Recovery(publication, merge).restore_after_boot()
    except OSError as error:
        raise store_error(error, folder.path) from error


def _drop_second_names(folder: Folder) -> None:
    """A file may have its name and one in ``tmp/`` still: the second goes."""
    here = {_identity(folder, name, folder.tmp): name for name in folder.system.names(folder.tmp)}
    if not here:
        return
    for name in folder.writable_journal.files():
        identity = _identity(folder, name, folder.descriptor)
        if identity in here:
            folder.system.unlink(here[identity], folder=folder.tmp)


def _identity(folder: Folder, name: str, where: int) -> tuple[int, int] | None:
    try:
        status = folder.system.look(name, folder=where)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


class _Recovery:
    """The recovery of one file."""

    def __init__(self, publication: Publication, merge: Merge | None) -> None:
        self.publication = publication
        self.folder = publication.folder
        self.name = publication.name
        self.journal = self.folder.writable_journal
        self.outside = Outside(publication, merge)

    def finish(self, last: Record) -> None:
        """Finish the last record of the journal, which is one of this file."""
        if MERGE_WITH in last.note and last.agent == EXTERNAL:
            visible = self.journal.find(self.name, str(last.note[MERGE_WITH]))
            if visible is not None:
                self.outside.join(last, visible)
        elif STILL_TO_MERGE in last.note and last.agent == EXTERNAL:
            waiting = self.journal.find(self.name, str(last.note[STILL_TO_MERGE]))
            if waiting is not None:
                self.outside.join(waiting, last)
        elif last.publishes and last.sequence > self.folder.published():
            self._publish(last)
        elif last.publishes:
            self.outside.take_in_all(tuple(self.outside.unrecorded(last)), last)

    def _publish(self, record: Record) -> None:
        self.journal.flush()  # whoever wrote the record may not have lived to wait for the disk
        data = self.journal.data(record)
        sight = look_at(self.folder, self.name, data)
        try:
            if sight.data == data and not sight.missing:
                self._tidy(record, data)
            elif self._is_replaced(sight, record) or _is_damage(sight.data, data, missing=sight.missing):
                self._put_in_place(sight, record, data)
            else:
                sight.close()
                base = self.journal.find(self.name, replaced_revision(record))
                self.outside.take_in_over(sight.data, base, record)
        finally:
            sight.close()

    def _is_replaced(self, sight: Sight, record: Record) -> bool:
        """Whether the file is what the record was to replace."""
        if record.retired is None:
            return sight.missing
        return not sight.missing and bytes_digest(sight.data) == record.retired.digest

    def _put_in_place(self, sight: Sight, record: Record, data: bytes) -> None:
        if not self._is_replaced(sight, record) and sight.data:
            keep_backup(self.folder, self.name, sight.data, sight.status)
        temporary = self.publication.prepare(data, sight)
        put = self.publication.publish(sight, record, temporary)
        self.outside.take_in_all(put.foreign, put.record)

    def _tidy(self, record: Record, data: bytes) -> None:
        """The file is in place. What came out may still lie in ``tmp/``, and may be an outsider's."""
        names = self.folder.system.names(self.folder.tmp)
        out = next((name for name in (temporary_name(data), f"{record.sequence}.came-out") if name in names), None)
        foreign: tuple[Foreign, ...] = ()
        if out is None:
            foreign = tuple(self.outside.unrecorded(record))
        else:
            status = self.folder.system.look(out, folder=self.folder.tmp)
            found = read_file(self.folder.system, out, self.folder.tmp)
            state = state_of(status, found)
            self.publication.retire(out, record.sequence, state)
            if record.retired is None or state.digest != record.retired.digest:
                parent = replaced_revision(record)
                foreign = (Foreign("adopt", found, parent, record.sequence, state, state),)
        self.publication.settle(record)
        self.outside.take_in_all(foreign, record)

    def restore_after_boot(self) -> None:
        """Restore the file if the machine was started again since its last record and left it damaged."""
        head = self.journal.head(self.name)
        system = self.folder.system
        if head is None or not system.boot() or head.boot == system.boot():
            return
        data = self.journal.data(head)
        sight = look_at(self.folder, self.name, data)
        try:
            before_boot = sight.status is not None and sight.status.st_mtime < system.booted_at()
            if before_boot and _is_damage(sight.data, data, missing=sight.missing):
                self._put_in_place(sight, head, data)
        finally:
            sight.close()


def _is_damage(found: bytes, recorded: bytes, *, missing: bool) -> bool:
    """Whether a stop of the machine may have made ``found`` of ``recorded``: empty, NUL bytes, or the front of it."""
    if missing or len(found) >= len(recorded):
        return bool(found) and not found.strip(b"\0") and found != recorded
    return not found.strip(b"\0") or recorded.startswith(found)
