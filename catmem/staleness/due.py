"""Which facts of a root are due for a review, and why; and what an answer to one of them writes.

A fact is due if it is unverified, stale, expired or dated in the future. The answers are: it still holds, it
says something else, it no longer holds, it goes. The command line and the page answer alike, so both ask here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from catmem import clock
from catmem.config.profile import Profile
from catmem.errors import EditError
from catmem.model.document import Document, Entry, TagValue
from catmem.search.search import EntryUse, read_usage, usage_key
from catmem.staleness.freshness import Freshness, dated_ahead, expired_on, stale_after_days
from catmem.staleness.lineage import freshness_of
from catmem.text import counted
from catmem.workspace.root import Root
from catmem.workspace.seen_entry import SeenEntry
from catmem.writing.request import Operation

T = TypeVar("T")
DueState: TypeAlias = Literal["stale", "expired", "unverified", "future"]
FactKey: TypeAlias = tuple[str, str]
"""The entity of a fact, and its id."""
Copies: TypeAlias = Mapping[FactKey, frozenset[str]]
"""The entries that stand as they were seeded, each with the entities that it comes from."""
_ORDER: tuple[DueState, ...] = ("expired", "future", "unverified", "stale")
"""What is wrong for sure comes first in a review, then what no person ever looked at."""


@dataclass(frozen=True, slots=True)
class Due(SeenEntry):
    """A fact that a person should look at, and its ``freshness`` by the four clocks; ``stale_after`` is in days.

    ``future`` are the tags that hold a date after the day of the review, with that date. ``why`` says it in words.
    ``use`` is how agents used it, ``None`` if they never did.
    """

    stale_after: int
    future: tuple[tuple[str, date], ...]
    why: str
    use: EntryUse | None = None
    __json__ = (
        "entity line id=entry.id category=entry.category state basis=freshness.basis date=freshness.day "
        "stale_after why used=use tags=entry.tags body=entry.body"
    )

    @property
    def state(self) -> DueState:
        """The state, ``future`` for a fact that has a date in the future and is not old otherwise."""
        state = self.freshness.state
        return "future" if state == "fresh" or (self.future and not self.freshness.overdue) else state

    @property
    def rank(self) -> tuple[int, int]:
        """What comes first in a review is least: by state, and of each the most used."""
        return _ORDER.index(self.state), 0 if self.use is None else -self.use.times

    @property
    def key(self) -> FactKey:
        """What a round remembers of it."""
        return self.entity, self.entry.id


def due_facts(workspace: Root, profile: Profile, entity: str, document: Document, as_of: date) -> list[Due]:
    """The entries of ``document``, the text of ``entity``, that are due on a day, in file order."""
    # It is a person who asks.
    found: list[Due] = []
    uses: Mapping[str, EntryUse] | None = None
    states = freshness_of(workspace, profile, entity, document, document.entries, as_of=as_of, reader=None)
    for entry, freshness in zip(document.entries, states, strict=True):
        tags = entry.tags
        future = dated_ahead(tags, as_of)
        if freshness.state == "fresh" and not future:
            continue
        limit = stale_after_days(entry.category, tags, profile, workspace.config)
        why = _why(freshness, limit, future, as_of)
        uses = read_usage(workspace, entity) if uses is None else uses
        use = uses.get(usage_key(entry))
        found.append(Due(entity, document.line(entry.start), entry, freshness, limit, future, why, use))
    return found


def asked_about(
    due: Sequence[tuple[FactKey, T]], ids: Mapping[str, Collection[str]], copies: Copies, passed: Collection[FactKey]
) -> list[T]:
    """What a review asks about of facts that are ``due``: no copies that are answered at their source.

    ``ids`` are the entries of the entities that are looked at. What was ``passed`` over is left out.
    """
    keys = {key for key, _ in due}
    return [fact for key, fact in due if key not in passed and not _is_answered_elsewhere(key, keys, ids, copies)]


def _is_answered_elsewhere(
    key: FactKey, due: Collection[FactKey], ids: Mapping[str, Collection[str]], copies: Copies
) -> bool:
    """Whether a fact is a copy, and is due at its source too, or says something else there by now."""
    # A source that is not looked at answers nothing, nor does one whose fact is a copy of this one.
    entity, fact = key
    sources = [each for each in copies.get(key, ()) if entity not in copies.get((each, fact), ())]
    return any(each in ids and (fact not in ids[each] or (each, fact) in due) for each in sources)


def _why(freshness: Freshness, stale_after: int, future: Sequence[tuple[str, date]], as_of: date) -> str:
    parts = [f"dated in the future: {key.removesuffix('_date')} {day}" for key, day in future]
    if not future or freshness.overdue:
        said, day = freshness.state if freshness.day is None else _AGES[freshness.basis or "first_seen"], freshness.day
        ago = "" if day is None else f" {day}, {counted((as_of - day).days, 'day')} ago"
        parts.insert(0, f"{said}{ago}" + (f"; stale after {stale_after}" if freshness.state == "stale" else ""))
    return "; ".join(parts)


_AGES = {
    "verified_date": "stale: verified",
    "created": "stale: created",
    "expires": "expired",
    "first_seen": "unverified: first seen",
    "file_time": "unverified: in a file of",
}


# --- answers ---------------------------------------------------------------------------------------------------------
# ``as_of`` is the day by which a fact was judged. Answers write that day, or today if it is in the future.


class Answering(NamedTuple):
    """The operation of an answer, ``None`` where all is as it should be; ``notes`` say what it does besides."""

    operation: Operation | None
    notes: tuple[str, ...] = ()


def answering_to(answer: str, entry: Entry, as_of: date, words: str = "") -> Answering:
    """What ``keep``, ``edit``, ``expire`` and ``remove`` write of a fact. Raises ``EditError`` (``empty``).

    What is kept, or says ``words`` from now on, is verified, and dates that say otherwise are put right. What is to
    expire expired the day before, unless it is expired already.
    """
    day = day_of(as_of)
    if answer == "remove":
        return Answering(Operation("remove", old_text=entry.id, category=entry.category))
    if answer == "expire":
        if expired_on(entry.tags, as_of):
            return Answering(None, ("it is expired already: remove it, or give it a new date",))
        return Answering(_replacing(entry, None, {"expires": (day - timedelta(days=1)).isoformat()}))
    if answer == "edit" and not words.strip():
        raise EditError("there are no new words", code="empty", hint="Give the words, or remove the fact.")
    tags, notes = corrections(entry.tags, as_of)
    if answer == "keep" and not tags:
        return Answering(Operation("verify", old_text=entry.id, category=entry.category, as_of=day))
    content = words if answer == "edit" else None
    return Answering(_replacing(entry, content, {"verified_date": day.isoformat(), **tags}), notes)


def corrections(tags: Mapping[str, TagValue], as_of: date) -> tuple[dict[str, str | list[str] | None], tuple[str, ...]]:
    """The tags that a fact which holds must not keep, and what to tell of them."""
    right: dict[str, str | list[str] | None] = {}
    notes: list[str] = []
    day = day_of(as_of)
    expired = expired_on(tags, as_of)
    if expired is not None:
        right["expires"] = None
        notes.append(f"its tag expires ({expired}) was dropped")
    for key, ahead in dated_ahead(tags, as_of):
        right[key] = day.isoformat()
        if key == "created":
            notes.append(f"its tag created ({ahead}) was in the future, and is {day} now")
    return right, tuple(notes)


def day_of(as_of: date) -> date:
    """The day that answers write."""
    return min(as_of, clock.today())


def _replacing(entry: Entry, content: str | None, tags: dict[str, str | list[str] | None]) -> Operation:
    return Operation("replace", content, entry.id, entry.category, tags=tags)
