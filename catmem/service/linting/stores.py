"""What lint asks of the stores of a root: what they find wrong, unmerged branches, copies left beside files."""

from __future__ import annotations

import os
from contextlib import closing
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from catmem.errors import CatmemError, UnknownNameError
from catmem.names import FILE_NAMES
from catmem.policy.lint.linted import StoreFault
from catmem.policy.schema import shown
from catmem.service.stores import open_store
from catmem.service.unread import look_over
from catmem.store.contract import SIDECAR
from catmem.store.files.retention import copies_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date
    from pathlib import Path

    from catmem.policy.profile import Profile
    from catmem.service.lint_sources import Root
    from catmem.store.contract import Revision


def faults(root: Root, as_of: date) -> tuple[StoreFault, ...]:
    """What is not right in the stores of the root's profiles that have been used, and which copies are left over.

    ``as_of`` is the day on which branches have their age.
    """
    copies = (fault for folder in sorted(root.with_copies()) for fault in _copies(root, folder))
    return (*_in_stores(root, as_of), *copies)


def _in_stores(root: Root, as_of: date) -> Iterator[StoreFault]:
    used = [name for name, home in root.homes().items() if os.path.lexists(os.path.join(home, SIDECAR))]  # noqa: PTH118
    if not used and root.has_files:
        return
    try:
        with closing(open_store(root.config, partial(_profile, root), used)) as store:
            found = look_over(root.config, root.profiles.values(), store)
            branches = [(entity, branch) for entity in store.entities() for branch in store.branches(entity)[1:]]
    except CatmemError as error:
        yield _of(root, error)
        return
    for fault in found:
        # What another store than that of files calls its own is no path.
        is_path = fault.path and os.path.isabs(fault.path)  # noqa: PTH117 - a text
        place = root.name(fault.path or "") if is_path else fault.path or ""
        yield StoreFault(fault.code, place, fault.message, fault.hint)
    for entity, branch in branches:
        yield _of_branch(root, entity, branch, as_of)


def _profile(root: Root, name: str) -> Profile:
    """A profile that is right; the rules on profiles tell of the others. Raises ``UnknownNameError``."""
    if name not in root.profiles:
        raise UnknownNameError(f"the profile {shown(name)} is not there, or not right")
    return root.profiles[name]


def _of_branch(root: Root, entity: str, branch: Revision, as_of: date) -> StoreFault:
    name, _, target = entity.partition("/")
    home = root.homes().get(name)
    path = root.name(os.path.join(home, FILE_NAMES[target])) if home else ""  # noqa: PTH118 - text in, text out
    message = f"{entity} has a branch that is not merged: {branch.revision}, by {branch.agent}, {_age(branch, as_of)}"
    return StoreFault("branch", path, message, f"Run: catmem merge {entity} {branch.revision}")


def _age(branch: Revision, as_of: date) -> str:
    """How old a branch is, in days of this place; a clock may have been ahead."""
    try:
        days = (as_of - datetime.fromisoformat(branch.timestamp).astimezone().date()).days
    except ValueError:
        return f"of {branch.timestamp}"
    return f"{days} day{'' if days == 1 else 's'} old" if days > 0 else "of today"


def _copies(root: Root, path: Path) -> Iterator[StoreFault]:
    try:
        found = copies_in(path, sorted(FILE_NAMES.values()))
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
