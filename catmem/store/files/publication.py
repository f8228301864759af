"""Put new bytes in the place of a file's old ones so that neither a kill nor an external writer loses any.

The order is what makes it safe: new file on the disk, a last look, the journal (from here on the write is committed),
the swap, a look at what came out, the old file kept aside. ``docs/stores.md`` lists the steps.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from catmem.digest import bytes_digest
from catmem.errors import BusyError
from catmem.store.files.observed_file import ObservedFile, read_if_whole, retired_name
from catmem.store.files.records import Record, RecordDraft, Retired
from catmem.store.files.system import not_a_file, opened, read_file, store_errors, write_whole

if TYPE_CHECKING:
    from catmem.store.files.folder import Folder

LATE_WAIT, LATE_TRIES = 0.001, 250
"""Seconds between two looks, and how many, at a writer whom the lease made wait until after the swap."""

_TRIES = 50
_NEW_FILE_MODE = 0o600
_NOT_HERE = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTTY}
RECORDED = "The write is in the journal, so do not repeat it: the next write or 'catmem fsck --repair' finishes it."
"""The hint of an error after the commit point."""


@dataclass(frozen=True, slots=True)
class ExternalVersion:
    """An external writer's bytes that no reader finds: they came out of the file's place, or into a file already out.

    ``op`` is ``adopt`` or ``late``; ``parent`` the revision that they were made from; ``sequence`` that of the record
    whose publication took the file out; ``state`` the file's state now; ``was`` the one that its name in ``gen/`` says.
    ``state`` is ``None`` for a file that an external writer removed, or replaced, while another still wrote to it.
    ``doubtful``: a stop of the machine may have cut it.
    """

    op: str
    data: bytes
    parent: str
    sequence: int
    state: Retired | None
    was: Retired
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class Published:
    """A write that is in place, and what external writers did meanwhile."""

    record: Record
    external: tuple[ExternalVersion, ...]


class Publication:
    """Writes one file of a locked folder. Its steps are methods of their own, so that a test can break each."""

    def __init__(self, folder: Folder, name: str, *, durable: bool = True) -> None:
        """``durable``: have the disk confirm the file and its name too, not the journal alone."""
        self.folder = folder
        self.system = folder.system
        self.name = name
        self.durable = durable
        self.path = folder.file_path(name)

    def for_file(self, name: str) -> Publication:
        """The same for another file of the folder."""
        return type(self)(self.folder, name, durable=self.durable)

    def put(self, sight: ObservedFile, data: bytes, draft: RecordDraft) -> Published | None:
        """Write ``data`` over what ``sight`` saw; ``None`` if another write came between, and nothing was recorded.

        ``sight`` is closed. Raises ``StoreError``; the file is then as it was, or the error says what it is.
        """
        with closing(sight):
            temporary = self.prepare(data, sight, draft.revision)
            if not self.undisturbed(sight):
                self.system.unlink(temporary, folder=self.folder.tmp)
                return None
            record = self.record(sight, data, draft, temporary)
            return self.publish(sight, record, temporary)

    def publish(self, sight: ObservedFile, record: Record, temporary: str) -> Published:
        """Put a recorded write in place: the second half of ``put``, which recovery starts with too."""
        with store_errors(self.path, RECORDED):
            external = self.swap(sight, record, temporary)
            self.settle(record)
            late = self.release(sight, record)
        return Published(record, tuple(each for each in (external, late) if each))

    # --- before the commit point --------------------------------------------------------------------------------

    def prepare(self, data: bytes, sight: ObservedFile, revision: str) -> str:
        """A new file in ``tmp/``, named by revision and digest, with the mode, owner and attributes of the old one."""
        name = temporary_name(revision, data)
        with store_errors(self.path):
            making, descriptor = self._new_file(name)
            try:
                write_whole(self.system, descriptor, data)
                self._look_like(sight, descriptor)
                if self.durable:
                    self.folder.sync(descriptor)
                if making != name:
                    self.system.rename(making, name, old_folder=self.folder.tmp, new_folder=self.folder.tmp)
            except OSError:
                self.system.unlink(making, folder=self.folder.tmp)
                raise
            finally:
                self.system.close(descriptor)
        return name

    def _new_file(self, name: str) -> tuple[str, int]:
        """The name under which the file is made, and its descriptor.

        What a stopped process left under ``name`` keeps it until the new file is whole: only a swap takes it away, so
        that recovery knows of the swap. It is kept in ``gen/`` too.
        """
        flags, tmp = os.O_WRONLY | os.O_CREAT | os.O_EXCL, self.folder.tmp
        try:
            return name, self.system.open(name, flags, _NEW_FILE_MODE, folder=tmp)
        except FileExistsError:
            self.system.link(name, f"left-{self.system.token()}", old_folder=tmp, new_folder=self.folder.gen)
            with suppress(FileNotFoundError):
                self.system.unlink(f"{name}.new", folder=tmp)
            return f"{name}.new", self.system.open(f"{name}.new", flags, _NEW_FILE_MODE, folder=tmp)

    def _look_like(self, sight: ObservedFile, descriptor: int) -> None:
        if sight.status is None or sight.descriptor is None:
            return
        old, new = sight.status, self.system.status(descriptor)
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            self._own(descriptor, old)
        if new.st_mode != old.st_mode:
            self.system.change_mode(descriptor, stat.S_IMODE(old.st_mode))
        if self.folder.features.xattrs:
            try:
                self.system.copy_attributes(sight.descriptor, descriptor)
            except OSError as error:
                if error.errno not in {errno.EOPNOTSUPP, errno.EPERM, errno.EACCES}:
                    raise
                # Attributes of the system's own, which only root may set, or a disk without any: not the user's words.

    def _own(self, descriptor: int, old: os.stat_result) -> None:
        for user, group in ((old.st_uid, old.st_gid), (-1, old.st_gid)):
            try:
                self.system.change_owner(descriptor, user, group)
            except PermissionError:
                continue  # giving files away is for root; a group of one's own may be kept still
            return

    def undisturbed(self, sight: ObservedFile) -> bool:
        """The last look before the commit point."""
        with store_errors(self.path):
            return sight.still_stands(self.folder.descriptor, self.name)

    def record(self, sight: ObservedFile, data: bytes, draft: RecordDraft, temporary: str) -> Record:
        """The commit point."""
        if sight.status is not None:
            draft = replace(draft, retired=state_of(sight.status, sight.data))
        with store_errors(self.path):
            try:
                return self.folder.writable_journal.append(draft, data)
            except OSError:
                self.system.unlink(temporary, folder=self.folder.tmp)
                raise

    # --- after the commit point ---------------------------------------------------------------------------------

    def swap(self, sight: ObservedFile, record: Record, temporary: str) -> ExternalVersion | None:
        """Put the new file in place, and look at what came out."""
        if sight.missing and self._fill_empty_place(temporary):
            return None
        for _ in range(_TRIES):
            try:
                self._exchange(temporary, record)
            except FileNotFoundError:
                # The file was removed after the last look; its bytes are in the journal.
                sight.kept = False
                if self._fill_empty_place(temporary):
                    return None
            else:
                return self.inspect(sight, record, temporary)
        raise BusyError("another program keeps removing and making this file", path=self.path, hint=RECORDED)

    def _fill_empty_place(self, temporary: str) -> bool:
        try:
            self.system.link(temporary, self.name, old_folder=self.folder.tmp, new_folder=self.folder.descriptor)
        except FileExistsError:
            return False
        self.system.unlink(temporary, folder=self.folder.tmp)
        return True

    def _exchange(self, temporary: str, record: Record) -> None:
        if self.folder.features.exchange:
            try:
                self.system.exchange(
                    temporary, self.name, old_folder=self.folder.tmp, new_folder=self.folder.descriptor
                )
            except OSError as error:
                if error.errno not in _NOT_HERE:
                    raise
                self.folder.features = replace(self.folder.features, exchange=False)
            else:
                return
        # Without an exchange: a second name for what is there, then the new file over the first one. A program that
        # renames a file into the place between these two calls loses it; docs/guarantees.md says so.
        kept = f"{record.sequence}.came-out"
        tmp, here = self.folder.tmp, self.folder.descriptor
        self.system.link(self.name, kept, old_folder=here, new_folder=tmp)
        self.system.rename(temporary, self.name, old_folder=tmp, new_folder=here)
        self.system.rename(kept, temporary, old_folder=tmp, new_folder=tmp)

    def inspect(self, sight: ObservedFile, record: Record, temporary: str) -> ExternalVersion | None:
        """What came out is kept aside: an external change, unless it is the file, and the bytes, that ``sight`` saw."""
        out = self.system.look(temporary, folder=self.folder.tmp)
        if not stat.S_ISREG(out.st_mode):
            # No new text: it goes back where it was, and the person sees to it.
            self.system.exchange(temporary, self.name, old_folder=self.folder.tmp, new_folder=self.folder.descriptor)
            raise not_a_file(self.path)
        if sight.status is not None and os.path.samestat(out, sight.status):
            touched = sight.reread_if_touched(leases=self.folder.features.leases)
            if touched is None:
                self.retire(temporary, record.sequence, state_of(out, sight.data))
                return None
            sight.now(touched)
            data = sight.data
        else:
            sight.kept = False
            sight.now(sight.reread_if_touched(leases=self.folder.features.leases))  # which the other one could read
            data = read_file(self.system, temporary, self.folder.tmp)
            if not data.startswith(sight.data):
                found = self._read_out(temporary)
                if found is None:
                    # Half of something. A later write finds it by its name, which no record has, and takes it in.
                    self.retire(temporary, record.sequence, state_of(out, data))
                    return None
                out, data = found
        state = state_of(out, data)
        self.retire(temporary, record.sequence, state)
        return ExternalVersion("adopt", data, replaced_revision(record), record.sequence, state, state)

    def _read_out(self, temporary: str) -> tuple[os.stat_result, bytes] | None:
        """State and bytes of an external writer's file in ``tmp/``; ``None`` while it is being written."""
        with opened(self.system, temporary, self.folder.tmp) as descriptor:
            return read_if_whole(self.system, descriptor, leases=self.folder.features.leases)

    def retire(self, temporary: str, sequence: int, state: Retired) -> None:
        """Keep a file that was taken out: who had it open may still write to it."""
        self.system.rename(
            temporary, retired_name(sequence, state), old_folder=self.folder.tmp, new_folder=self.folder.gen
        )

    def settle(self, record: Record) -> None:
        """Have the disk keep the names, and mark the record as published."""
        if self.durable:
            self.folder.sync(self.folder.descriptor)
        self.folder.mark_published(record.sequence)

    def release(self, sight: ObservedFile, record: Record) -> ExternalVersion | None:
        """Give the lease back, and wait for the program that waited: it writes to the file that is out already."""
        if sight.is_alone():
            sight.let_go()
            return None
        waiting = sight.leased
        sight.let_go()
        if waiting:
            self._await_writer(sight)
        touched = sight.reread_if_touched(leases=self.folder.features.leases)
        if touched is None:
            return None
        status, data = touched
        was = state_of(status, sight.data)
        state = state_of(status, data) if sight.kept else None
        return ExternalVersion("late", data, replaced_revision(record), record.sequence, state, was)

    def _await_writer(self, sight: ObservedFile) -> None:
        """Until no program has the file open for writing; one that takes longer is found by a later write."""
        for _ in range(LATE_TRIES):
            if sight.descriptor is None or self.system.lease(sight.descriptor):
                sight.leased = True
                sight.let_go()
                return
            self.system.sleep(LATE_WAIT)


def replaced_revision(record: Record) -> str:
    """The revision of the bytes that the publication of ``record`` takes out."""
    return record.parents[0] if record.parents else "0"


def temporary_name(revision: str, data: bytes) -> str:
    """The name in ``tmp/`` of a new file with the bytes of a revision, so that recovery knows what it finds there.

    A disk may bring back the name of an older file after a stop, so no two revisions with the same text share one.
    """
    return f"{revision}-{bytes_digest(data).removeprefix('sha256:')}"


def state_of(status: os.stat_result, data: bytes) -> Retired:
    """The state of a file with these bytes. Its size is that of the bytes: the file may have grown since the read."""
    return Retired(size=len(data), mtime_ns=status.st_mtime_ns, digest=bytes_digest(data))


def set_aside(folder: Folder, name: str) -> str:
    """Move something from ``tmp/`` that is in the way to ``gen/``, under a name of its own."""
    aside = f"left-{folder.system.token()}"
    folder.system.rename(name, aside, old_folder=folder.tmp, new_folder=folder.gen)
    return aside
