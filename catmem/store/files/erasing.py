"""Forget for good: the one thing that takes bytes out of the history (``catmem purge``).

Everything in a folder that may hold what is to be forgotten is rewritten or removed: journal, retired files, leftovers,
journals that were moved aside, and backups. The file itself is written by its owner first, as a revision like any
other.
"""

from __future__ import annotations

import errno
import os
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Literal, TypeAlias

from catmem.digest import bytes_digest
from catmem.store.files.kept import kept
from catmem.store.files.outside import Outside
from catmem.store.files.retired import named_digest
from catmem.store.files.system import new_file, read_whole
from catmem.store.lasting import Erased, Left

if TYPE_CHECKING:
    from pathlib import Path

    from catmem.store.files.folder import Folder
    from catmem.store.lasting import Erasure, Kept, Redact

OPEN = "a program has it open; end that and purge once more"
NO_LEASES = "nobody can tell whether a program has it open, for there are no leases here; remove it yourself"
UNREADABLE = "it cannot be read"

_PASSES = 3
_LEASE_TRIES, _LEASE_WAIT = 25, 0.002
_NO_LEASES = {errno.EACCES, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK, errno.EPERM}
_FOLDER = os.O_RDONLY | os.O_DIRECTORY

_Outcome: TypeAlias = Literal["gone", "changed", "open", "no leases"]


def erase(outside: Outside, erasure: Erasure) -> Erased:
    """Erase from everything that the locked folder keeps of a file. May be run again after a stop.

    The journal comes last: what outsiders still write to a retired file is joined with the file on the grounds of the
    revision that they began with, and that must not be redacted before.
    """
    folder, name = outside.folder, outside.name
    removed, left = _remove_retired(outside, erasure)
    rewritten: list[Path] = []
    torn: dict[Path, None] = {}
    aside: dict[Path, None] = {}
    with closing(kept(folder, name)) as texts:
        for each in texts:
            if each.kind == "torn":
                torn[each.path] = None  # the journal removes all of these
            elif each.kind == "aside" and _is_of_journal(each) and (not each.whole or erasure.holds(each)):
                aside[each.path] = None
            elif each.kind in {"backup", "moved"} and not each.whole:
                left.append(Left(each.path, UNREADABLE))
            elif each.kind in {"backup", "moved"}:
                redact = erasure.redact if each.kind == "backup" else erasure.redact_moved
                if _rewrite(folder, each, redact):
                    rewritten.append(each.path)
    for path in aside:
        _remove_aside(folder, path)
    folder.sync(folder.descriptor)
    journal = folder.writable_journal
    revisions = journal.erase(lambda file, data: erasure.redact(data) if file == name else data)
    return Erased(revisions, tuple(rewritten), (*removed, *aside, *torn), tuple(left))


def _is_of_journal(each: Kept) -> bool:
    """Whether it is part of a journal that was moved aside, and not a retired file of it."""
    return not each.path.parent.name.endswith("-gen")


def _remove_retired(outside: Outside, erasure: Erasure) -> tuple[list[Path], list[Left]]:
    """Remove what holds it of the files that came out of their place, after what was written to them is taken in."""
    folder, name = outside.folder, outside.name
    removed: list[Path] = []
    left: dict[Path, str] = {}
    for _ in range(_PASSES):
        take_in_late(outside)
        changed = False
        left.clear()
        with closing(kept(folder, name)) as texts:
            paths = {each.path: each.whole for each in texts if _is_retired(each) and _goes(each, erasure)}
        for path, whole in paths.items():
            outcome = _unlink_alone(folder, path) if whole else "gone"
            if not whole:
                left[path] = UNREADABLE
            elif outcome == "gone":
                removed.append(path)
            elif outcome == "changed":
                changed = True
                left[path] = OPEN
            else:
                left[path] = OPEN if outcome == "open" else NO_LEASES
        folder.sync(folder.gen)
        if not changed:
            break
    return removed, [Left(path, why) for path, why in left.items()]


def take_in_late(outside: Outside) -> None:
    """Take in what was written to any file of the folder after it was taken out, however long ago that was."""
    journal = outside.folder.writable_journal
    for file in journal.files():
        own = outside if file == outside.name else Outside(outside.publication.of(file), outside.merge)
        for foreign in list(own.late(journal.records())):
            head = journal.head(file)
            if head is not None:
                own.take_in(foreign, head)


def _is_retired(each: Kept) -> bool:
    return each.kind in {"retired", "left"} or (each.kind == "aside" and not _is_of_journal(each))


def _goes(each: Kept, erasure: Erasure) -> bool:
    return not each.whole or erasure.holds(each)


def _unlink_alone(folder: Folder, path: Path) -> _Outcome:
    """Remove a retired file if nobody else has it open, and it is what its name says."""
    system = folder.system
    if not folder.features.leases:
        return "no leases"
    where = system.open(path.parent.name, _FOLDER, folder=folder.side)
    try:
        descriptor = system.open(path.name, os.O_RDONLY | os.O_NONBLOCK, folder=where)
        try:
            try:
                if not _leased_alone(folder, descriptor):
                    return "open"
            except OSError as error:
                if error.errno not in _NO_LEASES:
                    raise
                return "no leases"
            try:
                digest = named_digest(path.name)
                known = digest is not None and path.parent.name == "gen"
                if known and bytes_digest(read_whole(system, descriptor)) != digest:
                    return "changed"
                system.unlink(path.name, folder=where)
            finally:
                system.give_back(descriptor)
        finally:
            system.close(descriptor)
    finally:
        system.close(where)
    return "gone"


def _leased_alone(folder: Folder, descriptor: int) -> bool:
    for _ in range(_LEASE_TRIES):
        if folder.system.lease(descriptor, exclusive=True):
            return True
        folder.system.sleep(_LEASE_WAIT)
    return False


def _remove_aside(folder: Folder, path: Path) -> None:
    """Remove a file of a journal that was moved aside; nobody writes to one."""
    where = folder.system.open(path.parent.name, _FOLDER, folder=folder.side)
    try:
        with suppress(FileNotFoundError):
            folder.system.unlink(path.name, folder=where)
        folder.sync(where)
    finally:
        folder.system.close(where)


def _rewrite(folder: Folder, each: Kept, redact: Redact) -> bool:
    """Put a redacted copy in the place of one that holds what is to be forgotten."""
    rest = redact(each.data)
    if rest == each.data:
        return False
    system, name = folder.system, each.path.name
    temporary = f"erase-{system.token()}"
    mode = system.look(name, folder=folder.descriptor).st_mode & 0o7777
    new_file(system, temporary, folder.tmp, rest, mode=mode, sync=folder.sync)
    system.rename(temporary, name, old_folder=folder.tmp, new_folder=folder.descriptor)
    return True
