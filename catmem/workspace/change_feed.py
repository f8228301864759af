"""What is new in a root that is looked at again and again, and how much of it a caller hears.

A person hears everything, and so does a profile of tier 1, but for digests and texts of errors. A bounded profile
hears of its own files what it could ask for at any time: that there is another revision, or a change that no history
has yet (``/mem/head`` says the same). Who wrote a revision, when and how, it hears of those that it wrote itself, as in
the log; of branches that others made, and of proposals, nothing. Of a declared entity that it may read it hears
everything. No news has a word of an entry, or the name of a category.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Literal, NamedTuple, TypeAlias

from catmem.config.access import Rights, reads_entity
from catmem.config.profile import named_entities
from catmem.errors import CatmemError, ForbiddenError, StoreError
from catmem.jsonable import jsonable
from catmem.names import parts_of
from catmem.store.contract import Revision, Snapshot, Store, revision_number
from catmem.workspace.root import Root

MOST = 256
"""Revisions of one entity that are reported one by one; where more came at once, the newest stands for them."""
_KEY = secrets.token_bytes(32)

NewsKind: TypeAlias = Literal["revision", "drift", "trouble", "missed"]
"""A new revision. An external change, which no history has yet, or the end of one (``recorded``). That the entity
cannot be read. That there was more than is reported."""


@dataclass(frozen=True, slots=True)
class News:
    """Something that happened to an entity."""

    kind: NewsKind
    entity: str
    revision: str = "0"
    digest: str | None = None
    record: Revision | None = None
    recorded: bool = True
    error: CatmemError | None = None


class Changes(NamedTuple):
    """What is new of some entities for one caller, and up to which revision of each it has heard by then."""

    since: Mapping[str, str]
    changes: Sequence[Mapping[str, Any]]

    def __json__(self) -> dict[str, Any]:
        return {"since": ",".join(f"{entity}@{seen}" for entity, seen in self.since.items()), "changes": self.changes}


def changes_since(workspace: Root, seen: Mapping[str, str | None], actor: str | None) -> Changes:
    """What is new of entities of which the caller has ``seen`` a revision or digest each; ``None`` asks for nothing."""
    since: dict[str, str] = {}
    found: list[News] = []
    for entity, known in seen.items():
        if actor is not None and known is not None and known.startswith("sha256:"):
            raise ForbiddenError(f"{actor} may not ask for digests", hint="Name the revision that you have seen.")
        try:
            since[entity], news = _since(workspace, entity, known, actor)
            found += news
        except (CatmemError, OSError) as error:
            since[entity] = known or "0"
            found.append(News("trouble", entity, error=_of_store(error)))
    return Changes(since, [{"event": each.kind, **said} for each, said in heard(workspace, found, actor)])


def _since(workspace: Root, entity: str, seen: str | None, actor: str | None) -> tuple[str, list[News]]:
    """What is new to who has ``seen`` a revision or digest, or what an answer before gave; and what to give next time.

    That is the newest revision that the caller may hear of, and behind ``~`` a mark of a text that none has yet.
    """
    tips, now = _standing(workspace.store, entity)
    news = (News("revision", entity, each.revision, each.digest, each) for each in workspace.store.log(entity))
    log = (each for each, _ in heard(workspace, news, actor))
    first = list(islice(log, 1))
    newest, mark = first[0].revision if first else "0", keyed_digest(now.digest) if now.revision is None else ""
    cursor = f"{newest}~{mark}" if mark else newest
    if seen in {None, now.digest}:
        return cursor, []
    seen, _, before = str(seen).partition("~")
    newer: list[News] = []
    for each in chain(first, log):
        if seen in {each.revision, each.digest}:
            break
        newer.append(each)
        if len(newer) > MOST:
            newer = [*first, News("missed", entity)]
            break
    else:
        newer = newer if seen == "0" else [*first, News("missed", entity)]
    if mark != before and (mark or not newer):
        head = next((tip.revision for tip in tips if not tip.is_branch), "0")
        newer = [News("drift", entity, head, now.digest, recorded=not mark), *newer]
    return cursor, newer[::-1]


def keyed_digest(digest: str) -> str:
    """What stands for a text that no history has yet: another one in each process, so it tells nothing of the text."""
    return "u" + hmac.digest(_KEY, digest.encode(), "sha256").hex()[:32]


def _standing(store: Store, entity: str) -> tuple[Sequence[Revision], Snapshot]:
    """What is recorded of an entity, and how it is now; what is just being recorded is no change from outside."""
    tips = store.branches(entity)
    while True:
        before, now, tips = tips, store.read(entity), store.branches(entity)
        if now.revision is not None or tips == before:
            return tips, now


def _of_store(error: CatmemError | OSError) -> CatmemError:
    if isinstance(error, OSError):
        return StoreError(f"the system said: {error.strerror or error}", code="io", path=error.filename)
    return error


# --- who hears it --------------------------------------------------------------------------------------------------


def heard(workspace: Root, news: Iterable[News], actor: str | None) -> Iterator[tuple[News, dict[str, Any]]]:
    """The news that ``actor`` (``None``: a person) hears of, with its rights of now, each as JSON-ready data."""
    if actor is None:
        yield from ((each, _whole(each)) for each in news)
        return
    try:
        profile = workspace.profile(actor)
    except CatmemError:
        return
    unbounded = Rights(profile, "user", workspace.config.taxonomy).unbounded
    read = {name for name, each in workspace.config.entities.items() if reads_entity(each, profile)}
    for each in news:
        if unbounded or each.entity in read or (parts_of(each.entity).owner == actor and _is_own(each.record, actor)):
            said, record = _for_agent(each), each.record
            if record is not None and (unbounded or each.entity in read or record.note.get("actor") == actor):
                said |= {"agent_id": record.agent, "op": record.op, "timestamp": record.timestamp}
            yield each, said


def _is_own(record: Revision | None, actor: str) -> bool:
    return record is None or not record.is_branch or (record.note.get("actor") == actor and not record.is_proposal)


def all_entities(workspace: Root, actor: str | None) -> list[str]:
    """The entities that a caller may hear of."""
    every = [News("revision", entity) for entity in named_entities(workspace.config)]
    return [news.entity for news, _ in heard(workspace, every, actor)]


def _whole(news: News) -> dict[str, Any]:
    record, said = news.record, dict[str, Any]()
    if record is not None:
        said = {"agent_id": record.agent, "person": record.person, "op": record.op, "timestamp": record.timestamp}
    said |= {"digest": news.digest, **(jsonable(news.error) if news.error else {})}
    return _for_agent(news) | {name: value for name, value in said.items() if value is not None}


def _for_agent(news: News) -> dict[str, Any]:
    said: dict[str, Any] = {"entity_id": news.entity}
    if news.kind in {"revision", "drift"}:
        said |= {"revision": news.revision, "mem_rev": revision_number(news.revision)}
    if news.kind == "drift":
        said["recorded"] = news.recorded
    if news.record is not None:
        said["branch"] = news.record.is_branch
    if news.error is not None:
        said["code"] = news.error.code
    return said
