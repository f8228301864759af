"""What must hold after anything that was done to a scene, and one more write."""

from collections.abc import Collection

from catmem.store.contract import Change
from catmem.store.files.file_store import FileStore
from catmem.store.files.system import System
from tests.crash.scene import ENTITY, Scene


class Lost(AssertionError):  # noqa: N818 - what it says
    """Something that must be there is not."""


def check(scene: Scene, store: FileStore, *, unsure: Collection[bytes] = (), system: System | None = None) -> None:
    """Write once more through `store`, and look whether all that must be there is there, once.

    `unsure` are lines that may be there or not. A second store, on `system`, must find nothing left to be done.
    """
    scene.add(store, "after")
    there = scene.read()
    history = {revision.revision: data for revision, data in store.replay(ENTITY)}
    told = f"the file is {there!r}, the history {history!r}"
    for revision, data in scene.acknowledged.items():
        if history.get(revision) != data:
            raise Lost(f"revision {revision} was {data!r} when it was acknowledged; {told}")
    for each in sorted(scene.visible):
        if there.count(each) != 1:
            raise Lost(f"{each!r} is {there.count(each)} times in the file; {told}")
    for each in sorted(unsure):
        if there.count(each) > 1:
            raise Lost(f"{each!r} is {there.count(each)} times in the file; {told}")
    for each in sorted(scene.recorded):
        if not any(each in data for data in history.values()):
            raise Lost(f"{each!r} is nowhere in the history; {told}")
    head = store.head(ENTITY)
    assert head is not None
    if history[head.revision] != there:
        raise Lost(f"the head is not what is in the file: {told}")
    faults = [fault for fault in store.verify() if fault.damage]
    assert not faults, f"{faults}; {told}"
    _check_again(scene, system)


def _check_again(scene: Scene, system: System | None) -> None:
    """A write that changes nothing changes nothing: whatever there was to finish is finished."""
    before = scene.tree()
    store = scene.store(system)
    try:
        answer = store.commit(ENTITY, None, lambda current: current.data, Change())
    finally:
        store.close()
    after = scene.tree()
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    assert not changed, f"a second recovery changed {changed}; {answer}"
