"""How old facts are by four clocks: verified, created, first seen by the journal, and the time of the file.

A prompt knows the first two alone. Search and review ask here. A date in the future dates nothing: the next clock
counts. What the one who asks may not see has no part in any answer, so each question says who that is (``Rights``).
"""

from __future__ import annotations

import os
from datetime import date, datetime
from typing import TYPE_CHECKING

from catmem import clock
from catmem.names import TARGETS
from catmem.policy.access import Rights
from catmem.policy.staleness import DATED_BY, Clock, Freshness, freshness, is_ahead, read_date, stale_after_days
from catmem.service.ages.history import body_key
from catmem.service.stores import locate
from catmem.store.files.external_changes import FILE_TIME, file_time_note

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catmem.model.document import Document, Entry, TagValue
    from catmem.policy.profile import Profile
    from catmem.service.ages.history import Moment
    from catmem.service.workspace import Workspace


def freshness_of(  # noqa: PLR0913 - whose entries of what, who asks, and the day
    workspace: Workspace,
    profile: Profile,
    entity: str,
    document: Document,
    entries: Sequence[Entry],
    *,
    as_of: date,
    reader: Profile | None,
) -> list[Freshness]:
    """The freshness of some ``entries`` of ``document``, the text of ``entity`` as it is now, in their order.

    Thresholds are those of ``profile``. ``reader`` is the profile that the answer is for, ``None`` for a person. Costs
    nothing more than a look at the tags if all have a date of their own.
    """
    tags = [_past(entry.tags, as_of) for entry in entries]
    undated = [entry for entry, each in zip(entries, tags, strict=True) if not any(key in each for key in DATED_BY)]
    rights = Rights(reader, entity.rpartition("/")[2], workspace.config.taxonomy)
    clocks = _clocks(workspace, entity, rights, document, undated, as_of) if undated else {}
    # Without tags there are few different cases, however many entries there are.
    plain: dict[tuple[str, Clock | None], Freshness] = {}
    found: list[Freshness] = []
    for entry, each in zip(entries, tags, strict=True):
        clock = clocks.get(entry.start)
        known = None if each else plain.get((entry.category, clock))
        if known is None:
            limit = stale_after_days(entry.category, each, profile, workspace.config)
            known = freshness(each, as_of=as_of, stale_after=limit, clock=clock)
            if not each:
                plain[entry.category, clock] = known
        found.append(known)
    return found


def _past(tags: Mapping[str, TagValue], as_of: date) -> Mapping[str, TagValue]:
    """The tags without dates that are none, or that lie in the future."""
    if not tags:
        return tags
    days = {key: read_date(tags[key]) for key in DATED_BY if key in tags}
    wrong = [key for key, day in days.items() if day is None or is_ahead(day, as_of)]
    return {key: value for key, value in tags.items() if key not in wrong} if wrong else tags


def notes_of(workspace: Workspace) -> tuple[str, ...]:
    """What a person should know of the ages that were asked for: whose history could not be read, and why."""
    return tuple(workspace._ages.notes.values())  # noqa: SLF001 - the workspace keeps them for this module


def clocks_of(
    workspace: Workspace, entity: str, document: Document, entries: Sequence[Entry], readers: Sequence[Profile | None]
) -> list[dict[str, list[str]]]:
    """The clocks of entries of an entity, to go into the note (``CLOCKS``) of the write that copies them elsewhere.

    So that the copy of an entry without a date is as old as the entry is. For each profile that gets copies they are
    worked out from what it may see, and hold nothing else. Those that no revision has are as old as the file.
    """
    target = entity.rpartition("/")[2]
    rights = [Rights(reader, target, workspace.config.taxonomy) for reader in readers]
    histories = workspace._ages.of(workspace, entity, rights)  # noqa: SLF001
    written = _file_moment(workspace, entity)
    clocks: list[dict[str, list[str]]] = []
    for index, each in enumerate(rights):
        seen = each.among(document, entries)
        moments = {} if histories is None else histories[index].of(document, seen)
        unknown = [entry for entry in seen if entry.start not in moments] if written is not None else []
        found = {body_key(entry.body): list(moments[entry.start]) for entry in seen if entry.start in moments}
        clocks.append(found | {body_key(entry.body): ["file_time", str(written)] for entry in unknown})
    return clocks


def known_since(workspace: Workspace, owner: str, rights: Rights, body: str) -> date | None:
    """The day that dated some words when a file of ``owner`` last had them, by their tags then, else by the journal.

    ``None`` for words that neither file ever had, and where the history cannot be read. For somebody who may not
    verify: to take an entry out and put it back, here or in the other file, must not make it young. Only what the actor
    may be shown counts, or a date would tell of a text that is hidden. A day in the future dates nothing.
    """
    days = []
    for target in TARGETS:
        reader = Rights(rights.actor, target, rights.taxonomy)
        histories = workspace._ages.of(workspace, f"{owner}/{target}", [reader])  # noqa: SLF001
        known = None if histories is None else histories[0].known.get(body_key(body))
        if known is not None:
            past = [day for day in known.days if not is_ahead(day, clock.today())]
            days.append(min(past) if past else _day(known.moment.time))
    return min((day for day in days if day is not None), default=None)


def _clocks(  # noqa: PLR0913, PLR0917 - whose entries of what, who asks, and the day
    workspace: Workspace, entity: str, rights: Rights, document: Document, entries: Sequence[Entry], as_of: date
) -> dict[int, Clock]:
    """The clock of each entry, by its start: the journal's, else the time of the file."""
    histories = workspace._ages.of(workspace, entity, [rights])  # noqa: SLF001
    moments = {} if histories is None else histories[0].of(document, entries)
    seen = {moment: _clock(moment, as_of) for moment in set(moments.values())}
    found = [(entry.start, moments.get(entry.start)) for entry in entries]
    clocks = {start: clock for start, moment in found if moment is not None and (clock := seen[moment]) is not None}
    if len(clocks) < len(entries):
        written = _file_moment(workspace, entity)
        day = None if written is None else _day(written)
        if day is not None and day <= as_of:
            clock = Clock("file_time", day)
            clocks |= {start: clock for start, _ in found if start not in clocks}
    return clocks


def _clock(moment: Moment, as_of: date) -> Clock | None:
    """The clock that a moment is on a day; ``None`` for one after it."""
    day = _day(moment.time)
    return None if day is None or day > as_of else Clock(moment.basis, day)


def _file_moment(workspace: Workspace, entity: str) -> str | None:
    """The moment of the file's last change, UTC, as notes tell it; ``None`` where there is no file."""
    try:
        status = os.stat(locate(workspace.config, workspace.profile, entity).path, follow_symlinks=False)  # noqa: PTH116
    except OSError:
        return None  # not there
    return file_time_note(status.st_mtime_ns).get(FILE_TIME)


def _day(time: str) -> date | None:
    """The day of a moment where the person is; ``None`` for what is no moment."""
    try:
        return datetime.fromisoformat(time).astimezone().date()
    except (ValueError, OverflowError):
        return None
