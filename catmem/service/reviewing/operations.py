"""What an answer to a fact writes: it still holds, it says something else, it no longer holds, it goes.

The command line and the page answer alike, so both ask here. ``entry`` is the fact as it was shown, and ``as_of`` the
day by which it was judged; answers write that day, or today if it is in the future.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from catmem import clock
from catmem.errors import EditError
from catmem.policy.staleness import DATED_BY, freshness, is_ahead, read_date
from catmem.service.writing.operation import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from catmem.model.document import Entry, TagValue

ONE_DAY = timedelta(days=1)


class Answering(NamedTuple):
    """The operation of an answer, ``None`` where all is as it should be; ``notes`` say what it does besides."""

    operation: Operation | None
    notes: tuple[str, ...] = ()


def keeping(entry: Entry, as_of: date) -> Answering:
    """The fact still holds: it is verified, and dates that say otherwise are put right."""
    tags, notes = corrections(entry.tags, as_of)
    day = day_of(as_of)
    if tags:
        return Answering(_replacing(entry, None, {"verified_date": day.isoformat(), **tags}), notes)
    return Answering(Operation("verify", old_text=entry.id, category=entry.category, as_of=day))


def rewording(entry: Entry, content: str, as_of: date) -> Answering:
    """The fact in new words, which are verified. Raises ``EditError`` (``empty``)."""
    if not content.strip():
        raise EditError("there are no new words", code="empty", hint="Give the words, or remove the fact.")
    tags, notes = corrections(entry.tags, as_of)
    return Answering(_replacing(entry, content, {"verified_date": day_of(as_of).isoformat(), **tags}), notes)


def expiring(entry: Entry, as_of: date) -> Answering:
    """The fact no longer holds: it expired the day before. One that is expired already is left as it is."""
    if is_expired(entry.tags, as_of):
        return Answering(None, ("it is expired already, and stays so",))
    return Answering(_replacing(entry, None, {"expires": (day_of(as_of) - ONE_DAY).isoformat()}))


def removing(entry: Entry) -> Answering:
    """The fact goes out of the file; the history keeps it."""
    return Answering(Operation("remove", old_text=entry.id, category=entry.category))


def corrections(tags: Mapping[str, TagValue], as_of: date) -> tuple[dict[str, str | list[str] | None], tuple[str, ...]]:
    """The tags that a fact which holds must not keep, and what to tell of them."""
    right: dict[str, str | list[str] | None] = {}
    notes: list[str] = []
    day = day_of(as_of)
    if is_expired(tags, as_of):
        right["expires"] = None
        notes.append(f"its tag expires ({read_date(tags.get('expires'))}) was dropped")
    for key, ahead in dated_ahead(tags, as_of):
        right[key] = day.isoformat()
        if key == "created":
            notes.append(f"its tag created ({ahead}) was in the future, and is {day} now")
    return right, tuple(notes)


def is_expired(tags: Mapping[str, TagValue], as_of: date) -> bool:
    """Whether ``expires`` has gone by."""
    return freshness(tags, as_of=as_of, stale_after=0).state == "expired"


def dated_ahead(tags: Mapping[str, TagValue], as_of: date) -> tuple[tuple[str, date], ...]:
    """The tags that date a fact and name a day in the future, with that day."""
    days = [(key, read_date(tags.get(key))) for key in DATED_BY]
    return tuple((key, day) for key, day in days if day is not None and is_ahead(day, as_of))


def day_of(as_of: date) -> date:
    """The day that answers write."""
    return min(as_of, clock.today())


def _replacing(entry: Entry, content: str | None, tags: dict[str, str | list[str] | None]) -> Operation:
    return Operation("replace", content, entry.id, entry.category, tags=tags)
