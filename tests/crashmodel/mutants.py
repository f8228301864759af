"""Twelve ways to break the protocol, and for each a check that the protocol passes and the broken one does not."""

from __future__ import annotations

import errno
import os
import signal
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from catmem.errors import BusyError, CatmemError
from catmem.store.contract import Change
from catmem.store.files import FileStore
from catmem.store.publication import Foreign, Publication, replaced_revision, state_of
from catmem.store.system import System
from catmem.store.whole import read_file
from tests.crash.checks import check
from tests.crash.scene import ENTITY, Scene, line
from tests.crash.watched import Watched
from tests.crashmodel.states import RUNS, recover, states_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Way = tuple[type[System], type[Publication], type[FileStore]]
SOUND: Way = (System, Publication, FileStore)


class Mutant(NamedTuple):
    """A broken protocol, and the check that catches it."""

    way: Way
    caught_by: Callable[[Path, Way], None]


# --- checks ---------------------------------------------------------------------------------------------------------


def crashes(root: Path, way: Way) -> None:
    """No crash, at any moment of any run, loses what was acknowledged or leaves half a file to who only reads."""
    _, publication, _ = way
    root.mkdir(exist_ok=True)
    for name in RUNS:
        states = states_of(root / name, name, publication)
        for number, state in enumerate(states[::7]):
            recover(root / f"{name} {number}", state)


def half_files(root: Path, way: Way) -> None:
    """While somebody is in the middle of rewriting the file, nothing is based on the half of it."""
    scene, store = _begun(root, way)
    with scene.path.open("r+b", buffering=0) as writer:
        writer.truncate()
        writer.write(b"- half of ")
        with suppress(BusyError):
            store.commit(ENTITY, None, lambda current: current.data + b"- ours\n", Change())
        writer.write(b"something\n")
    store.close()
    history = [data for _, data in scene.store().replay(ENTITY)]
    assert not any(data.startswith(b"- half of") and b"something" not in data for data in history), history


def made_on_theirs(root: Path, way: Way) -> None:
    """Who comes before the commit point is not met after it: the update works on what they wrote."""
    scene, store = _begun(root, way)
    came = []

    def update(current):
        scene.seen.append(current.data)
        if not came:
            came.append(_replace(scene, b"- theirs\n" + current.data))
        return current.data + b"- ours\n"

    store.commit(ENTITY, None, update, Change())
    store.close()
    assert b"- theirs\n" in scene.seen[-1], "the write was made on a text that was no longer there"


def late_appends(root: Path, way: Way) -> None:
    """What is written to a file that a write took out is found by a later write."""
    scene, store = _begun(root, way)
    with scene.path.open("ab", buffering=0) as held:
        scene.add(store, "ours")
        held.write(line("late"))
    scene.visible.add(line("late"))
    try:
        check(scene, store)
    finally:
        store.close()


def newest_stays(root: Path, way: Way) -> None:
    """Two outsiders replace the file, one before the swap and one when what came out is looked at: neither is lost."""
    scene = Scene(root)
    scene.begin()
    system_class, publication, store_class = way

    class Busy(Watched):
        before, after = b"- first outsider\n", b"- second outsider\n"
        swaps = 0

        def around(self, call, make):
            if call.name == "exchange":
                self.swaps += 1
                if self.swaps <= 2:
                    text = self.before if self.swaps == 1 else self.before + self.after
                    _replace(scene, text)
            return make()

    store = store_class(scene.place, [ENTITY], merge=scene.merge, system=Busy(system_class()), publication=publication)
    try:
        store.commit(ENTITY, None, lambda current: current.data + b"- ours\n", Change())
    except CatmemError as error:
        if not error.hint:
            raise AssertionError(error) from error
    store.close()
    there = scene.read() + b"".join(data for _, data in scene.store().replay(ENTITY))
    assert Busy.before in there, there
    assert Busy.after in there, there


def one_at_a_time(root: Path, way: Way) -> None:
    """While one store is in the middle of a write, another waits."""
    scene, store = _begun(root, way)
    system_class, publication, store_class = way
    refused = []

    def other() -> None:
        second = store_class(
            scene.place, [ENTITY], merge=scene.merge, system=system_class(), publication=publication, lock_timeout=0.05
        )
        try:
            second.commit(ENTITY, None, lambda current: current.data + b"- other\n", Change())
        except BusyError as error:
            refused.append(error.code)
        finally:
            second.close()
        refused.append("went on")

    def update(current):
        if not refused:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
        return current.data + b"- ours\n"

    try:
        store.commit(ENTITY, None, update, Change())
    except CatmemError:
        refused.insert(0, "broke")
    store.close()
    assert refused[:1] == ["locked"], f"two writers were at it at once: {refused}"


def no_lease_left(root: Path, way: Way) -> None:
    """A child that was forked in the middle of a write keeps nobody waiting after it."""
    scene, store = _begun(root, way)
    children = []

    def update(current):
        if not children:
            child = os.fork()
            if child == 0:
                signal.pause()
                os._exit(0)
            children.append(child)
        return current.data + b"- ours\n"

    try:
        store.commit(ENTITY, None, update, Change())
        for retired in sorted((scene.side / "gen").iterdir()):
            try:
                os.close(os.open(retired, os.O_WRONLY | os.O_NONBLOCK))
            except BlockingIOError as error:
                raise AssertionError("who had the file open still waits for the lease of a child") from error
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        store.close()


def backup_first(root: Path, way: Way) -> None:
    """What depends on a backup is not done if the backup cannot be written."""
    system_class, publication, store_class = way

    class NoRoom(system_class):
        def open(self, name, flags, mode=0o600, *, folder=None):
            if ".bak." in str(name) and flags & os.O_CREAT:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().open(name, flags, mode, folder=folder)

    scene = Scene(root)
    scene.begin()
    before = scene.read()
    store = store_class(scene.place, [ENTITY], merge=scene.merge, system=NoRoom(), publication=publication)
    try:
        store.backup(ENTITY)
        store.commit(ENTITY, None, lambda _: b"- repaired\n", Change(op="repair"))
    except CatmemError as error:
        if error.code != "no_space":
            raise AssertionError(error) from error
    finally:
        store.close()
    assert scene.read() == before, "the file was written, and the copy of what it held was not"


def _begun(root: Path, way: Way) -> tuple[Scene, FileStore]:
    scene = Scene(root)
    scene.begin(2)
    system, publication, store = way
    return scene, store(scene.place, [ENTITY], merge=scene.merge, system=system(), publication=publication)


def _replace(scene: Scene, data: bytes) -> bool:
    """An outsider writes a file of its own and renames it into the place."""
    own = scene.path.with_name("theirs.tmp")
    own.write_bytes(data)
    own.rename(scene.path)
    return True


# --- mutants --------------------------------------------------------------------------------------------------------


class NoLease(System):
    def lease(self, descriptor, *, exclusive=False):
        return True

    def lease_stands(self, descriptor):
        return True

    def give_back(self, descriptor):
        pass


class NoLock(System):
    def lock(self, descriptor):
        return True


class LeaseLeaked(System):
    def give_back(self, descriptor):
        """Leave it to the closing of the file, which a child's copy keeps from happening."""


class NoTempSync(Publication):
    def prepare(self, data, sight):
        durable, self.durable = self.durable, False
        try:
            return super().prepare(data, sight)
        finally:
            self.durable = durable


class NoFolderSync(Publication):
    def settle(self, record):
        self.folder.mark_published(record.sequence)


class NoJournalSync(Publication):
    def record(self, sight, data, draft, temporary):
        journal_folder = os.path.realpath(self.folder.path / ".catmem" / "journal")
        real = self.system.fsync

        def fsync(descriptor):
            if not os.path.realpath(f"/proc/self/fd/{descriptor}").startswith(journal_folder):
                real(descriptor)

        self.system.fsync = fsync
        try:
            return super().record(sight, data, draft, temporary)
        finally:
            self.system.fsync = real


class JournalAfterPublish(Publication):
    def put(self, sight, data, draft):
        try:
            temporary = self.prepare(data, sight)
            if not self.undisturbed(sight):
                self.system.unlink(temporary, folder=self.folder.tmp)
                return None
            if sight.missing:
                self.system.link(temporary, self.name, old_folder=self.folder.tmp, new_folder=self.folder.descriptor)
                self.system.unlink(temporary, folder=self.folder.tmp)
            else:
                self.system.rename(temporary, self.name, old_folder=self.folder.tmp, new_folder=self.folder.descriptor)
            self.folder.sync(self.folder.descriptor)
            record = self.record(sight, data, draft, temporary)
            self.folder.mark_published(record.sequence)
            from catmem.store.publication import Put

            return Put(record, ())
        finally:
            sight.close()


class TruncateInPlace(Publication):
    def swap(self, sight, record, temporary):
        if sight.missing:
            return super().swap(sight, record, temporary)
        data = read_file(self.system, temporary, self.folder.tmp)
        descriptor = (
            self.system.open(self.name, os.O_WRONLY | os.O_NONBLOCK, folder=self.folder.descriptor)
            if (sight.let_go() is None)
            else -1
        )
        try:
            self.system.truncate(descriptor, 0)
            for start in range(0, len(data), 5):
                self.system.write(descriptor, data[start : start + 5])
            self.system.fsync(descriptor)
        finally:
            self.system.close(descriptor)
        self.system.unlink(temporary, folder=self.folder.tmp)
        sight.data = data
        return None


class SwapBack(Publication):
    def inspect(self, sight, record, temporary):
        out = self.system.look(temporary, folder=self.folder.tmp)
        if sight.status is not None and not os.path.samestat(out, sight.status):
            self.system.exchange(temporary, self.name, old_folder=self.folder.tmp, new_folder=self.folder.descriptor)
            self.system.unlink(temporary, folder=self.folder.tmp)
            return None
        return super().inspect(sight, record, temporary)


class NoRetention(Publication):
    def retire(self, temporary, sequence, state):
        self.system.unlink(temporary, folder=self.folder.tmp)

    def release(self, sight, record):
        sight.let_go()


class NoRecheck(Publication):
    def undisturbed(self, sight):
        return True


class BackupLater(FileStore):
    """Writes first, and keeps the copy then."""

    later = False

    def backup(self, entity):
        self.later = True
        return self._locate(entity).path

    def commit(self, entity, expected, update, change):
        done = super().commit(entity, expected, update, change)
        if self.later:
            super().backup(entity)
        return done


MUTANTS: dict[str, Mutant] = {
    "no lease": Mutant((NoLease, Publication, FileStore), half_files),
    "no temp fsync": Mutant((System, NoTempSync, FileStore), crashes),
    "no journal fsync": Mutant((System, NoJournalSync, FileStore), crashes),
    "no directory fsync": Mutant((System, NoFolderSync, FileStore), crashes),
    "journal after publish": Mutant((System, JournalAfterPublish, FileStore), late_appends),
    "truncate in place": Mutant((System, TruncateInPlace, FileStore), crashes),
    "swap back": Mutant((System, SwapBack, FileStore), newest_stays),
    "no retention": Mutant((System, NoRetention, FileStore), late_appends),
    "no recheck": Mutant((System, NoRecheck, FileStore), made_on_theirs),
    "lock dropped": Mutant((NoLock, Publication, FileStore), one_at_a_time),
    "lease leaked to a fork": Mutant((LeaseLeaked, Publication, FileStore), no_lease_left),
    "backup after write": Mutant((System, Publication, BackupLater), backup_first),
}

__all__ = ["MUTANTS", "SOUND", "Foreign", "replaced_revision", "state_of"]
