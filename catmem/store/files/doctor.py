"""What a folder's file system gives the store, found out by trying it, and what is weaker where it lacks something."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from catmem.errors import StoreError
from catmem.store.contract import SIDECAR, Feature, FolderReport
from catmem.store.files.system import store_error

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
    try:
        outer = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise store_error(error, folder) from error
    try:
        system.make_folder(trial, 0o700, folder=outer)
        inner = system.open(trial, os.O_RDONLY | os.O_DIRECTORY, folder=outer)
        try:
            return _tried(system, inner)
        finally:
            for name in system.names(inner):
                system.unlink(name, folder=inner)
            system.close(inner)
            os.rmdir(trial, dir_fd=outer)
    except OSError as error:
        raise store_error(error, folder) from error
    finally:
        system.close(outer)


def _tried(system: System, folder: int) -> list[Feature]:
    switched = system.features()
    trials: list[tuple[str, tuple[str, str], Callable[[], None], bool]] = [
        ("locks", _LOCKS, lambda: _try_lock(system, folder), True),
        ("fsync", _SYNCS, lambda: _try_sync(system, folder), True),
        ("leases", _LEASES, lambda: _try_lease(system, folder), switched.leases),
        ("exchange", _EXCHANGE, lambda: _try_exchange(system, folder), switched.exchange),
        ("xattrs", _XATTRS, lambda: _try_attributes(system, folder), switched.xattrs),
    ]
    found = []
    for name, (means, lacks), trial, wanted in trials:
        there = wanted and _works(trial)
        found.append(Feature(name, there, means if there else lacks))
    return found


def _works(trial: Callable[[], None]) -> bool:
    try:
        trial()
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EIO}:
            raise
        return False
    return True


def _file(system: System, folder: int, name: str) -> int:
    with suppress(FileNotFoundError):
        system.unlink(name, folder=folder)
    return system.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, folder=folder)


def _try_lock(system: System, folder: int) -> None:
    descriptor = _file(system, folder, "lock")
    try:
        if not system.lock(descriptor):
            raise OSError(errno.ENOLCK, "the lock of a new file is not free")
        system.unlock(descriptor)
    finally:
        system.close(descriptor)


def _try_sync(system: System, folder: int) -> None:
    descriptor = _file(system, folder, "sync")
    try:
        system.write(descriptor, b"x")
        system.fsync(descriptor)
        system.fsync(folder)
    finally:
        system.close(descriptor)


def _try_lease(system: System, folder: int) -> None:
    system.close(_file(system, folder, "lease"))
    descriptor = system.open("lease", os.O_RDONLY, folder=folder)
    try:
        if not system.lease(descriptor) or not system.lease_stands(descriptor):
            raise OSError(errno.EAGAIN, "the lease of a new file is not granted")
        system.give_back(descriptor)
    finally:
        system.close(descriptor)


def _try_exchange(system: System, folder: int) -> None:
    for name in ("one", "two"):
        system.close(_file(system, folder, name))
    system.exchange("one", "two", old_folder=folder, new_folder=folder)


def _try_attributes(system: System, folder: int) -> None:
    descriptor = _file(system, folder, "attributes")
    try:
        system.set_attribute(descriptor, "user.catmem", b"1")
    finally:
        system.close(descriptor)


def file_system(folder: Path) -> str:
    """The kind of file system that a folder is on, as ``/proc/mounts`` says it; empty where that is not told."""
    try:
        lines = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return ""
    where = os.path.realpath(folder)
    best, kind = "", ""
    for line in lines:
        parts = line.split()
        if len(parts) > 2 and _holds(parts[1], where) and len(parts[1]) >= len(best):  # noqa: PLR2004 - its third word
            best, kind = parts[1], parts[2]
    return kind


def _holds(mount: str, path: str) -> bool:
    return path == mount or path.startswith(mount.rstrip("/") + "/")
