"""A disk that fails at one call, or from one call on, and what must hold afterwards."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from catmem.errors import CatmemError, StoreError
from catmem.store.files.file_store import FileStore
from catmem.store.files.publication import Publication
from catmem.store.files.system import System
from tests.crash.checks import Lost, check
from tests.crash.kills import Operation
from tests.crash.outsiders import RenameOver
from tests.crash.scene import ENTITY, Scene, line, small_segments
from tests.crash.watched import Call, Watched

CHANGES = {
    "write_at", "truncate", "fsync", "make_folder", "link", "rename", "exchange", "unlink", "change_mode",
    "change_owner", "copy_attributes",
}  # fmt: skip
READS = {"open", "read_at", "status", "look", "names", "lock", "lease", "lease_stands"}
ROOM = {"write_at", "make_folder", "link"}
GROWS = ROOM | {"rename", "exchange"}

ERRORS = {
    "EIO": (errno.EIO, CHANGES | READS),
    "ENOSPC": (errno.ENOSPC, GROWS | {"fsync", "copy_attributes"}),
    "EDQUOT": (errno.EDQUOT, GROWS | {"fsync"}),
    "EROFS": (errno.EROFS, CHANGES - {"fsync"}),
    # Python repeats an interrupted call by itself, but not one that is made through ctypes.
    "EINTR": (errno.EINTR, {"exchange"}),
}
"""Errors, and the calls that give them."""

SHORT = {"short write": None, "one byte written": 1}
"""Writes that do less than they were asked to: half of it, or one byte."""

FULL = "full disk"
"""From one call on, nothing that needs room can be done any more."""


class Fault(NamedTuple):
    """What goes wrong, and at which call."""

    kind: str
    point: int


class Failing(Watched):
    """Gives one error, at one call."""

    def __init__(self, fault: Fault | None, under: System | None = None) -> None:
        super().__init__(under)
        self.fault = fault
        self.failed: Call | None = None
        self.meets: RenameOver | None = None

    def mend(self) -> None:
        self.fault = None

    def around(self, call: Call, make: Callable[[], Any]) -> Any:
        if self.meets is not None and call.swaps and not self.meets.acted:
            self.meets.act()
        fault = self.fault
        if call.name == "sleep":
            return None
        if fault is not None and call.number >= fault.point and self._fails(fault, call):
            self.failed = call
            if fault.kind in SHORT:
                self.fault = None
                return self._write_less(call, SHORT[fault.kind])
            number = errno.ENOSPC if fault.kind == FULL else ERRORS[fault.kind][0]
            if fault.kind != FULL:
                self.fault = None
            raise OSError(number, os.strerror(number))
        return make()

    def _fails(self, fault: Fault, call: Call) -> bool:
        # One run may make a call more than another, as times fall: so the fault meets the next call that it fits.
        if fault.kind == FULL:
            return call.name in ROOM or (call.name == "open" and bool(call.arguments[1] & os.O_CREAT))
        if fault.kind in SHORT:
            return call.name == "write_at" and len(call.arguments[1]) > 1
        return call.name in ERRORS[fault.kind][1]

    def _write_less(self, call: Call, size: int | None) -> int:
        descriptor, data, *rest = call.arguments
        size = max(1, len(data) // 2) if size is None else size
        written: int = getattr(self.under, call.name)(descriptor, data[:size], *rest)
        return written


def faults(calls: list[Call]) -> Iterator[Fault]:
    """Every fault of an operation that makes these calls."""
    for call in calls:
        for kind, (_, names) in ERRORS.items():
            if call.name in names:
                yield Fault(kind, call.number)
        if call.name == "write_at" and len(call.arguments[1]) > 1:
            yield from (Fault(kind, call.number) for kind in SHORT)
        if call.name in ROOM:
            yield Fault(FULL, call.number)


class Run(NamedTuple):
    """The calls of the operation, the error that it ended with, and the call that failed."""

    calls: list[Call]
    error: CatmemError | None
    failed: Call | None


def fail_at(
    root: Path,
    operation: Operation,
    fault: Fault | None,
    *,
    under: System | None = None,
    publication: type[Publication] = Publication,
) -> Run:
    """Begin, let the operation meet the fault, open a new store and check. Raises `Lost`."""
    with small_segments(operation.records):
        scene = Scene(root)
        operation.begin(scene)
        system = Failing(None, under)
        outsider = RenameOver(scene, "outsider")
        if operation.meets:
            system.meets = outsider
        before = scene.read()
        descriptors = _open_descriptors()
        store = scene.store(system, publication)
        system.fault = fault
        error = _does(lambda: operation.act(scene, store))
        calls = list(system.calls)
        system.mend()
        there = scene.read()
        if error is not None and not outsider.acted and operation.adds:
            whole = {before, before + line("ours"), line("ours") + before}
            if there not in whole and not _is_joined(scene, there):
                raise Lost(f"the file is half of something after {error!r}: {there!r}")
        if error is not None and system.failed is not None and system.failed.name == "fsync":
            _writes_no_more(store, scene)
        store.close()
        if _open_descriptors() != descriptors:
            raise Lost(f"{_open_descriptors() - descriptors} descriptors are left open after {error!r}")
        scene.visible |= outsider.lines
        scene.visible -= operation.takes
        _check(scene, operation, error, under, publication)
        return Run(calls, error, system.failed)


def _does(act: Callable[[], None]) -> CatmemError | None:
    try:
        act()
    except CatmemError as error:
        assert error.code
        assert error.hint, f"{error!r} has no hint"
        return error
    return None


def _is_joined(scene: Scene, there: bytes) -> bool:
    """Late bytes may have been joined before the fault, and nothing is missing."""
    return all(there.count(each) == 1 for each in scene.visible - {line("late")})


def _writes_no_more(store: FileStore, scene: Scene) -> None:
    try:
        scene.add(store, "never")
    except StoreError as error:
        if error.code in {"read_only", "damaged"}:
            return
        raise
    raise Lost("the disk did not confirm a write, and the store goes on writing")


def _check(
    scene: Scene,
    operation: Operation,
    error: CatmemError | None,
    under: System | None,
    publication: type[Publication],
) -> None:
    reopened = scene.store(under, publication)
    try:
        if operation.repeats:
            operation.act(scene, reopened)
        check(scene, reopened, unsure=operation.adds | operation.takes, system=under)
        operation.afterwards(scene)
        _said_the_truth(scene, reopened, operation, error)
    finally:
        reopened.close()


def _said_the_truth(scene: Scene, store: FileStore, operation: Operation, error: CatmemError | None) -> None:
    """What the error's hint says of the write is so."""
    hint = "" if error is None else error.hint or ""
    history = b"".join(data for _, data in store.replay(ENTITY))
    for each in operation.adds:
        if "Nothing was written" in hint and each in history:
            raise Lost(f"{error!r} says that nothing was written, and it was")
        if "The write is in the journal" in hint and each not in scene.read():
            raise Lost(f"{error!r} says that the write will be in place, and it is not")


def _open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
