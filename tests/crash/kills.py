"""A process that is killed before any one of its system calls, or in the middle of a write."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from catmem.errors import DriftError, StoreError
from catmem.store.contract import Change
from catmem.store.files.file_store import FileStore
from catmem.store.files.publication import Publication
from catmem.store.files.segments import walk
from catmem.store.files.system import System
from tests.crash.checks import check
from tests.crash.interleavings import drifted, existing, fresh, late, removed, written_before
from tests.crash.outsiders import KINDS, Outsider, RenameOver
from tests.crash.scene import ENTITY, Scene, line, small_segments, trial_in
from tests.crash.watched import Call, Watched
from tests.erasures import erasure_of
from tests.store.memory import InMemoryStore


class Killed(BaseException):
    """The process is no more. No `except` of the store may catch it."""


class Kill(NamedTuple):
    """Before the call with this number; or, with `half`, in the middle of it, if it is a write.

    With `changes` only the calls that change something are counted: how often the store looks depends on the time.
    """

    point: int
    half: bool = False
    changes: bool = False


CHANGES = frozenset(
    {"write_at", "truncate", "fsync", "make_folder", "link", "rename", "exchange", "unlink", "change_mode"}
)


class Mortal(Watched):
    """Is killed at one call. From then on nothing is done any more, but that descriptors are closed as a process's are."""

    def __init__(self, kill: Kill | None, under: System | None = None) -> None:
        super().__init__(under)
        self.kill = kill
        self.kill_at_call = ""
        self.changed = 0
        self.killed = False
        self.held: set[int] = set()

    def around(self, call: Call, make: Callable[[], Any]) -> Any:
        if not self.killed and (call.name == self.kill_at_call or self._is_due(call)):
            self.killed = True
            if self.kill is not None and self.kill.half and call.name == "write_at":
                descriptor, data, *rest = call.arguments
                getattr(self.under, call.name)(descriptor, data[: len(data) // 2], *rest)
        if self.killed:
            self.die()
            if call.name == "close":
                self._close(call.arguments[0])
            raise Killed
        if call.name == "sleep":
            return None
        result = make()
        if call.name == "open":
            self.held.add(result)
        elif call.name == "close":
            self.held.discard(call.arguments[0])
        return result

    def _is_due(self, call: Call) -> bool:
        if self.kill is None:
            return False
        number = call.number
        if self.kill.changes:
            number = self.changed if call.name in CHANGES else -1
            self.changed += call.name in CHANGES
        return number == self.kill.point

    def die(self) -> None:
        """The end. Nothing to do here: whoever called does not go on."""

    def bury(self) -> None:
        """Close what the process had open, as the system does: locks and leases go with it."""
        for descriptor in sorted(self.held):
            self.under.close(descriptor)
        self.held.clear()

    def _close(self, descriptor: int) -> None:
        # The folder of a root is opened outside of `System`, so it may not be among those that are held.
        self.under.close(descriptor)
        self.held.discard(descriptor)


class Meeting(Mortal):
    """Beside that, an outsider renames a file over the store's just before it is swapped."""

    outsider: RenameOver | None = None

    def around(self, call: Call, make: Callable[[], Any]) -> Any:
        if call.swaps and self.outsider is not None and not self.outsider.acted and not self.killed:
            self.outsider.act()
        return super().around(call, make)


class Operation(NamedTuple):
    """What is done and killed.

    `adds` is the line that it adds, `takes` are those that it may take out of the file. `repeats`: a person whose
    process died runs it again. `meets`: an outsider's file gets in the way. `records`: as many in a segment of the
    journal. `afterwards` is held at the end.
    """

    begin: Callable[[Scene], None]
    act: Callable[[Scene, FileStore], None]
    adds: frozenset[bytes] = frozenset()
    takes: frozenset[bytes] = frozenset()
    repeats: bool = False
    meets: bool = False
    records: int = 256
    afterwards: Callable[[Scene], None] = lambda _: None


# --- what there is before -------------------------------------------------------------------------------------------


def late_and_changed(scene: Scene) -> None:
    """Late bytes, and an outsider's in the file itself."""
    late(scene)
    scene.outside("since")


def full_segment(scene: Scene) -> None:
    """A journal whose newest segment has no room for another record."""
    store = scene.store()
    for name in ("first", "second", "third", "fourth"):
        scene.add(store, name)
    store.close()
    assert len(list(scene.side.glob("journal/*.log"))) == 1


def unfinished(scene: Scene) -> None:
    """Late bytes, a leftover of a write that came to nothing, and a write that stopped once it was recorded."""
    system = Mortal(None)
    store = scene.store(system)
    scene.add(store, "first")
    with scene.path.open("ab", buffering=0) as held:
        scene.add(store, "second")
        system.kill_at_call = "exchange" if system.features().exchange else "link"
        assert _dies(system, lambda: scene.add(store, "unfinished"))
        held.write(line("late"))
    scene.visible |= {line("unfinished"), line("late")}
    (scene.side / "tmp" / "left").write_bytes(b"left\n")


def with_a_branch(scene: Scene) -> None:
    existing(scene)
    store = scene.store()
    answer = store.commit(
        ENTITY, "1", lambda current: current.data + line("beside"), Change(op_id="beside", on_stale="branch")
    )
    scene.acknowledged[str(answer.revision)] = answer.data
    store.close()


def damaged(scene: Scene) -> None:
    existing(scene)
    segment = next((scene.side / "journal").glob("*.log"))
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    scene.acknowledged.clear()  # of the history that began anew, nothing is acknowledged yet


def with_a_secret(scene: Scene) -> None:
    """A line that is to be forgotten is in the file, its history, a retired file and a backup."""
    store = scene.store()
    for name in ("first", "secret", "third"):
        scene.add(store, name)
    store.backup(ENTITY)
    store.close()
    scene.acknowledged = {revision: _without(data) for revision, data in scene.acknowledged.items()}
    scene.visible.discard(SECRET)


SECRET = line("secret")


def _without(data: bytes) -> bytes:
    return data.replace(SECRET, b"")


# --- what is done ---------------------------------------------------------------------------------------------------


def add(scene: Scene, store: FileStore) -> None:
    scene.add(store, "ours", op_id="ours")


def insert(scene: Scene, store: FileStore) -> None:
    scene.insert(store, "ours")


def restore(scene: Scene, store: FileStore) -> None:
    store.commit(ENTITY, None, lambda _: store.read(ENTITY, "1").data, Change(op="restore"))


def backup(scene: Scene, store: FileStore) -> None:
    assert store.backup(ENTITY).read_bytes() == scene.read()


def refuse(scene: Scene, store: FileStore) -> None:
    try:
        store.commit(ENTITY, "1", lambda current: current.data + b"never\n", Change())
    except DriftError as refused:
        assert refused.drift_backup is not None
        return
    raise AssertionError("a write with an old view was not refused")


def branch(scene: Scene, store: FileStore) -> None:
    change = Change(op_id="ours", on_stale="branch")
    answer = store.commit(ENTITY, "1", lambda current: current.data + line("ours"), change)
    assert answer.branch
    scene.acknowledged[str(answer.revision)] = answer.data


def merge(scene: Scene, store: FileStore) -> None:
    scene.write(store, "ours", lambda current: current.data + line("ours"), Change(merges=("2a",)))


def merge_nothing(scene: Scene, store: FileStore) -> None:
    answer = store.commit(ENTITY, None, lambda current: current.data, Change(merges=("2a",)))
    scene.acknowledged[str(answer.revision)] = answer.data


def bring(scene: Scene, store: FileStore) -> None:
    """Repeated by a person: a history that is there already is refused, and is there."""
    try:
        store.import_history(ENTITY, elsewhere().replay(ENTITY))
    except StoreError as error:
        if error.code != "not_empty":
            raise
    scene.acknowledged |= {revision.revision: data for revision, data in elsewhere().replay(ENTITY)}
    scene.visible |= {line("second"), line("ninth")}


@cache
def elsewhere() -> InMemoryStore:
    """One and the same each time: a store with nine revisions and two branches, of which one is the newest of all."""
    store = InMemoryStore()
    for name in ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"):
        store.commit(ENTITY, None, lambda _, name=name: line("second") + line(name), Change())
        if name in {"third", "ninth"}:
            store.commit(ENTITY, "2", lambda _, name=name: line(f"beside {name}"), Change(on_stale="branch"))
    return store


def mend(scene: Scene, store: FileStore) -> None:
    store.mend()


def forget(scene: Scene, store: FileStore) -> None:
    store.commit(ENTITY, None, lambda current: _without(current.data), Change(op="remove"))
    store.erase(ENTITY, erasure_of(_without))


# --- what holds afterwards ------------------------------------------------------------------------------------------


def nothing_tells_the_secret(scene: Scene) -> None:
    """No file has it, and no revision: those that held it are packed in the journal."""
    for name, data in scene.tree().items():
        assert SECRET not in data, name
    store = scene.store()
    assert not [revision for revision, data in store.replay(ENTITY) if SECRET in data]
    store.close()


def ours_is_not_in_the_file(scene: Scene) -> None:
    assert line("ours") not in scene.read()


def the_branch_is_there(scene: Scene) -> None:
    store = scene.store()
    assert store.read(ENTITY, "2a").data == line("first") + line("beside")
    store.close()


def all_of_it_is_there(scene: Scene) -> None:
    store = scene.store()
    names = [revision.revision for revision, _ in store.replay(ENTITY)]
    store.close()
    assert names[:11] == ["1", "2", "3", "3a", "4", "5", "6", "7", "8", "9", "3b"]


def the_damaged_journal_is_kept(scene: Scene) -> None:
    assert list(scene.side.glob("damaged-*/*.log"))


OURS = frozenset({line("ours")})

OPERATIONS: dict[str, Operation] = {
    "add, no file": Operation(fresh, add, OURS),
    "add to a person's file": Operation(written_before, add, OURS),
    "add": Operation(existing, add, OURS),
    "rewrite": Operation(existing, insert, OURS),
    "add to a changed file": Operation(drifted, add, OURS),
    "add to a removed file": Operation(removed, add, OURS),
    "add with late bytes": Operation(late, add, OURS),
    "add with late bytes to a changed file": Operation(late_and_changed, add, OURS),
    "add that meets a new file": Operation(existing, add, OURS, meets=True),
    "add that meets a new file, with late bytes": Operation(late, add, OURS, meets=True),
    "add that begins a segment": Operation(full_segment, add, OURS, records=4),
    "restore": Operation(existing, restore, takes=frozenset({line("second")})),
    "backup": Operation(existing, backup),
    "refuse": Operation(drifted, refuse),
    "mend": Operation(unfinished, mend),
    "mend a damaged journal": Operation(damaged, mend, repeats=True, afterwards=the_damaged_journal_is_kept),
    "forget": Operation(with_a_secret, forget, repeats=True, afterwards=nothing_tells_the_secret),
    "branch": Operation(existing, branch, OURS, afterwards=ours_is_not_in_the_file),
    "branch of a changed file, with late bytes": Operation(
        late_and_changed, branch, OURS, afterwards=ours_is_not_in_the_file
    ),
    "branch that begins a segment": Operation(
        full_segment, branch, OURS, records=4, afterwards=ours_is_not_in_the_file
    ),
    "merge": Operation(with_a_branch, merge, OURS, afterwards=the_branch_is_there),
    "merge that changes nothing": Operation(with_a_branch, merge_nothing, afterwards=the_branch_is_there),
    "bring": Operation(fresh, bring, records=4, repeats=True, afterwards=all_of_it_is_there),
}

BY_PERSONS = ("mend a damaged journal", "forget", "bring")
"""Nothing goes on by itself after these were stopped: a person runs them again."""


# --- one kill -------------------------------------------------------------------------------------------------------


class Run(NamedTuple):
    """`calls` of the operation; `killed` tells whether it was stopped before its end."""

    calls: list[Call]
    killed: bool


def kill_at(
    root: Path,
    operation: Operation,
    kill: Kill | None,
    *,
    again: Kill | None = None,
    meanwhile: str | None = None,
    under: System | None = None,
    publication: type[Publication] = Publication,
) -> Run:
    """Begin, kill the operation at `kill`, then kill the recovery at `again`, open a new store and check.

    An outsider of the kind `meanwhile` acts between the kill and the recovery.
    """
    with small_segments(operation.records):
        scene = Scene(root)
        operation.begin(scene)
        system = (Meeting if operation.meets else Mortal)(kill, under)
        outsider = RenameOver(scene, "outsider")
        if isinstance(system, Meeting):
            system.outsider = outsider
        store = scene.store(system, publication)
        run = Run(system.calls, _dies(system, lambda: operation.act(scene, store)))
        scene.visible |= outsider.lines
        scene.visible -= operation.takes
        unsure = set(operation.adds | operation.takes)
        if meanwhile is not None:
            unsure |= _act(scene, KINDS[meanwhile](scene, "meanwhile"))
        if again is not None:
            dying = Mortal(again, under)
            dies = scene.store(dying, publication)
            _dies(dying, lambda: operation.act(scene, dies) if operation.repeats else _write_nothing(dies))
        reopened = scene.store(under, publication)
        try:
            if operation.repeats:
                operation.act(scene, reopened)
            check(scene, reopened, unsure=unsure, system=under)
            operation.afterwards(scene)
        finally:
            reopened.close()
        return run


def _act(scene: Scene, outsider: Outsider) -> set[bytes]:
    outsider.act()
    outsider.finish()
    scene.visible |= outsider.lines
    gone = {each for each in scene.visible if each in outsider.removed}
    scene.visible -= gone
    return gone


def _dies(system: Mortal, act: Callable[[], None]) -> bool:
    try:
        act()
    except Killed:
        return True
    finally:
        system.bury()  # who is not killed in the operation is killed right after it
    return False


def _write_nothing(store: FileStore) -> None:
    store.commit(ENTITY, None, lambda current: current.data, Change())


def kills(calls: list[Call]) -> Iterator[Kill]:
    for call in calls:
        yield Kill(call.number)
        if call.name == "write_at":
            yield Kill(call.number, half=True)
    yield Kill(len(calls))


def every_kill(folder: Path, operation: Operation) -> list[Kill]:
    with trial_in(folder) as root:
        return list(kills(kill_at(root, operation, None).calls))


# --- a real one -----------------------------------------------------------------------------------------------------


class Suicidal(Mortal):
    """Ends its process for real: nothing of it runs any more, and the system closes what it had open."""

    def die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def killed_state(root: Path, operation: Operation, kill: Kill, *, real: bool) -> Outline:
    """What a killed process leaves: a real one in a process of its own, or one that is only said to be killed."""
    scene = Scene(root)
    operation.begin(scene)
    if not real:
        system = Mortal(kill)
        store = scene.store(system)
        _dies(system, lambda: operation.act(scene, store))
        return outline(scene)
    child = os.fork()
    if child == 0:
        try:
            operation.act(scene, scene.store(Suicidal(kill)))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    return outline(scene)


class Outline(NamedTuple):
    """What a folder holds, less what is different each time: names and sizes of files, the records of the journal."""

    file: bytes
    names: list[str]
    lines: list[int]
    torn: bool
    published: bytes


def outline(scene: Scene) -> Outline:
    tree = scene.tree()
    names = [name for name in tree if "/gen/" in name or "/tmp/" in name or ".bak." in name]
    walks = [walk(data) for name, data in sorted(tree.items()) if name.endswith(".log")]
    return Outline(
        file=scene.read(),
        names=sorted(names),
        lines=[len(each.lines) for each in walks],
        torn=any(each.end < each.size for each in walks),
        published=tree.get("neo/.catmem/published", b""),
    )
