"""The protocol with one step left out or done wrong, twelve times; and for each the check that must see it.

A mutant is a `System` or a `Publication` of its own. The check runs with it, and must fail; and it runs without, and must
hold.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

from catmem.errors import BusyError, CatmemError, DriftError, StoreError
from catmem.store.contract import Change
from catmem.store.files.folder import Folder
from catmem.store.files.observed_file import ObservedFile
from catmem.store.files.publication import ExternalVersion, Publication, Published
from catmem.store.files.records import Record, RecordDraft
from catmem.store.files.recovery import recover
from catmem.store.files.retention import keep_backup
from catmem.store.files.system import System, write_whole
from tests.crash.checks import Lost, check
from tests.crash.disk import LONG_AGO
from tests.crash.failing import FULL, Fault, fail_at
from tests.crash.interleavings import Action, Company, existing, interleave
from tests.crash.kills import OPERATIONS, every_kill, kill_at
from tests.crash.outsiders import RenameOver
from tests.crash.scene import ENTITY, Scene, line, merge_lines, trial_in
from tests.crash.states import Rebooted, stop, tell
from tests.crash.watched import Call, Watched

# --- what is wrong --------------------------------------------------------------------------------------------------


class NoLease(System):
    """Takes what it reads for whole."""

    def lease(self, descriptor: int, *, exclusive: bool = False) -> bool:
        return True

    def lease_stands(self, descriptor: int) -> bool:
        return True

    def give_back(self, descriptor: int) -> None:
        pass


class NoSync(Watched):
    """Does not wait until the disk keeps some of what it should."""

    def skips(self, descriptor: int) -> bool:
        raise NotImplementedError

    def around(self, call: Call, make: Callable[[], Any]) -> Any:
        return None if call.name == "fsync" and self.skips(call.arguments[0]) else make()


class NoTempSync(NoSync):
    """The new file."""

    def skips(self, descriptor: int) -> bool:
        return _path(descriptor).parent.name == "tmp"


class NoJournalSync(NoSync):
    """The record."""

    def skips(self, descriptor: int) -> bool:
        return _path(descriptor).parent.name == "journal"


class NoFolderSync(NoSync):
    """The names."""

    def skips(self, descriptor: int) -> bool:
        return _path(descriptor).is_dir()


class JournalAfterPublish(Publication):
    """Puts the file in place, and records that afterwards."""

    def put(self, sight: ObservedFile, data: bytes, draft: RecordDraft) -> Published | None:
        temporary = self.prepare(data, sight, draft.revision)
        if not self.undisturbed(sight):
            self.system.unlink(temporary, folder=self.folder.tmp)
            return None
        if sight.missing:
            return super().put(sight, data, draft)
        self.system.exchange(temporary, self.name, old_folder=self.folder.tmp, new_folder=self.folder.descriptor)
        record = self.record(sight, data, draft, temporary)
        external = self.inspect(sight, record, temporary)
        self.settle(record)
        late = self.release(sight, record)
        return Published(record, tuple(each for each in (external, late) if each))


class TruncateInPlace(Publication):
    """Cuts the file and writes it anew."""

    def swap(self, sight: ObservedFile, record: Record, temporary: str) -> ExternalVersion | None:
        data = self.folder.writable_journal.head_data(self.name)
        sight.let_go()
        descriptor = self.system.open(self.name, os.O_WRONLY | os.O_CREAT, folder=self.folder.descriptor)
        try:
            self.system.truncate(descriptor, 0)
            write_whole(self.system, descriptor, data)
        finally:
            self.system.close(descriptor)
        self.system.unlink(temporary, folder=self.folder.tmp)
        sight.data = data
        return None


class SwapBack(Publication):
    """Puts an outsider's file back where it was, and thinks that this undoes all."""

    def inspect(self, sight: ObservedFile, record: Record, temporary: str) -> ExternalVersion | None:
        out = self.system.look(temporary, folder=self.folder.tmp)
        if sight.status is not None and not os.path.samestat(out, sight.status):
            names = {"old_folder": self.folder.tmp, "new_folder": self.folder.descriptor}
            self.system.exchange(temporary, self.name, **names)
            self.system.unlink(temporary, folder=self.folder.tmp)
            return None
        return super().inspect(sight, record, temporary)


class NoRetention(Publication):
    """Removes what it took out of the place at once."""

    def retire(self, temporary: str, sequence: int, state: Any) -> None:
        self.system.unlink(temporary, folder=self.folder.tmp)


class NoRecheck(Publication):
    """Does not look again before the commit point."""

    def undisturbed(self, sight: ObservedFile) -> bool:
        return True


class LockDropped(System):
    """Says that it has the lock."""

    def lock(self, descriptor: int) -> bool:
        return True


class LeaseLeaked(System):
    """Has `close` give the lease back, which it does not while a forked child has the file open too."""

    def give_back(self, descriptor: int) -> None:
        pass


class BackupAfterWrite(Publication):
    """Makes the copy of what it replaces after it replaced it."""

    waiting: list[tuple[Any, ...]]

    def publish(self, sight: ObservedFile, record: Record, temporary: str) -> Published:
        put = super().publish(sight, record, temporary)
        while type(self).waiting:
            keep_backup(*type(self).waiting.pop())
        return put


def _path(descriptor: int) -> Path:
    return Path(f"/proc/self/fd/{descriptor}").readlink()


# --- what sees it ---------------------------------------------------------------------------------------------------


class Protocol(NamedTuple):
    """What a check is run with: the calls, the publication, and what stands between the store and a modelled disk."""

    system: type[System] = System
    publication: type[Publication] = Publication
    over: type[Watched] = Watched

    def choices(self) -> dict[str, Any]:
        """What a trial takes of it."""
        return {"under": self.system(), "publication": self.publication}


def no_write_is_made_on_half_a_file(folder: Path, protocol: Protocol) -> None:
    for point in range(15, 60, 3):
        with trial_in(folder) as root:
            interleave(root, "a file", [Action("slow rewrite", point)], **protocol.choices())


def an_acknowledged_write_is_in_the_file_on_the_disk(folder: Path, protocol: Protocol) -> None:
    """Whoever reads the file after a stop of the machine, before the store recovers anything, finds it."""
    for number, moment in enumerate(tell(folder / "told", protocol.over, protocol.publication)):
        if moment.told == "acknowledged":
            scene = Scene(folder / str(number))
            moment.disk.nothing_unsynced().write_to(scene.root)
            missing = [each for each in moment.known.visible if each not in scene.read()]
            if missing:
                raise Lost(f"{missing} are not on the disk: {scene.read()!r}")


def no_stop_of_the_machine_loses_what_was_acknowledged(folder: Path, protocol: Protocol) -> None:
    moments = tell(folder / "told", protocol.over, protocol.publication)
    for number in range(60):
        chance = Random(number)
        try:
            with trial_in(folder) as root:
                stop(root, chance.choice(moments), chance, publication=protocol.publication)
        except CatmemError as error:
            raise Lost(f"the store cannot be opened again: {error!r}") from error


def no_kill_loses_anything(folder: Path, protocol: Protocol) -> None:
    operation = OPERATIONS["add that meets a new file"]
    for kill in every_kill(folder, operation):
        with trial_in(folder) as root:
            kill_at(root, operation, kill, **protocol.choices())


def no_error_leaves_half_a_file(folder: Path, protocol: Protocol) -> None:
    operation = OPERATIONS["rewrite"]
    for point in range(20, 70, 2):
        for kind in (FULL, "EIO"):
            with trial_in(folder) as root:
                fail_at(root, operation, Fault(kind, point), **protocol.choices())


def two_outsiders_lose_nothing(folder: Path, protocol: Protocol) -> None:
    with trial_in(folder) as root:
        calls = interleave(root, "a file", [], **protocol.choices()).calls
    for first in range(calls):
        for second in range(first, first + 4):
            both = [Action("rename over", first), Action("rename over", second)]
            with trial_in(folder) as root:
                interleave(root, "a file", both, merge=merge_lines, **protocol.choices())


def a_late_append_is_found(folder: Path, protocol: Protocol) -> None:
    with trial_in(folder) as root:
        interleave(root, "a file", [Action("held-open append", 0)], **protocol.choices())


class _Before(Company):
    """Has the outsider act before the last look at the file."""

    def around(self, call: Call, make: Callable[[], Any]) -> Any:
        wrote = [each for each in self.calls if each.name == "write_at"]
        if wrote and call.name == "look" and call.arguments[0] == "USER.md":
            for _, outsider in self.outsiders:
                if not outsider.acted:
                    outsider.act()
        return super().around(call, make)


def a_view_that_is_old_at_the_commit_point_is_refused(folder: Path, protocol: Protocol) -> None:
    scene = Scene(folder / "scene")
    existing(scene)
    outsider = RenameOver(scene, "outsider")
    system = _Before(scene, [(-1, outsider)], protocol.system())
    store = scene.store(system, protocol.publication)
    try:
        store.commit(ENTITY, "2", lambda current: current.data + line("ours"), Change())
    except DriftError:
        return
    finally:
        store.close()
    raise Lost("a write whose caller did not know of an outsider's text was made")


class _Second(Watched):
    """In the middle of a commit another process begins and ends one of its own."""

    def __init__(self, under: System, commit: Callable[[], None]) -> None:
        super().__init__(under)
        self.commit: Callable[[], None] | None = commit

    def around(self, call: Call, make: Callable[[], Any]) -> Any:
        if call.name == "write_at" and self.commit is not None:
            commit, self.commit = self.commit, None
            commit()
        return make()


def two_writers_do_not_meet(folder: Path, protocol: Protocol) -> None:
    scene = Scene(folder / "scene")
    existing(scene)
    other = scene.store(protocol.system(), protocol.publication)

    def second() -> None:
        try:
            scene.add(other, "theirs")
        except BusyError as refused:
            assert refused.code == "locked"

    store = scene.store(_Second(protocol.system(), second), protocol.publication)
    try:
        scene.add(store, "ours")
        check(scene, store)
    except CatmemError as error:
        raise Lost(f"two writers met: {error!r}") from error
    finally:
        store.close()
        other.close()


class _Forks(Watched):
    """Forks a child in the middle of a commit; the child does nothing, with everything open that its parent has open."""

    def __init__(self, under: System) -> None:
        super().__init__(under)
        self.child = 0
        self.end, self.held = os.pipe()

    def around(self, call: Call, make: Callable[[], Any]) -> Any:
        if call.name == "exchange" and not self.child:
            self.child = os.fork()
            if self.child == 0:
                os.close(self.held)
                os.read(self.end, 1)  # until the parent closes it
                os._exit(0)
        return make()

    def stop(self) -> None:
        os.close(self.held)
        os.close(self.end)
        if self.child:
            os.waitpid(self.child, 0)


def a_forked_child_keeps_nobody_waiting(folder: Path, protocol: Protocol) -> None:
    scene = Scene(folder / "scene")
    existing(scene)
    system = _Forks(protocol.system())
    store = scene.store(system, protocol.publication)
    try:
        scene.add(store, "ours")
        assert system.child
        for path in [scene.path, *(scene.side / "gen").iterdir()]:
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK))
            except BlockingIOError as error:
                raise Lost(f"who opens {path.name} waits for a lease that nobody gives back") from error
    finally:
        store.close()
        system.stop()


class _NoCopies(Rebooted):
    """A machine that was started again, and has no room for a copy."""

    def open(self, name: str, flags: int, mode: int = 0o600, *, folder: int | None = None) -> int:
        if ".bak." in name and flags & os.O_CREAT:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().open(name, flags, mode, folder=folder)


def without_a_backup_nothing_is_written(folder: Path, protocol: Protocol) -> None:
    scene = Scene(folder / "scene")
    existing(scene)
    whole = scene.read()
    damaged = whole[:-3]
    scene.path.write_bytes(damaged)
    os.utime(scene.path, (LONG_AGO, LONG_AGO))
    store = scene.store(_NoCopies(), protocol.publication)
    put_off = patch("catmem.store.files.retention.keep_backup", _put_off)
    try:
        with (
            put_off
            if protocol.publication is BackupAfterWrite
            else patch("catmem.store.files.recovery.recover", recover)
        ):
            scene.add(store, "ours")
    except StoreError:
        if scene.read() != damaged:
            raise Lost(f"there is no copy of {damaged!r}, and it is gone") from None
        return
    finally:
        store.close()
    raise Lost("a file was restored without a copy of what it was")


def _put_off(folder: Folder, *arguments: Any) -> None:
    BackupAfterWrite.waiting = [(folder, *arguments)]


class Mutant(NamedTuple):
    """What is wrong, and the check that must see it."""

    protocol: Protocol
    check: Callable[[Path, Protocol], None]


MUTANTS: dict[str, Mutant] = {
    "no lease": Mutant(Protocol(system=NoLease), no_write_is_made_on_half_a_file),
    "no temp fsync": Mutant(Protocol(over=NoTempSync), an_acknowledged_write_is_in_the_file_on_the_disk),
    "no journal fsync": Mutant(Protocol(over=NoJournalSync), no_stop_of_the_machine_loses_what_was_acknowledged),
    "no directory fsync": Mutant(Protocol(over=NoFolderSync), no_stop_of_the_machine_loses_what_was_acknowledged),
    "journal after publish": Mutant(Protocol(publication=JournalAfterPublish), no_kill_loses_anything),
    "truncate in place": Mutant(Protocol(publication=TruncateInPlace), no_error_leaves_half_a_file),
    "swap back": Mutant(Protocol(publication=SwapBack), two_outsiders_lose_nothing),
    "no retention": Mutant(Protocol(publication=NoRetention), a_late_append_is_found),
    "no recheck": Mutant(Protocol(publication=NoRecheck), a_view_that_is_old_at_the_commit_point_is_refused),
    "lock dropped": Mutant(Protocol(system=LockDropped), two_writers_do_not_meet),
    "lease leaked to a fork": Mutant(Protocol(system=LeaseLeaked), a_forked_child_keeps_nobody_waiting),
    "backup after write": Mutant(Protocol(publication=BackupAfterWrite), without_a_backup_nothing_is_written),
}
