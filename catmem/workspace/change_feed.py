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
from collections.abc import Mapping, Sequence
from contextlib import suppress
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

_TO_AGENT = ("event", "entity_id", "revision", "mem_rev", "recorded", "branch", "code")
_WHO = ("agent_id", "op", "timestamp")

NewsKind: TypeAlias = Literal["revision", "drift", "trouble", "missed"]
"""A new revision. An external change, which no history has yet, or the end of one (``recorded``). That the entity
cannot be read. That there was more than is reported."""


class Changes(NamedTuple):
    """What is new of some entities for one caller, and up to which revision of each it has heard by then."""

    since: Mapping[str, str]
    changes: Sequence[Mapping[str, Any]]

    def __json__(self) -> dict[str, Any]:
        return {"since": ",".join(f"{entity}@{seen}" for entity, seen in self.since.items()), "changes": self.changes}


def changes_since(workspace: Root, seen: Mapping[str, str | None], actor: str | None) -> Changes:
    """What is new of entities of which the caller has ``seen`` a revision or digest each; ``None`` asks for nothing."""
    hearer = _Hearer(workspace, actor)
    since: dict[str, str] = {}
    found: list[dict[str, Any]] = []
    for entity, known in seen.items():
        if actor is not None and known is not None and known.startswith("sha256:"):
            raise ForbiddenError(f"{actor} may not ask for digests", hint="Name the revision that you have seen.")
        try:
            since[entity], news = _since(workspace.store, entity, known, hearer)
        except (CatmemError, OSError) as error:
            since[entity], news = known or "0", hearer.news("trouble", entity, **jsonable(_of_store(error)))
        found += news
    return Changes(since, found)


def all_entities(workspace: Root, actor: str | None) -> list[str]:
    """The entities that a caller may hear of."""
    hearer = _Hearer(workspace, actor)
    return [entity for entity in named_entities(workspace.config) if hearer.hears(entity)]


def _since(store: Store, entity: str, seen: str | None, hearer: _Hearer) -> tuple[str, list[dict[str, Any]]]:
    """What is new to who has ``seen`` a revision or digest, or what an answer before gave; and what to give next time.

    That is the newest revision that the caller may hear of, and behind ``~`` a mark of a text that none has yet.
    """
    tips, now = _standing(store, entity)
    log = (each for each in store.log(entity) if hearer.hears(entity, each))
    first = list(islice(log, 1))
    newest, mark = first[0].revision if first else "0", keyed_digest(now.digest) if now.revision is None else ""
    cursor = f"{newest}~{mark}" if mark else newest
    if seen in {None, now.digest}:
        return cursor, []
    seen, _, before = str(seen).partition("~")
    newer: list[Revision] = []
    for each in chain(first, log):
        if is_known := seen in {each.revision, each.digest}:
            break
        newer.append(each)
        if len(newer) > MOST:
            break
    else:
        is_known = seen == "0"
    found = [] if is_known else hearer.news("missed", entity)
    for each in reversed(newer if is_known else first):
        found += hearer.news("revision", entity, each)
    if mark != before and (mark or not found):
        head = next((tip.revision for tip in tips if not tip.is_branch), "0")
        found += hearer.news("drift", entity, revision=head, recorded=not mark, digest=now.digest)
    return cursor, found


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


class _Hearer:
    """The caller with its rights of now; ``None`` is a person, and a profile that is not right hears nothing."""

    def __init__(self, workspace: Root, actor: str | None) -> None:
        self.actor = actor
        self.owner: str | None = None
        self.is_unbounded, self.reads = actor is None, frozenset[str]()
        with suppress(CatmemError):
            if actor is not None:
                profile, config = workspace.profile(actor), workspace.config
                self.owner, self.is_unbounded = actor, Rights(profile, "user", config.taxonomy).unbounded
                self.reads = frozenset(name for name, each in config.entities.items() if reads_entity(each, profile))

    def hears(self, entity: str, record: Revision | None = None) -> bool:
        """Whether the caller hears of an entity, or of a revision of it."""
        if self.is_unbounded or entity in self.reads:
            return True
        is_own = record is None or not record.is_branch or (self._made(record) and not record.is_proposal)
        return is_own and parts_of(entity).owner == self.owner

    def _made(self, record: Revision) -> bool:
        return record.note.get("actor") == self.owner

    def news(
        self,
        kind: NewsKind,
        entity: str,
        record: Revision | None = None,
        *,
        revision: str | None = None,
        **said: object,
    ) -> list[dict[str, Any]]:
        """One piece of news as JSON-ready data, with what the caller may hear of it; none if that is nothing."""
        if not self.hears(entity, record):
            return []
        names = {*_TO_AGENT}
        if record is not None:
            revision, said = record.revision, {"branch": record.is_branch, "agent_id": record.agent}
            said |= {"person": record.person, "op": record.op, "timestamp": record.timestamp, "digest": record.digest}
            if self.is_unbounded or entity in self.reads or self._made(record):
                names |= {*_WHO}
        found: dict[str, object] = {"event": kind, "entity_id": entity, "revision": revision}
        found |= {"mem_rev": None if revision is None else revision_number(revision), **said}
        to_all = self.actor is None
        return [{name: each for name, each in found.items() if each is not None and (to_all or name in names)}]
