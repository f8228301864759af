"""A disk that fails at one call: with an error, or by writing only a part of what it is given."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.errors import CatmemError
from tests.crash.checks import check
from tests.crash.interleavings import drifted, existing, fresh, late, written_before
from tests.crash.scene import FIRST, Scene, line
from tests.crash.watched import Call, Watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FAILING = (
    "open", "read_at", "write", "write_at", "fsync", "status", "look", "names", "make_folder", "link", "rename",
    "exchange", "unlink", "change_mode", "copy_attributes", "lease",
)  # fmt: skip
"""The calls that a disk can fail."""

WRITING = ("write", "write_at")
ERRORS = (errno.EIO, errno.ENOSPC, errno.EDQUOT)
SHORT = 0
"""In place of an error: the call writes one byte and says so."""

BEGINNINGS: dict[str, Callable[[Scene], None]] = {
    "no file": fresh,
    "a person's file": written_before,
    "a file of the store": existing,
    "a changed file": drifted,
    "late bytes": late,
}


class Fault(NamedTuple):
    """What goes wrong, and at which call."""

    point: int
    error: int


class Failing(Watched):
    """Fails the call with one number, and no other."""

    def __init__(self, fault: Fault | None) -> None:
        super().__init__()
        self.fault = fault
        self.failed: Call | None = None

    def around(self, call: Call, make: Callable[[], Any]) -> Any:
        # One run may make a call more than another, as times fall: then the fault meets the next call that it fits.
        if self.fault is None or self.failed or call.number < self.fault.point or not self._fits(call):
            return make()
        self.failed = call
        if self.fault.error == SHORT:
            descriptor, data, *rest = call.arguments
            return getattr(self.under, call.name)(descriptor, data[:1], *rest)
        raise OSError(self.fault.error, os.strerror(self.fault.error))

    def _fits(self, call: Call) -> bool:
        return call.name in (WRITING if self.fault and self.fault.error == SHORT else FAILING)


def faults(root: Path, beginning: Callable[[Scene], None]) -> Iterator[Fault]:
    """Every fault that a commit can meet which begins so."""
    system = Failing(None)
    scene = Scene(root)
    beginning(scene)
    store = scene.store(system)
    scene.add(store, "ours")
    store.close()
    for call in system.calls:
        if call.name in FAILING:
            yield from (Fault(call.number, error) for error in ERRORS)
        if call.name in WRITING:
            yield Fault(call.number, SHORT)


def meet(root: Path, beginning: Callable[[Scene], None], fault: Fault) -> None:
    """Commit on a disk that fails once: the file is old or new, the error is ours, and a new store goes on."""
    scene = Scene(root)
    beginning(scene)
    before, visible = scene.read(), set(scene.visible)
    system = Failing(fault)
    store = scene.store(system)
    told = str(fault)
    try:
        scene.add(store, "ours")
    except CatmemError as error:
        told = f"{error} at {system.failed}"
        if not error.code or not error.hint:
            raise AssertionError(f"no way out: {told}") from error
        if system.failed and system.failed.name == "fsync":
            _refuses_from_now_on(scene, store, told)
    else:
        visible.add(line("ours"))
    finally:
        store.close()
    scene.visible = visible
    there = scene.read()
    whole = there == before or all(there.count(each) == 1 for each in visible)
    assert whole, f"{told}: the file was {before!r} and is {there!r}"
    again = scene.store()
    try:
        check(scene, again, unsure={line("ours")})
    finally:
        again.close()


def _refuses_from_now_on(scene: Scene, store: Any, told: str) -> None:
    """What a disk did not confirm it may have lost: the open store takes no more."""
    try:
        scene.add(store, "never")
    except CatmemError as error:
        if error.code != "read_only":
            raise AssertionError(f"{told}: {error}") from error
    else:
        raise AssertionError(f"{told}: the store went on after a disk that failed to confirm a write")


__all__ = ["BEGINNINGS", "FIRST", "Fault", "faults", "meet"]
