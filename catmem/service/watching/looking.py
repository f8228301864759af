"""What is known of the entities of a root, and what is new since."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import TYPE_CHECKING, NamedTuple

from catmem.errors import CatmemError, StoreError
from catmem.service.watching.news import News

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from catmem.store.contract import Revision, Snapshot, Store

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


@dataclass(slots=True)
class Knowledge:
    """How all entities stood when they were last looked at. The first look tells nothing: all was there before."""

    entities: dict[str, Known] = field(default_factory=dict)
    trouble: str | None = None
    """The code of what kept everything from being read."""
    begun: bool = False

    def look(self, store: Store, entities: Iterable[str]) -> Iterator[News]:
        """What is new of some entities; of one that is seen for the first time, all."""
        default = Known() if self.begun else Known(None)
        for entity in entities:
            before = self.entities.get(entity, default)
            try:
                now, news = _compared(store, entity, before)
            except (CatmemError, OSError) as error:
                code, told = _trouble(entity, error)
                news = [] if before.trouble == code else [told]
                now = before._replace(trouble=code)
            self.entities[entity] = now
            yield from news

    def fail(self, error: CatmemError) -> Iterator[News]:
        """Note that nothing can be read."""
        if self.trouble != error.code:
            self.trouble = error.code
            yield News("trouble", None, error=error)

    def recover(self) -> Iterator[News]:
        """Note that it can be read again."""
        if self.trouble is not None:
            self.trouble = None
            yield News("recovered", None)


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
