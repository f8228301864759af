"""The review of a root: which facts are due, and why; and walking them one by one, with an answer to each.

A fact is due if it is unverified, stale, expired or dated in the future. The answers are: it still holds, it
says something else, it no longer holds, it goes. The command line and the page answer alike, so both ask here.

::

    review = Review(workspace)
    while (due := review.next()) is not None:
        review.answer(due, "keep")  # or edit, expire, remove, skip

Each answer is one write, made at once, so a review can be stopped anywhere. It acts for a person: rights do not bound
it. The dialogue is the command line's (``catmem review``).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from catmem import clock
from catmem.config.profile import ORCHESTRATOR_TIER, Profile, refuse_no_root
from catmem.digest import bytes_digest
from catmem.errors import CatmemError, ChangedMeanwhileError, DriftError, EditError, NoMatchError, StaleError
from catmem.model.document import Document, Entry, TagValue
from catmem.names import TARGETS, parts_of
from catmem.seeding.seed_lock import seeded_copies
from catmem.staleness.freshness import Freshness, dated_ahead, expired_on, stale_after_days
from catmem.staleness.lineage import freshness_of
from catmem.text import counted
from catmem.workspace.root import Root, collect_errors, load_each
from catmem.workspace.seen_entry import SeenEntry
from catmem.writing.request import Operation
from catmem.writing.write import write_operations
from catmem.writing.written import Written

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
    """A fact that a person should look at, and its ``freshness`` by the three clocks; ``stale_after`` is in days.

    ``future`` are the tags that hold a date after the day of the review, with that date. ``why`` says it in words.
    """

    stale_after: int
    future: tuple[tuple[str, date], ...]
    why: str
    __json__ = (
        "entity line id=entry.id category=entry.category state basis=freshness.basis date=freshness.day "
        "stale_after why tags=entry.tags body=entry.body"
    )

    @property
    def state(self) -> DueState:
        """The state, ``future`` for a fact that has a date in the future and is not old otherwise."""
        state = self.freshness.state
        return "future" if state == "fresh" or (self.future and not self.freshness.overdue) else state

    @property
    def key(self) -> FactKey:
        """What a review remembers of it."""
        return self.entity, self.entry.id


def due_facts(workspace: Root, profile: Profile, entity: str, document: Document, as_of: date) -> list[Due]:
    """The entries of ``document``, the text of ``entity``, that are due on a day, in file order."""
    # It is a person who asks.
    found: list[Due] = []
    states = freshness_of(workspace, profile, entity, document, document.entries, as_of=as_of, reader=None)
    for entry, freshness in zip(document.entries, states, strict=True):
        tags = entry.tags
        future = dated_ahead(tags, as_of)
        if freshness.state == "fresh" and not future:
            continue
        limit = stale_after_days(entry.category, tags, profile, workspace.config)
        why = _why(freshness, limit, future, as_of)
        found.append(Due(entity, document.line(entry.start), entry, freshness, limit, future, why))
    return found


def asked_about(due: Sequence[tuple[FactKey, T]], ids: Mapping[str, Collection[str]], copies: Copies) -> list[T]:
    """What a review asks about of facts that are ``due``: no copies that are answered at their source."""
    keys = {key for key, _ in due}

    def is_answered_elsewhere(entity: str, fact: str) -> bool:
        """Whether it is a copy, and is due at its source too, or says something else there by now."""
        # A source that is not looked at answers nothing, nor does one whose fact is a copy of this one.
        sources = [each for each in copies.get((entity, fact), ()) if entity not in copies.get((each, fact), ())]
        return any(each in ids and (fact not in ids[each] or (each, fact) in keys) for each in sources)

    return [fact for key, fact in due if not is_answered_elsewhere(*key)]


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
}


# --- answers ---------------------------------------------------------------------------------------------------------
# ``as_of`` is the day by which a fact was judged. Answers write that day, or today if it is in the future.


def answering_to(answer: str, entry: Entry, as_of: date, words: str = "") -> tuple[Operation | None, tuple[str, ...]]:
    """What ``keep``, ``edit``, ``expire`` and ``remove`` write of a fact, and notes. Raises ``EditError`` (``empty``).

    What is kept, or says ``words`` from now on, is verified, and dates that say otherwise are put right. What is to
    expire expired the day before, unless it is expired already: then there is nothing to write.
    """
    day = day_of(as_of)
    if answer == "remove":
        return Operation("remove", old_text=entry.id, category=entry.category), ()
    if answer == "expire":
        if expired_on(entry.tags, as_of):
            return None, ("it is expired already: remove it, or give it a new date",)
        return _replacing(entry, None, {"expires": (day - timedelta(days=1)).isoformat()}), ()
    if answer == "edit" and not words.strip():
        raise EditError("there are no new words", code="empty", hint="Give the words, or remove the fact.")
    tags, notes = corrections(entry.tags, as_of)
    if answer == "keep" and not tags:
        return Operation("verify", old_text=entry.id, category=entry.category, as_of=day), ()
    content = words if answer == "edit" else None
    return _replacing(entry, content, {"verified_date": day.isoformat(), **tags}), notes


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


# --- the facts one by one ---------------------------------------------------------------------------------------------


ReviewAnswer: TypeAlias = Literal["keep", "edit", "expire", "remove", "skip"]


class Answered(NamedTuple):
    """What an answer did. ``revision`` is ``None`` where nothing was written; ``notes`` say what else there is."""

    answer: str
    entity: str
    revision: str | None
    notes: tuple[str, ...] = ()


class _ReviewedFile(NamedTuple):
    """A file that was looked at: its bytes, the ids of its entries, and what is due of what is asked for."""

    data: bytes
    ids: frozenset[str]
    due: list[Due]


class Review:
    """The questions of one run."""

    def __init__(
        self,
        workspace: Root,
        *,
        profiles: Iterable[str] = (),
        category: str | None = None,
        states: Iterable[DueState] = (),
        as_of: date | None = None,
    ) -> None:
        """Look at what is due in a root; ``category`` and ``states`` keep some facts only."""
        refuse_no_root(workspace.config)
        self.workspace, self.as_of = workspace, clock.day(as_of)
        chosen = [workspace.profile(name) for name in dict.fromkeys(profiles)]
        self.unreadable: list[CatmemError] = []
        """What is wrong with the profiles and files that could not be looked at."""
        if not chosen:
            chosen, self.unreadable = load_each(workspace)
        chosen.sort(key=lambda each: (each.tier != ORCHESTRATOR_TIER, each.name))
        self.profiles = {each.name: each for each in chosen}
        self.category = None if category is None else workspace.config.taxonomy.category(category)
        self.states = frozenset(states)
        self._copies = seeded_copies(workspace)
        self._passed: set[FactKey] = set()
        """What is due, and was answered."""
        self._files: dict[str, _ReviewedFile] = {}
        self._look_at_all()

    # --- what is due ----------------------------------------------------------------------------------------------

    def due(self) -> list[Due]:
        """The facts that are still to be asked about."""
        # The expired come first, then those dated in the future, those without a date, and the stale; of each those of
        # tier 1, then the oldest.
        order = {name: place for place, name in enumerate(self.profiles)}
        return sorted(
            (each for each in self._asked() if each.key not in self._passed),
            key=lambda due: (
                _ORDER.index(due.state),
                order[parts_of(due.entity).owner],
                due.freshness.day or date.min,
            ),
        )

    def elsewhere(self) -> list[Due]:
        """The due facts of these profiles that are copies and answered at their sources."""
        asked = {due.key for due in self._asked()}
        every = (due for file in self._files.values() for due in file.due)
        return [due for due in every if self._is_of_these(due.entity) and due.key not in asked]

    def sources_of(self, due: Due) -> Mapping[str, bool]:
        """The entities that a fact is a copy of, and whether it is due there too; none for one that is no copy."""
        sources = sorted(self._copies.get(due.key, ()))
        ids = {each: [fact.entry.id for fact in self._files[each].due] for each in sources if each in self._files}
        return {each: due.entry.id in ids.get(each, ()) for each in sources}

    def next(self) -> Due | None:
        """The next fact, as its file is now; ``None`` if there is none left."""
        while pending := self.due():
            if not self._look_at(pending[0].entity):
                return pending[0]
        return None

    def base(self, entity: str) -> str:
        """What a write to a file of the review may give as ``expected``: the revision or digest that was looked at."""
        digest = bytes_digest(self._files[entity].data)
        head = self.workspace.store.head(entity)
        return head.revision if head is not None and head.digest == digest else digest

    @property
    def copies(self) -> int:
        """How many entries are copies that follow their source, and are not asked about."""
        return len(self._copies)

    def _asked(self) -> list[Due]:
        """The facts of these profiles that are asked about."""
        due = [(fact.key, fact) for file in self._files.values() for fact in file.due]
        ids = {entity: file.ids for entity, file in self._files.items()}
        return [fact for fact in asked_about(due, ids, self._copies) if self._is_of_these(fact.entity)]

    def _is_of_these(self, entity: str) -> bool:
        return parts_of(entity).owner in self.profiles

    def _look_at_all(self) -> None:
        """Read the files of the profiles, and those that copies among them follow."""
        folders: set[str] = set()
        for profile in self.profiles.values():
            with collect_errors(self.unreadable):
                folder = os.path.realpath(self.workspace.path_of(profile, "user").parent)
                if folder not in folders:  # two profiles may keep their memory in one folder
                    self._try_to_look_at(f"{profile.name}/{target}" for target in TARGETS)
                folders.add(folder)
        followed = [each for (entity, _), each in self._copies.items() if self._is_of_these(entity)]
        self._try_to_look_at(sorted({source for each in followed for source in each} - self._files.keys()))

    def _try_to_look_at(self, entities: Iterable[str]) -> None:
        for entity in entities:
            with collect_errors(self.unreadable):
                self._look_at(entity)

    def _look_at(self, entity: str) -> bool:
        """Read a file again; whether it has changed since the last time."""
        data = self.workspace.store.peek(entity)
        if entity in self._files and self._files[entity].data == data:
            return False
        name, target = parts_of(entity)
        profile = self.profiles.get(name) or self.workspace.profile(name)
        document = self.workspace.parse(data, self.workspace.path_of(profile, target))
        facts = due_facts(self.workspace, profile, entity, document, self.as_of)
        wanted = [due for due in facts if self.category in {None, due.entry.category}]
        ids = frozenset(entry.id for entry in document.entries)
        self._files[entity] = _ReviewedFile(
            data, ids, [due for due in wanted if not self.states or due.state in self.states]
        )
        return True

    # --- answers ----------------------------------------------------------------------------------------------------

    def answer(self, due: Due, answer: ReviewAnswer, words: str = "") -> Answered:
        """Do what a person says of a fact. ``words`` are those of ``edit``; ``skip`` asks again in the next run."""
        operation, notes = (None, ()) if answer == "skip" else answering_to(answer, due.entry, self.as_of, words)
        if operation is None:
            self._passed.add(due.key)
            return Answered(answer, due.entity, None, notes)
        written = self._write(due, operation)
        if answer != "remove":
            # What it made may be due all the same: expired now, or judged by a day far ahead.
            self._passed.update((due.entity, made.id) for made in written.entries[:1])
        notes = (*notes, *written.notes, *written.warnings)
        return Answered(answer, due.entity, written.revision if written.changed else None, notes)

    def _write(self, due: Due, operation: Operation) -> Written:
        """Write an answer, on the text in which the person was shown the fact."""
        name, target = parts_of(due.entity)
        try:
            # One that no history has can be no base.
            base = None if (base := self.base(due.entity)).startswith("sha256:") else base
            written = write_operations(
                self.workspace, name, [operation], target=target, expected=base, on_drift="merge"
            )
        except (NoMatchError, DriftError, StaleError) as error:
            if isinstance(error, DriftError) and error.code != "drift":
                raise
            self._look_at(due.entity)
            raise ChangedMeanwhileError(
                f"another writer changed this fact in {due.entity} meanwhile",
                hint="Nothing was written. It is shown again if it is still due.",
            ) from error
        self._look_at(due.entity)
        return written
