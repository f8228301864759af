"""What an answer stands on, and whether that is still so: asked in microseconds, and without waiting for anybody.

An answer to a question is made of the profiles that it was made for, what the store says, the day, and the
configuration, which is that of its workspace for good. As long as none of these has changed, the same question has the
same answer. A ground is there for a root on SQLite only: files would have to be read as a whole, a server be asked.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from catmem.policy.profile import profile_with_sources
from catmem.service import clock
from catmem.service.stores import sql_store

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from catmem.policy.profile import Profile, Source
    from catmem.service.workspace import Workspace
    from catmem.store.sql.watch import Mark

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


class Start(NamedTuple):
    """The store and the day, as they are before an answer is made."""

    mark: Mark
    day: date


class Ground(NamedTuple):
    """What an answer stands on."""

    start: Start
    sources: tuple[Source, ...]


def start(workspace: Workspace) -> Start | None:
    """The start of an answer that is made next; ``None`` where it could not be told later whether it still holds.

    May wait, and raises as reading does.
    """
    store = sql_store(workspace.store)
    mark = None if store is None else store.mark()
    return None if mark is None else Start(mark, clock.today())


def ground(workspace: Workspace, begun: Start, profiles: Iterable[Profile]) -> Ground | None:
    """What an answer stands on that was made of these profiles; ``None`` if one of them is another by now.

    Only equality counts: a profile that changed and was changed back makes the same answer. Raises as reading does.
    """
    sources: list[Source] = []
    for profile in profiles:
        now, its_sources = profile_with_sources(workspace.config, profile.name)
        if now != profile:
            return None
        sources += its_sources
    return Ground(begun, tuple(dict.fromkeys(sources)))


def holds(workspace: Workspace, known: Ground) -> bool:
    """Whether an answer still stands. Never waits: false where that cannot be told at once."""
    store = sql_store(workspace.store)
    return (
        store is not None
        and known.start.day == clock.today()
        and all(map(_is_same, known.sources))
        # In the end, so that the answer stands after all else was looked at.
        and store.is_at(known.start.mark)
    )


def _is_same(source: Source) -> bool:
    """Whether a file has the same bytes, or is still absent: times would not tell, within one tick of a clock."""
    try:
        descriptor = os.open(source.path, _FLAGS)
    except FileNotFoundError:
        return source.raw is None and not os.path.lexists(source.path)
    except OSError:
        return False  # whoever reads it next is told why
    try:
        found = os.fstat(descriptor)
        if source.raw is None or not stat.S_ISREG(found.st_mode) or found.st_size != len(source.raw):
            return False
        return os.read(descriptor, len(source.raw) + 1) == source.raw
    except OSError:
        return False
    finally:
        os.close(descriptor)
