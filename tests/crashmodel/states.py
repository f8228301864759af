"""Runs of the store whose every moment is turned into the states that a crash could leave, and what must hold of each."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING

from catmem.errors import CatmemError, DriftError
from catmem.store.contract import Change
from catmem.store.publication import Publication
from tests.crash.checks import check
from tests.crash.scene import ENTITY, Scene, line, small_segments
from tests.crashmodel.disk import AfterBoot, Disk, State

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from catmem.store.files import FileStore


def first_writes(scene: Scene, store: FileStore) -> None:
    """No file, no folder, no store; then two writes."""
    scene.add(store, "one")
    scene.add(store, "two")


def rewrites(scene: Scene, store: FileStore) -> None:
    """Writes that move every byte, over the end of a segment."""
    for number in range(4):
        scene.insert(store, f"inserted {number}")


def outside_edits(scene: Scene, store: FileStore) -> None:
    """An outsider's line between two writes, and a write that is refused over another one."""
    scene.add(store, "one")
    scene.outside("theirs")
    scene.add(store, "two")
    seen = store.read(ENTITY).digest
    scene.outside("theirs too")
    try:
        store.commit(ENTITY, seen, lambda current: current.data + b"never\n", Change())
    except DriftError:
        scene.add(store, "three")
    else:
        raise AssertionError("a write on an old view was taken")


def late_bytes(scene: Scene, store: FileStore) -> None:
    """A line that is appended to a file which a write took out meanwhile, and restoring an old text."""
    scene.add(store, "one")
    with scene.path.open("ab", buffering=0) as held:
        scene.add(store, "two")
        held.write(line("late"))
    scene.add(store, "three")
    scene.visible.add(line("late"))
    old = store.read(ENTITY, "1").data
    store.commit(ENTITY, None, lambda current: current.data + old[:0] + line("restored"), Change(op="restore"))
    scene.visible.add(line("restored"))


RUNS: dict[str, Callable[[Scene, FileStore], None]] = {
    run.__name__: run for run in (first_writes, rewrites, outside_edits, late_bytes)
}


def random_run(seed: int) -> Callable[[Scene, FileStore], None]:
    """A run of six steps, each of which is one of those above."""

    def run(scene: Scene, store: FileStore) -> None:
        choice = random.Random(seed)
        for step in range(6):
            name = f"{seed}-{step}"
            kind = choice.choice(("add", "insert", "outside", "late", "backup"))
            if kind == "add":
                scene.add(store, name)
            elif kind == "insert":
                scene.insert(store, name)
            elif kind == "outside":
                scene.outside(name)
            elif kind == "backup":
                store.backup(ENTITY)
            else:
                scene.outside(f"{name} before")
                with scene.path.open("ab", buffering=0) as held:
                    scene.add(store, name)
                    held.write(line(f"{name} late"))
                scene.visible.add(line(f"{name} late"))

    return run


def states_of(root: Path, name: str | int, publication: type[Publication] = Publication) -> list[State]:
    """Every state that a crash could leave in a run of this name, or in the random run of this seed."""
    scene = Scene(root)
    (root / "neo").mkdir(exist_ok=True)
    disk = Disk(root, lambda: (dict(scene.acknowledged), frozenset(scene.visible)))
    with small_segments(3):
        store = scene.store(disk, publication)
        run = RUNS[name] if isinstance(name, str) else random_run(name)
        run(scene, store)
        disk.keep("the end")
        store.close()
    return disk.states


def recover(root: Path, state: State) -> None:
    """Read and write after the crash: what was acknowledged is there, whole, once.

    What outsiders wrote themselves nobody synced, so of theirs only what the store acknowledged is asked for.
    """
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    state.put(root)
    scene = Scene(root)
    scene.acknowledged = dict(state.acknowledged)
    newest = max(state.acknowledged, key=int, default=None)
    scene.visible = set(state.acknowledged[newest].splitlines(keepends=True)) if newest else set()
    store = scene.store(AfterBoot())
    try:
        _is_whole(scene)
        check(scene, store, again=False)
    except (AssertionError, CatmemError) as error:
        raise AssertionError(f"after a crash {state.moment}: {error}") from error
    finally:
        store.close()


def _is_whole(scene: Scene) -> None:
    """Who only reads after the crash finds every line that was acknowledged."""
    there = scene.read()
    missing = scene.visible - set(there.splitlines(keepends=True))
    if missing:
        raise AssertionError(f"{missing} is not in the file before any recovery, but acknowledged: {there!r}")
