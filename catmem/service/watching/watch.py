"""A root that is looked at again and again: outside edits, and the writes of whoever."""

from __future__ import annotations

from itertools import islice, takewhile
from typing import TYPE_CHECKING, NamedTuple

from catmem.errors import CatmemError, StoreError
from catmem.policy.profile import TARGETS, profile_names
from catmem.service.profiles import broken_profiles
from catmem.service.watching.news import News

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.service.workspace import Workspace
    from catmem.store.contract import Revision, Snapshot, Store

EVERY = 0.75
"""Seconds from the end of one look to the next."""
MOST = 256
"""Revisions of one entity that are told one by one; where more came at once, the newest stands for them."""


class Known(NamedTuple):
    """How an entity stood.

    ``sequence`` is that of its newest record, ``None`` where it could never be read. ``outside`` is the digest of a
    text that no history has, ``trouble`` the code of what kept it from being read.
    """

    sequence: int | None = 0
    outside: str | None = None
    trouble: str | None = None


class Watch:
    """What is known of a root. For one thread at a time.

    ``workspace`` may be replaced by another one of the same root.
    """

    def __init__(self, workspace: Workspace) -> None:
        """Nothing is looked at yet."""
        self.workspace = workspace
        self._marks: dict[str, object] = {}
        self._known: dict[str, Known] = {}
        self._broken: dict[str, str] = {}
        self._trouble: str | None = None
        self._first = Known(None)
        """What is known of an entity that is seen for the first time."""

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
        self._first = Known()
        return found

    def _changed(self) -> dict[str, object]:
        """The entities to which something may have happened, with their marks."""
        names = (f"{name}/{each}" for name in profile_names(self.workspace.config.profiles_dir) for each in TARGETS)
        marks = self.workspace.store.marks({*names, *self._marks})
        return {
            entity: mark
            for entity, mark in sorted(marks.items())
            if entity not in self._known or self._marks.get(entity) != mark or self._known[entity].trouble
        }

    def _profiles(self) -> Iterator[News]:
        """A profile that is not right, or not right in another way, is trouble, which is told once."""
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
            code, told = _trouble(entity, error)
            self._known[entity] = before._replace(trouble=code)
            return [] if before.trouble == code else [told]
        return news


def _compared(store: Store, entity: str, before: Known) -> tuple[Known, list[News]]:
    tips, now = _standing(store, entity)
    newest = _newest(tips)
    outside = now.digest if now.revision is None else None
    news = [News("recovered", entity)] if before.trouble else []
    if before.sequence is None:
        return Known(newest, outside), news
    news += _recorded(store, entity, before.sequence, newest)
    newest = max(newest, *(each.record.sequence for each in news if each.record), 0)
    after = Known(newest, outside)
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
    """The revisions behind a sequence, the oldest first."""
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


def _trouble(entity: str, error: CatmemError | OSError) -> tuple[str, News]:
    if isinstance(error, OSError):
        error = StoreError(f"the system said: {error.strerror or error}", code="io", path=error.filename)
    return error.code, News("trouble", entity, error=error)
