"""What is new in a root that is looked at again and again, within a second, and how much of it a caller hears.

A person hears everything, and so does a profile of tier 1, but for digests and texts of errors. A bounded profile
hears of its own files what it could ask for at any time: that there is another revision, or a change that no history
has yet (``/mem/head`` says the same). Who wrote a revision, when and how, it hears of those that it wrote itself, as in
the log; of branches that others made, and of proposals, nothing. Of a declared entity that it may read it hears
everything. No event has a word of an entry, or the name of a category.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any, Literal, NamedTuple, TypeAlias

from catmem.config.access import Rights, reads_entity
from catmem.config.profile import named_entities
from catmem.errors import CatmemError, ForbiddenError, StoreError
from catmem.jsonable import jsonable
from catmem.store.contract import Revision, Snapshot, Store, revision_number, sees
from catmem.workspace.history import declared_of, entity_of
from catmem.workspace.root import Root, broken_profiles

EVERY = 0.75
"""Seconds from the end of one look to the next."""
MOST = 256
"""Revisions of one entity that are reported one by one; where more came at once, the newest stands for them."""

Kind: TypeAlias = Literal["revision", "drift", "trouble", "recovered", "missed"]
"""A new revision. An external change, which no history has yet, or the end of one (``recorded``). Something that cannot
be read, and that it can be again. That there was more than is reported."""


@dataclass(frozen=True, slots=True)
class News:
    """Something that happened to an entity, to a ``profile`` itself, or, where both are ``None``, to the whole root."""

    kind: Kind
    entity: str | None
    revision: str = "0"
    digest: str | None = None
    record: Revision | None = None
    recorded: bool = True
    error: CatmemError | None = None
    profile: str | None = None

    @property
    def owner(self) -> str | None:
        """The profile that it is of; ``None`` for the whole root."""
        return self.profile if self.entity is None else self.entity.partition("/")[0]


MISSED = News("missed", None)


class _Known(NamedTuple):
    """How an entity stood: its newest record, the digest of a text without one, and the code of what was wrong."""

    sequence: int | None = 0
    outside: str | None = None
    trouble: str | None = None


class Watch:
    """What is known of a root. For one thread at a time."""

    def __init__(self, workspace: Root) -> None:
        """Nothing is looked at yet."""
        self.workspace = workspace
        self._marks: dict[str, object] = {}
        self._known: dict[str, _Known] = {}
        self._broken: dict[str, str] = {}
        self._trouble: str | None = None
        self._first = _Known(None)
        """What is known of an entity that is seen for the first time."""

    def heard(
        self, found: Sequence[News], wanted: frozenset[str], actor: str | None
    ) -> Iterator[tuple[News, dict[str, Any]]]:
        """What is new for ``actor``, without end; ``found`` to begin with."""
        while True:
            yield from heard(self.workspace, (news for news in found if concerns(news, wanted)), actor)
            time.sleep(EVERY)
            found = self.look()

    def look(self) -> list[News]:
        """What is new since the look before. The first one tells what is wrong alone: all else was there before."""
        found: list[News] = []
        try:
            marks = self._changed()
            found += self._profiles()
        except CatmemError as error:
            is_new, self._trouble = self._trouble != error.code, error.code
            return [News("trouble", None, error=error)] if is_new else []
        if self._trouble is not None:
            self._trouble = None
            found.insert(0, News("recovered", None))
        for entity, mark in marks.items():
            found += self._entity(entity)
            self._marks[entity] = mark
        self._first = _Known()
        return found

    def _changed(self) -> dict[str, object]:
        """The entities to which something may have happened, with their marks."""
        marks = self.workspace.store.marks({*named_entities(self.workspace.config), *self._marks})
        return {
            entity: mark
            for entity, mark in sorted(marks.items())
            if entity not in self._known or self._marks.get(entity) != mark or self._known[entity].trouble
        }

    def _profiles(self) -> Iterator[News]:
        """A profile that is not right, or not right in another way, is trouble, which is reported once."""
        broken = broken_profiles(self.workspace)
        before, self._broken = self._broken, {name: str(error) for name, error in broken.items()}
        yield from (News("recovered", None, profile=name) for name in before if name not in broken)
        for name, error in broken.items():
            if before.get(name) != self._broken[name]:
                yield News("trouble", None, error=error, profile=name)

    def _entity(self, entity: str) -> list[News]:
        before = self._known.get(entity, self._first)
        try:
            self._known[entity], news = _compared(self.workspace.store, entity, before)
        except (CatmemError, OSError) as error:
            if isinstance(error, OSError):
                error = StoreError(f"the system said: {error.strerror or error}", code="io", path=error.filename)
            self._known[entity] = before._replace(trouble=error.code)
            return [] if before.trouble == error.code else [News("trouble", entity, error=error)]
        return news


def _compared(store: Store, entity: str, before: _Known) -> tuple[_Known, list[News]]:
    tips, now = _standing(store, entity)
    newest = _newest(tips)
    outside = now.digest if now.revision is None else None
    news = [News("recovered", entity)] if before.trouble else []
    if before.sequence is None:
        return _Known(newest, outside), news
    news += _recorded(store, entity, before.sequence, newest)
    newest = max(newest, *(each.record.sequence for each in news if each.record), 0)
    after = _Known(newest, outside)
    head = next((tip.revision for tip in tips if not tip.is_branch), "0")
    if outside is not None and outside != before.outside:
        news.append(News("drift", entity, head, outside, recorded=False))
    elif outside is None and before.outside is not None and not any(each.record for each in news):
        news.append(News("drift", entity, head, now.digest))
    return after, news


def _standing(store: Store, entity: str) -> tuple[Sequence[Revision], Snapshot]:
    """What is recorded of an entity, and how it is now; what is just being recorded is no change from outside."""
    while True:
        tips = store.branches(entity)
        now = store.read(entity)
        if now.revision is not None or _newest(store.branches(entity)) == _newest(tips):
            return tips, now


def _newest(tips: Sequence[Revision]) -> int:
    return max((tip.sequence for tip in tips), default=0)


def _recorded(store: Store, entity: str, before: int, newest: int) -> list[News]:
    if newest == before:
        return []
    if newest < before:  # another history was put in the place of this one
        head = store.head(entity)
        return [News("missed", entity), *([_new(head)] if head else [])]
    newer = takewhile(lambda revision: revision.sequence > before, store.log(entity))
    found = list(islice(newer, MOST + 1))
    if len(found) > MOST:
        return [News("missed", entity), _new(found[0])]
    return [_new(revision) for revision in reversed(found)]


def _new(record: Revision) -> News:
    return News("revision", record.entity, record.revision, record.digest, record)


# --- who hears it --------------------------------------------------------------------------------------------------


def heard(workspace: Root, news: Iterable[News], actor: str | None) -> list[tuple[News, dict[str, Any]]]:
    """The news that ``actor`` (``None``: a person) hears of, with its rights of now, each as JSON-ready data."""
    if actor is None:
        return [(each, _whole(each)) for each in news]
    try:
        profile = workspace.profile(actor)
    except CatmemError:
        return []
    if Rights(profile, "user", workspace.config.taxonomy).unbounded:
        return [(each, _with_writer(each, actor, unbounded=True)) for each in news]
    read = {name for name, each in workspace.config.entities.items() if reads_entity(each, profile)}
    return [
        (each, _with_writer(each, actor, unbounded=each.entity in read))
        for each in news
        if each.entity in read or (each.owner in {None, actor} and _is_own(each.record, actor))
    ]


def _is_own(record: Revision | None, actor: str) -> bool:
    return record is None or not record.is_branch or (record.note.get("actor") == actor and not record.is_proposal)


def _with_writer(news: News, actor: str, *, unbounded: bool) -> dict[str, Any]:
    said, record = _discreet(news), news.record
    if record is None or not (unbounded or record.note.get("actor") == actor):
        return said
    return {**said, "agent_id": record.agent, "op": record.op, "timestamp": record.timestamp}


def concerns(news: News, entities: Collection[str] | None) -> bool:
    """Whether some news are of one of these entities, or of all; without any entities, everything is."""
    if not entities or news.owner is None:
        return True
    if news.entity is not None:
        return news.entity in entities
    return any(entity.partition("/")[0] == news.owner for entity in entities)


def standing(workspace: Root, entity: str, seen: str, actor: str | None) -> News | None:
    """How an entity stands, for a caller who has ``seen`` a revision or digest; ``None`` if it stands so still."""
    # A digest would tell an agent of texts that it does not see.
    if actor is not None and seen.startswith("sha256:"):
        raise ForbiddenError(f"{actor} may not ask for digests", hint="Name the revision that you have seen.")
    head = workspace.store.head(entity)
    now = workspace.store.read(entity)
    number = "0" if head is None else head.revision
    if sees(seen, now.revision, now.digest):
        return None
    if now.revision is None:
        return News("drift", entity, number, now.digest, recorded=False)
    return News("revision", entity, number, now.digest, head)


def heard_name(workspace: Root, name: str, actor: str | None) -> str:
    """The entity of a name, if the actor may hear of it. Raises ``UnknownNameError``."""
    profile = None if actor is None else workspace.profile(actor)
    if ":" in name:
        return declared_of(workspace, name, profile).name
    Rights(profile, "user", workspace.config.taxonomy).refuse_other_owner(name.partition("/")[0])
    return entity_of(workspace, name)


def _whole(news: News) -> dict[str, Any]:
    record, said = news.record, dict[str, Any]()
    if record is not None:
        said = {"agent_id": record.agent, "person": record.person, "op": record.op, "timestamp": record.timestamp}
    said |= {"digest": news.digest, **(jsonable(news.error) if news.error else {})}
    return _discreet(news) | {name: value for name, value in said.items() if value is not None}


def _discreet(news: News) -> dict[str, Any]:
    said: dict[str, Any] = {} if news.entity is None else {"entity_id": news.entity}
    if news.profile is not None:
        said["profile"] = news.profile
    if news.kind in {"revision", "drift"}:
        number = news.revision
        said |= {"revision": number, "mem_rev": revision_number(number)}
    if news.kind == "drift":
        said["recorded"] = news.recorded
    if news.record is not None:
        said["branch"] = news.record.is_branch
    if news.error is not None:
        said["code"] = news.error.code
    return said
