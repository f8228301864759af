"""What a folder's file system gives the store, found out by trying it, and what is weaker where it lacks something."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

from catmem.errors import StoreError
from catmem.store.contract import SIDECAR, Feature, FolderReport
from catmem.store.files.system import FOLDER, lines_of, opened, store_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from catmem.store.files.folder import Place
    from catmem.store.files.system import System


_LEASES = (
    "a write sees whether anybody has the file open for writing, and makes them wait",
    (
        "two equal reads 20 ms apart stand in for leases: each write takes 20 ms longer, a writer that pauses longer "
        "in the middle of a file is taken for done, and files taken out of their place are never removed"
    ),
)
_EXCHANGE = (
    "the new file and the old one change places in one step, so nobody's file is ever replaced unseen",
    (
        "a link and a rename stand in for the exchange: a file that somebody renames into the place between the two "
        "is replaced unseen (docs/stores.md says how often)"
    ),
)
_LOCKS = ("writers of catmem wait for each other", "writers cannot wait for each other: nothing is written here")
_SYNCS = ("a write is on the disk before it is acknowledged", "the disk confirms nothing: a power cut may lose writes")
_XATTRS = ("extended attributes of a file are kept", "extended attributes of a file are not kept")


def report(system: System, places: Sequence[Place], records: int | None) -> FolderReport:
    """What the folder of ``places``, which all lie in one, gives; ``records`` counts those of its journal."""
    folder = places[0].path.parent
    if not os.path.lexists(folder):
        names = " and ".join(place.name for place in places)
        missing = f"there is no such folder yet; the first write makes it, for {names}"
        return FolderReport(str(folder), "", (), store=False, records=None, note=missing)
    features: tuple[Feature, ...] = ()
    note = None
    try:
        features = tuple(examine(system, folder))
    except StoreError as error:
        note = f"{error.message}. {error.hint or ''}".strip()
    there = os.path.lexists(folder / SIDECAR)
    return FolderReport(str(folder), file_system(folder), features, store=there, records=records, note=note)


def examine(system: System, folder: Path) -> list[Feature]:
    """Try each feature in ``folder``, in a folder of its own that is removed again. Raises ``StoreError``."""
    trial = f".catmem-doctor-{system.token()}"
    with store_errors(folder):
        outer = os.open(folder, FOLDER | os.O_CLOEXEC)
        try:
            system.make_folder(trial, 0o700, folder=outer)
            try:
                with opened(system, trial, outer, FOLDER) as inner:
                    try:
                        return _tried(system, inner)
                    finally:
                        for name in system.names(inner):
                            system.unlink(name, folder=inner)
            finally:
                os.rmdir(trial, dir_fd=outer)
        finally:
            system.close(outer)


def _tried(system: System, folder: int) -> list[Feature]:
    switched = system.features()
    trials: list[tuple[str, tuple[str, str], Callable[[System, int], None], bool]] = [
        ("locks", _LOCKS, _try_lock, True),
        ("fsync", _SYNCS, _try_sync, True),
        ("leases", _LEASES, _try_lease, switched.leases),
        ("exchange", _EXCHANGE, _try_exchange, switched.exchange),
        ("xattrs", _XATTRS, _try_attributes, switched.xattrs),
    ]
    found = []
    for name, (means, lacks), trial, wanted in trials:
        there = wanted and _works(trial, system, folder)
        found.append(Feature(name, there, means if there else lacks))
    return found


def _works(trial: Callable[[System, int], None], system: System, folder: int) -> bool:
    try:
        trial(system, folder)
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EIO}:
            raise
        return False
    return True


_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL


def _try_lock(system: System, folder: int) -> None:
    with opened(system, "lock", folder, _NEW) as descriptor:
        if not system.lock(descriptor):
            raise OSError(errno.ENOLCK, "the lock of a new file is not free")
        system.unlock(descriptor)


def _try_sync(system: System, folder: int) -> None:
    with opened(system, "sync", folder, _NEW) as descriptor:
        system.write(descriptor, b"x")
        system.fsync(descriptor)
        system.fsync(folder)


def _try_lease(system: System, folder: int) -> None:
    with opened(system, "lease", folder, _NEW):
        pass
    with opened(system, "lease", folder) as descriptor:
        if not system.lease(descriptor) or not system.lease_stands(descriptor):
            raise OSError(errno.EAGAIN, "the lease of a new file is not granted")
        system.give_back(descriptor)


def _try_exchange(system: System, folder: int) -> None:
    for name in ("one", "two"):
        with opened(system, name, folder, _NEW):
            pass
    system.exchange("one", "two", old_folder=folder, new_folder=folder)


def _try_attributes(system: System, folder: int) -> None:
    with opened(system, "attributes", folder, _NEW) as descriptor:
        system.set_attribute(descriptor, "user.catmem", b"1")


def file_system(folder: Path) -> str:
    """The kind of file system that a folder is on, as ``/proc/mounts`` says it; empty where that is not told."""
    where = Path(os.path.realpath(folder))
    best, kind = "", ""
    for _, mount, of_kind, *_ in (words for line in lines_of("/proc/mounts") if (words := line.split())):
        if where.is_relative_to(mount) and len(mount) >= len(best):
            best, kind = mount, of_kind
    return kind
