"""Files that were taken out of their place, kept in ``gen/`` as long as anybody may still write to them."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from typing import TYPE_CHECKING

from catmem.digest import bytes_digest
from catmem.store.files.outside import WATCHED
from catmem.store.files.system import read_whole

if TYPE_CHECKING:
    from catmem.store.files.folder import Folder

KEPT_FOR = timedelta(days=1)
"""For how long at least."""

_AT_ONCE = 512
_NAME = re.compile(r"(?P<sequence>\d{12})-(?P<digest>[0-9a-f]{64})")


def named_digest(name: str) -> str | None:
    """The digest that a name in ``gen/`` promises; ``None`` for a name of another kind."""
    match = _NAME.fullmatch(name)
    return f"sha256:{match['digest']}" if match else None


def reap(folder: Folder, newest: int) -> int:
    """Remove retired files that are a day old, as recorded, and open in nobody's hands; returns how many.

    ``newest`` is the sequence of the newest record. Where there are no leases nothing is removed, since nobody can say
    whether such a file is still open.
    """
    if not folder.features.leases:
        return 0
    before = folder.system.now().timestamp() - KEPT_FOR.total_seconds()
    gone = 0
    for name in folder.system.names(folder.gen)[:_AT_ONCE]:
        match = _NAME.fullmatch(name)
        if match and int(match["sequence"]) <= newest - WATCHED:
            gone += _reap_one(folder, name, match["digest"], before)
    return gone


def _reap_one(folder: Folder, name: str, digest: str, before: float) -> bool:
    system = folder.system
    if system.look(name, folder=folder.gen).st_ctime > before:
        return False
    descriptor = system.open(name, os.O_RDONLY | os.O_NONBLOCK, folder=folder.gen)
    try:
        if not system.lease(descriptor, exclusive=True):
            return False
        try:
            if bytes_digest(read_whole(system, descriptor)) != f"sha256:{digest}":
                return False
            system.unlink(name, folder=folder.gen)
        finally:
            system.give_back(descriptor)
    finally:
        system.close(descriptor)
    return True
