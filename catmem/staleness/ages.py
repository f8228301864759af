"""How old facts are by four clocks: verified, created, first seen by the journal, and the time of the file.

A prompt knows the first two alone. Search, review and the page ask here. A date in the future dates nothing: the next
clock counts. What the one who asks may not see has no part in any answer, so each question says who that is
(``Rights``).
"""

from __future__ import annotations

import os
from datetime import date, datetime
from functools import cache, partial
from typing import TYPE_CHECKING

from catmem import clock
from catmem.config.access import Rights
from catmem.names import TARGETS
from catmem.staleness.first_seen import Moment, body_key
from catmem.staleness.freshness import Clock, Freshness, freshness, is_ahead
from catmem.store.files.external_changes import FILE_TIME, file_time_note
from catmem.workspace.stores import locate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.config.profile import Profile
    from catmem.model.document import Document, Entry
    from catmem.staleness.first_seen import EntryHistory
    from catmem.workspace.root import Root


def freshness_of(  # noqa: PLR0913 - whose entries of what, who asks, and the day
    workspace: Root,
    profile: Profile,
    entity: str,
    document: Document,
    entries: Sequence[Entry],
    *,
    as_of: date,
    reader: Profile | None,
) -> list[Freshness]:
    """The freshness of some ``entries`` of ``document``, the text of ``entity`` as it is now, in their order."""
    # Thresholds are those of `profile`. `reader` is the profile that the answer is for, `None` for a person. The
    # history is read only if there are entries without a date of their own.
    age = partial(freshness, profile=profile, config=workspace.config, as_of=as_of)
    found = {entry.start: age(entry) for entry in entries}
    undated = [entry for entry in entries if found[entry.start].day is None]
    if undated:
        (history,) = histories_of(workspace, entity, [reader])
        moments, clock_of = history.of(document, undated), cache(partial(_clock, as_of=as_of))
        clocks = [clock_of(moments.get(entry.start)) for entry in undated]
        by_file = clock_of(_file_moment(workspace, entity)) if None in clocks else None
        found |= {entry.start: age(entry, clock=own or by_file) for entry, own in zip(undated, clocks, strict=True)}
    return [found[entry.start] for entry in entries]


def notes_of(workspace: Root) -> tuple[str, ...]:
    """What a person should know of the ages that were asked for: whose history could not be read, and why."""
    return tuple(workspace._cache.histories.notes.values())  # noqa: SLF001 - the workspace keeps them


def clocks_of(
    workspace: Root, entity: str, document: Document, entries: Sequence[Entry], readers: Sequence[Profile | None]
) -> list[dict[str, list[str]]]:
    """The clocks of entries of an entity, to go into the note (``CLOCKS``) of the write that copies them elsewhere."""
    # So that the copy of an entry without a date is as old as the entry is. For each profile that gets copies they are
    # worked out from what it may see, and hold nothing else. Those that no revision has are as old as the file.
    written = _file_moment(workspace, entity)
    clocks: list[dict[str, list[str]]] = []
    for history in histories_of(workspace, entity, readers):
        seen = history.rights.among(entries)
        moments = history.of(document, seen)
        dated = [(entry, moments.get(entry.start, written)) for entry in seen]
        clocks.append({body_key(entry.body): list(moment) for entry, moment in dated if moment is not None})
    return clocks


def known_since(workspace: Root, owner: str, actor: Profile | None, body: str) -> date | None:
    """The day that dated some words when a file of ``owner`` last had them, by their tags then, else by the journal."""
    # `None` for words that neither file ever had, and where the history cannot be read. For an actor who may not
    # verify: to take an entry out and put it back, here or in the other file, must not make it young. Only what the
    # actor may be shown counts, or a date would tell of a text that is hidden. A day in the future dates nothing.
    days: list[date | None] = []
    for target in TARGETS:
        (history,) = histories_of(workspace, f"{owner}/{target}", [actor])
        known = history.known.get(body_key(body))
        if known is not None:
            past = [day for day in known.days if not is_ahead(day, clock.today())]
            days.append(min(past) if past else _day(known.moment))
    return min((day for day in days if day is not None), default=None)


def histories_of(workspace: Root, entity: str, readers: Sequence[Profile | None]) -> list[EntryHistory]:
    """What the history of an entity tells each reader; empty ones where it cannot be read."""
    taxonomy, target = workspace.config.taxonomy, entity.rpartition("/")[2]
    rights = [Rights(each, target, taxonomy) for each in readers]
    histories = workspace._cache.histories  # noqa: SLF001 - the workspace keeps them
    return histories.of(workspace.store, taxonomy.parse, entity, rights)


def _clock(moment: Moment | None, as_of: date) -> Clock | None:
    """The clock that a moment is on a day; ``None`` for one after it."""
    day = None if moment is None else _day(moment)
    return None if moment is None or day is None or day > as_of else Clock(moment.basis, day)


def _file_moment(workspace: Root, entity: str) -> Moment | None:
    """The moment of the file's last change, UTC, as notes tell it; ``None`` where there is no file."""
    try:
        status = os.stat(locate(workspace.config, workspace.profile, entity).path, follow_symlinks=False)  # noqa: PTH116
    except OSError:
        return None  # not there
    written = file_time_note(status.st_mtime_ns).get(FILE_TIME)
    return None if written is None else Moment("file_time", written)


def _day(moment: Moment) -> date | None:
    """The day of a moment where the person is; ``None`` for what is no moment."""
    try:
        return datetime.fromisoformat(moment.time).astimezone().date()
    except (ValueError, OverflowError):
        return None
