"""Forget for good: the one thing that takes bytes out of the history (``catmem purge``).

Everything in a folder that may hold what is to be forgotten is rewritten or removed: journal, retired files, leftovers
and backups. The file itself is written by its owner first, as a revision like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from catmem.store.backups import backups
from catmem.store.folder import SIDECAR
from catmem.store.whole import new_file, read_file

if TYPE_CHECKING:
    from pathlib import Path

    from catmem.store.folder import Folder

Redact: TypeAlias = Callable[[bytes], bytes]
"""Gives the bytes without what is to be forgotten; the same bytes if it is not in them."""


class Erased(NamedTuple):
    """How many revisions of the journal were rewritten, and which files beside it were rewritten or removed."""

    revisions: int
    paths: tuple[Path, ...]


def erase(folder: Folder, name: str, redact: Redact) -> Erased:
    """Erase from everything that the locked folder keeps of the file ``name``. May be run again after a stop."""
    revisions = folder.writable_journal.erase(lambda file, data: redact(data) if file == name else data)
    paths: list[Path] = []
    for where, inside in ((folder.gen, "gen"), (folder.tmp, "tmp")):
        for each in folder.system.names(where):
            data = read_file(folder.system, each, where)
            if redact(data) != data:
                folder.system.unlink(each, folder=where)
                paths.append(folder.path / SIDECAR / inside / each)
        folder.sync(where)
    paths += [folder.path / copy for copy in backups(folder, name) if _rewrite(folder, copy, redact)]
    folder.sync(folder.descriptor)
    return Erased(revisions, tuple(paths))


def _rewrite(folder: Folder, copy: str, redact: Redact) -> bool:
    """Put a redacted backup in the place of one that holds what is to be forgotten."""
    system = folder.system
    data = read_file(system, copy, folder.descriptor)
    rest = redact(data)
    if rest == data:
        return False
    temporary = f"erase-{system.token()}"
    mode = system.look(copy, folder=folder.descriptor).st_mode & 0o7777
    new_file(system, temporary, folder.tmp, rest, mode=mode, sync=folder.sync)
    system.rename(temporary, copy, old_folder=folder.tmp, new_folder=folder.descriptor)
    return True
