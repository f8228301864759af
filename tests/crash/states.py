"""What a stop of the machine may leave of a run of the store, and what must hold when the store is opened on that."""

import copy
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from catmem.store.contract import Change
from catmem.store.files.publication import Publication
from catmem.store.files.system import System
from tests.crash.checks import check
from tests.crash.disk import ROOT, Disk, State
from tests.crash.scene import ENTITY, Scene, line, small_segments
from tests.crash.watched import Call, Watched

SEGMENT = 5
"""Records in a segment of the journal: few, so that a run has several."""


@dataclass(frozen=True)
class Known:
    """What was acknowledged at some moment: revisions, lines that must be in the file, lines that may be, backups."""

    acknowledged: dict[str, bytes] = field(default_factory=dict)
    visible: frozenset[bytes] = frozenset()
    unsure: frozenset[bytes] = frozenset()
    backups: dict[str, bytes] = field(default_factory=dict)


class Moment(NamedTuple):
    """The disk after some call, and what was acknowledged by then."""

    disk: Disk
    known: Known
    told: str


class Recorder(Watched):
    """Keeps a model of the disk up to date, and a copy of it after each call that changes anything."""

    def __init__(self, under: System | None = None, state: State | None = None) -> None:
        super().__init__(under)
        self.disk = Disk(state)
        self.known = Known()
        self.moments: list[Moment] = []
        self.numbers: dict[int, int] = {}
        self.before_swap: Callable[[], None] | None = None

    def keep(self, told: str) -> None:
        self.moments.append(Moment(copy.deepcopy(self.disk), self.known, told))

    def around(self, call: Call, make: Callable[[], Any]) -> Any:
        if call.name == "sleep":
            return None
        if call.swaps and self.before_swap is not None:
            act, self.before_swap = self.before_swap, None
            act()
        result = make()
        record = getattr(self, f"_{call.name}", None)
        if record is not None and record(result, *call.arguments, **call.keywords):
            self.keep(str(call))
        return result

    def _folder(self, descriptor: int | None) -> int:
        # The folder of a root is opened outside of `System`, so a folder that nobody knows is that one.
        return ROOT if descriptor is None else self.numbers.get(descriptor, ROOT)

    # --- one for each call that the model knows; the answer is whether anything changed ---------------------------

    def _open(self, result: int, name: str, flags: int, mode: int = 0o600, *, folder: int | None = None) -> bool:
        number = self.disk.find(self._folder(folder), name)
        created = number is None
        if number is None:
            number = self.disk.create(self._folder(folder), name)
        elif flags & os.O_TRUNC:
            self.disk.cut(number, 0)
        self.numbers[result] = number
        return created or bool(flags & os.O_TRUNC)

    def _close(self, result: None, descriptor: int) -> bool:
        self.numbers.pop(descriptor, None)
        return False

    def _write_at(self, result: int, descriptor: int, data: bytes, offset: int) -> bool:
        self.disk.write(self.numbers[descriptor], offset, data[:result])
        return True

    def _truncate(self, result: None, descriptor: int, size: int) -> bool:
        self.disk.cut(self.numbers[descriptor], size)
        return True

    def _fsync(self, result: None, descriptor: int) -> bool:
        self.disk.sync(self._folder(descriptor))
        return True

    def _make_folder(self, result: None, name: str, mode: int, *, folder: int) -> bool:
        self.disk.make_folder(self._folder(folder), name)
        return True

    def _link(self, result: None, old: str, new: str, *, old_folder: int, new_folder: int) -> bool:
        self.disk.link(self._folder(old_folder), old, self._folder(new_folder), new)
        return True

    def _rename(self, result: None, old: str, new: str, *, old_folder: int, new_folder: int) -> bool:
        self.disk.rename(self._folder(old_folder), old, self._folder(new_folder), new)
        return True

    def _exchange(self, result: None, old: str, new: str, *, old_folder: int, new_folder: int) -> bool:
        self.disk.exchange(self._folder(old_folder), old, self._folder(new_folder), new)
        return True

    def _unlink(self, result: None, name: str, *, folder: int) -> bool:
        self.disk.unlink(self._folder(folder), name)
        return True


# --- a run ----------------------------------------------------------------------------------------------------------


class Story:
    """A run of the store, with outsiders, on a recorded disk. Outsiders never wait for the disk."""

    def __init__(self, root: Path, over: type[Watched], publication: type[Publication]) -> None:
        self.scene = Scene(root)
        self.system = Recorder()
        self.store = self.scene.store(over(self.system), publication)
        self.system.keep("nothing yet")

    def acknowledged(self, data: bytes | None = None) -> None:
        """The store said that it wrote this, or (without it) that it did something else that stays."""
        known = self.system.known
        backups = {path.name: path.read_bytes() for path in self.scene.path.parent.glob("*.bak.*")}
        if data is None:
            self.system.known = Known(known.acknowledged, known.visible, known.unsure, backups)
        else:
            lines = frozenset(data.splitlines(keepends=True))
            self.system.known = Known(dict(self.scene.acknowledged), lines, known.unsure - lines, backups)
        self.system.keep("acknowledged")

    def may(self, *lines: bytes) -> None:
        """From now on these lines may be in the file or not."""
        known = self.system.known
        unsure = known.unsure | set(lines)
        self.system.known = Known(known.acknowledged, known.visible - unsure, unsure, known.backups)

    def add(self, name: str) -> None:
        self.may(line(name))
        self.acknowledged(self.scene.add(self.store, name).data)

    def insert(self, name: str) -> None:
        self.may(line(name))
        self.acknowledged(self.scene.insert(self.store, name).data)

    def restore(self, revision: str) -> None:
        old = self.store.read(ENTITY, revision).data
        self.may(*self.scene.read().splitlines(keepends=True), *old.splitlines(keepends=True))
        answer = self.store.commit(ENTITY, None, lambda _: old, Change(op="restore"))
        self.scene.acknowledged[str(answer.revision)] = answer.data
        self.acknowledged(answer.data)

    def backup(self) -> None:
        self.store.backup(ENTITY)
        self.acknowledged()

    @contextmanager
    def _folder(self) -> Iterator[int]:
        root = os.open(self.scene.root, os.O_RDONLY)
        folder = self.system.open("neo", os.O_RDONLY | os.O_DIRECTORY, folder=root)
        yield folder
        self.system.close(folder)
        os.close(root)

    def outsider(self, name: str) -> int:
        """Append a line; the answer is the open file, which the outsider keeps."""
        self.may(line(name))
        with self._folder() as folder:
            descriptor = self.system.open("USER.md", os.O_WRONLY | os.O_APPEND, folder=folder)
            self.system.write_at(descriptor, line(name), os.fstat(descriptor).st_size)
        return descriptor

    def replaces(self, name: str) -> None:
        """An outsider renames a file over the store's."""
        self.may(line(name))
        with self._folder() as folder:
            descriptor = self.system.open("new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, folder=folder)
            self.system.write_at(descriptor, self.scene.read() + line(name), 0)
            self.system.close(descriptor)
            self.system.rename("new", "USER.md", old_folder=folder, new_folder=folder)

    def write_more(self, descriptor: int, name: str) -> None:
        """The outsider who keeps the file open appends another line, and closes it."""
        self.may(line(name))
        self.system.write_at(descriptor, line(name), os.fstat(descriptor).st_size)
        self.system.close(descriptor)


def tell(root: Path, over: type[Watched] = Watched, publication: type[Publication] = Publication) -> list[Moment]:
    """Everything that a store does, once: the disk after each call.

    `over` stands between the store and the disk; the outsiders have the disk to themselves.
    """
    with small_segments(SEGMENT):
        story = Story(root, over, publication)
        story.add("first")
        story.add("second")
        story.insert("at the top")
        held = story.outsider("outside")
        story.add("third")
        story.write_more(held, "late")
        story.add("fourth")
        story.system.before_swap = lambda: story.replaces("came out")
        story.add("fifth")
        story.backup()
        story.restore("2")
        story.add("sixth")
        story.insert("at the very top")
        story.add("seventh")
        story.store.close()
        return story.system.moments


def tell_at_random(  # noqa: C901 - one choice after the other
    root: Path, chance: Random, steps: int = 10
) -> list[Moment]:
    """Ten things in a row, whichever."""
    with small_segments(SEGMENT):
        story = Story(root, Watched, Publication)
        story.add("first")
        held: list[int] = []
        for number in range(steps):
            step = chance.choice(("add", "insert", "outsider", "more", "replaces", "meets", "backup", "restore"))
            if step == "add":
                story.add(f"{number}")
            elif step == "insert":
                story.insert(f"{number}")
            elif step == "outsider" and not held:
                held.append(story.outsider(f"{number}"))
            elif step == "more" and held:
                story.write_more(held.pop(), f"{number}")
            elif step == "replaces":
                story.replaces(f"{number}")
            elif step == "meets":
                story.system.before_swap = partial(story.replaces, f"{number} meets")
                story.add(f"{number}")
            elif step == "backup":
                story.backup()
            elif step == "restore":
                story.restore("1")
        for descriptor in held:
            story.system.close(descriptor)
        story.add("last")
        story.store.close()
        return story.system.moments


# --- a stop of the machine ------------------------------------------------------------------------------------------


class Rebooted(System):
    """The machine after it was started again, just now: the disk was left as it is."""

    def __init__(self, times: int = 1) -> None:
        self._name = f"boot {times}"
        self._at = time.time()

    def boot(self) -> str:
        return self._name

    def booted_at(self) -> float:
        return self._at


def stops(disk: Disk, chance: Random) -> State:
    kind = chance.random()
    if kind < 0.1:
        return disk.nothing_unsynced()
    if kind < 0.15:
        return disk.everything()
    return disk.ordered(chance) if kind < 0.55 else disk.harsh(chance)


def stop(
    root: Path, moment: Moment, chance: Random, *, publication: type[Publication] = Publication
) -> tuple[Any, ...]:
    """Stop the machine at a moment, perhaps again during the recovery, and check. The answer tells the state."""
    state = stops(moment.disk, chance)
    times = 1
    known = moment.known
    if chance.random() < 0.3:
        times = 2
        state, known = _stop_again(root / "recovery", state, known, chance, publication)
    check_stopped(root / "last", state, known, times, publication)
    return state.key()


def check_stopped(
    root: Path, state: State, known: Known, times: int = 1, publication: type[Publication] = Publication
) -> None:
    """Start the machine again on a disk in this state, and check."""
    with small_segments(SEGMENT):
        scene = _scene(root, state, known)
        machine = Rebooted(times)
        store = scene.store(machine, publication)
        try:
            check(scene, store, unsure=known.unsure, system=machine)
            _backups_are_kept(scene, known)
        finally:
            store.close()


def _scene(root: Path, state: State, known: Known) -> Scene:
    scene = Scene(root)
    state.write_to(root)
    scene.acknowledged = dict(known.acknowledged)
    scene.visible = set(known.visible)
    return scene


def _stop_again(
    root: Path, state: State, known: Known, chance: Random, publication: type[Publication]
) -> tuple[State, Known]:
    """Recover and write once, and stop the machine somewhere on the way."""
    with small_segments(SEGMENT):
        scene = _scene(root, state, known)
        recorder = Recorder(Rebooted(), state)
        between = line("between")
        recorder.known = Known(known.acknowledged, known.visible, known.unsure | {between}, known.backups)
        recorder.keep("nothing yet")
        store = scene.store(recorder, publication)
        scene.add(store, "between")
        store.close()
        recorder.known = Known(scene.acknowledged, known.visible | {between}, known.unsure, known.backups)
        recorder.keep("acknowledged")
    moment = chance.choice(recorder.moments)
    return stops(moment.disk, chance), moment.known


def _backups_are_kept(scene: Scene, known: Known) -> None:
    for name, data in known.backups.items():
        path = scene.path.with_name(name)
        assert path.exists(), f"{name} is gone"
        assert path.read_bytes() == data, f"{name} is {path.read_bytes()!r}"
