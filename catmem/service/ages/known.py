"""How old facts are by four clocks: verified, created, first seen by the journal, and the time of the file.

A prompt knows the first two alone. Search and review ask here. A date in the future dates nothing: the next clock
counts.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from catmem.errors import CatmemError
from catmem.policy.prompt import TARGETS
from catmem.policy.staleness import DATED_BY, Clock, Freshness, freshness, is_ahead, read_date, stale_after_days
from catmem.service.ages.history import FirstSeen, body_key
from catmem.service.ages.kept import keep, read_kept
from catmem.service.clock import today
from catmem.service.stores import locate, parse_file
from catmem.store.files.file_time import FILE_TIME, file_time_note

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from catmem.model.document import Document, Entry, TagValue
    from catmem.policy.profile import Profile
    from catmem.policy.rights import Rights
    from catmem.service.ages.gone import Moment
    from catmem.service.workspace import Workspace

_LOOKED_BACK = 200
"""Revisions in which words that come back are looked for."""

_READERS = threading.Lock()
"""Of several threads that read, one works at a time, so that none does again what another is doing.

Who has it asks the store, which may have to wait for a write. So it is never waited for in a write (``known_since``).
"""


def freshness_of(  # noqa: PLR0913 - whose entries of what, and the day
    workspace: Workspace,
    profile: Profile,
    entity: str,
    document: Document,
    entries: Sequence[Entry],
    *,
    as_of: date,
) -> list[Freshness]:
    """The freshness of some ``entries`` of ``document``, the text of ``entity`` as it is now, in their order.

    Thresholds are those of ``profile``. Costs nothing more than a look at the tags if all have a date of their own.
    """
    tags = [_past(entry.tags, as_of) for entry in entries]
    undated = [entry for entry, each in zip(entries, tags, strict=True) if not any(key in each for key in DATED_BY)]
    clocks = _clocks(workspace, entity, document, undated, as_of) if undated else {}
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
    return tuple(workspace._ages_notes.values())  # noqa: SLF001 - the workspace keeps them for this module


def clocks_of(workspace: Workspace, entity: str, document: Document, entries: Sequence[Entry]) -> dict[str, list[str]]:
    """The clocks of entries of an entity, to go into the note (``CLOCKS``) of the write that copies them elsewhere.

    So that the copy of an entry without a date is as old as the entry is. Those that no revision has are as old as the
    file.
    """
    with _READERS, _history(workspace, entity) as ages:
        moments = {} if ages is None else ages.of(document, entries, workspace.store, entity)
    clocks = {body_key(entry.body): list(moments[entry.start]) for entry in entries if entry.start in moments}
    unknown = [body_key(entry.body) for entry in entries if entry.start not in moments]
    written = _file_moment(workspace, entity) if unknown else None
    if written is not None:
        clocks |= {key: ["file_time", written] for key in unknown}
    return clocks


def known_since(workspace: Workspace, owner: str, rights: Rights, body: str) -> date | None:
    """The day that dated some words when a file of ``owner`` last had them, by their tags then, else by the journal.

    ``None`` for words that neither file ever had, and where the history cannot be read. For somebody who may not
    verify: to take an entry out and put it back, here or in the other file, must not make it young. Only what the actor
    may be shown counts, or a date would tell of a text that is hidden. A day in the future dates nothing.
    """
    found = (_known_in(workspace, f"{owner}/{each}", replace(rights, target=each), body) for each in TARGETS)
    return min((day for day in found if day is not None), default=None)


def _known_in(workspace: Workspace, entity: str, rights: Rights, body: str) -> date | None:
    """The same in one file, by its last revisions."""
    with _history(workspace, entity) as ages:
        known = None if ages is None else ages.find(body_key(body))
    # Words that only ever stood where the actor sees nothing cost no more time than words that never were.
    if known is None or not any(map(rights.may_see, known.categories)):
        return None
    parse = partial(parse_file, workspace.config)
    line = max(body.split("\n"), key=len).encode()
    was_seen = False
    for revision in islice(workspace.store.log(entity), _LOOKED_BACK):
        data = workspace.store.read(entity, revision.revision).data
        if line not in data:
            continue
        try:
            same = [entry for entry in rights.in_sight(parse(data)) if entry.body == body]
        except CatmemError:
            continue  # what is no text has no entries
        was_seen = was_seen or bool(same)
        dated = [_past(entry.tags, today()) for entry in same]
        days = [day for tags in dated for key in DATED_BY if (day := read_date(tags.get(key))) is not None]
        if days:
            return min(days)
    return _day(known.moment.time) if was_seen else None


def _clocks(
    workspace: Workspace, entity: str, document: Document, entries: Sequence[Entry], as_of: date
) -> dict[int, Clock]:
    """The clock of each entry, by its start: the journal's, else the time of the file."""
    with _READERS, _history(workspace, entity) as ages:
        moments = {} if ages is None else ages.of(document, entries, workspace.store, entity)
    seen = {moment: _clock(moment, as_of) for moment in set(moments.values())}
    found = [(entry.start, moments.get(entry.start)) for entry in entries]
    clocks = {start: clock for start, moment in found if moment is not None and (clock := seen[moment]) is not None}
    if len(clocks) < len(entries):
        day = _file_day(workspace, entity)
        if day is not None and day <= as_of:
            clock = Clock("file_time", day)
            clocks |= {start: clock for start, _ in found if start not in clocks}
    return clocks


def _clock(moment: Moment, as_of: date) -> Clock | None:
    """The clock that a moment is on a day; ``None`` for one after it."""
    day = _day(moment.time)
    return None if day is None or day > as_of else Clock(moment.basis, day)


@contextmanager
def _history(workspace: Workspace, entity: str) -> Iterator[FirstSeen | None]:
    """What the journal tells of an entity up to now; ``None`` where it cannot be read, which a note says then.

    It is nobody else's meanwhile: who comes while it is in use begins with what was kept, and waits for nobody. What
    stops half way is of no use, and is not brought back.
    """
    ages = workspace._ages.pop(entity, None)  # noqa: SLF001 - the workspace keeps it for this module
    try:
        path = locate(workspace.config, workspace.profile, entity).path
        if ages is None:
            ages = read_kept(path, partial(parse_file, workspace.config))
        ages.follow(workspace.store, entity)
    except CatmemError as error:
        workspace._ages_notes[entity] = (  # noqa: SLF001
            f"the history of {entity} cannot be read ({error}), so what has no date of its own is as old as the file"
        )
        yield None
        return
    workspace._ages_notes.pop(entity, None)  # noqa: SLF001
    keep(path, ages)
    yield ages
    workspace._ages[entity] = ages  # noqa: SLF001


def _file_moment(workspace: Workspace, entity: str) -> str | None:
    """The moment of the file's last change, UTC, as notes tell it; ``None`` where there is no file."""
    try:
        status = os.stat(locate(workspace.config, workspace.profile, entity).path, follow_symlinks=False)  # noqa: PTH116
    except OSError:
        return None  # not there
    return file_time_note(status.st_mtime_ns).get(FILE_TIME)


def _file_day(workspace: Workspace, entity: str) -> date | None:
    """The day of the file's last change; ``None`` where there is no file."""
    try:
        status = os.stat(locate(workspace.config, workspace.profile, entity).path, follow_symlinks=False)  # noqa: PTH116
        return date.fromtimestamp(status.st_mtime)  # noqa: DTZ012 - a day in a memory file has no time zone
    except (OSError, OverflowError, ValueError):
        return None  # not there, or a time that is no date


def _day(time: str) -> date | None:
    """The day of a moment where the person is; ``None`` for what is no moment."""
    try:
        return datetime.fromisoformat(time).astimezone().date()
    except (ValueError, OverflowError):
        return None
