"""What lint asks of the stores of a root: what their journals find wrong, and copies that are left beside files."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

from catmem.errors import CatmemError
from catmem.policy.lint.linted import StoreFault
from catmem.service.stores import FILE_NAMES, open_store
from catmem.store.files.backups import backups
from catmem.store.files.folder import SIDECAR, Folder, Place
from catmem.store.files.system import System

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from catmem.service.linting.sources import Root


def faults(root: Root) -> tuple[StoreFault, ...]:
    """What is not right in the stores of the root's profiles that have been used, and which copies are left over."""
    return (*_in_stores(root), *(fault for folder in sorted(root.with_copies()) for fault in _copies(root, folder)))


def _in_stores(root: Root) -> Iterator[StoreFault]:
    used = [name for name, home in root.homes().items() if os.path.lexists(os.path.join(home, SIDECAR))]  # noqa: PTH118
    if not used:
        return
    try:
        with closing(open_store(root.config, root.profiles.__getitem__, used)) as store:
            found = store.verify()
    except CatmemError as error:
        yield _of(root, error)
        return
    for fault in found:
        yield StoreFault(fault.code, root.name(fault.path) if fault.path else "", fault.message, fault.hint)


def _copies(root: Root, path: Path) -> Iterator[StoreFault]:
    try:
        folder = Folder.open(System(), Place(path, (), ""), create=False)
        if folder is None:
            return
        with closing(folder):
            found = {file: backups(folder, file) for file in sorted(FILE_NAMES.values())}
    except OSError as error:
        yield StoreFault("io", root.name(path), f"the folder cannot be read: {error.strerror or error}")
        return
    except CatmemError as error:
        yield _of(root, error)
        return
    for file, copies in found.items():
        for copy in copies:
            message = f"this is a copy of {file}, kept when a write would have lost what somebody else wrote"
            yield StoreFault("backup", root.name(path / copy), message, f"Compare it with {file}, then remove it.")


def _of(root: Root, error: CatmemError) -> StoreFault:
    return StoreFault(error.code, root.name(error.path) if error.path else "", error.message, error.hint or "")
