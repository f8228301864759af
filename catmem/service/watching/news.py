"""What is new in a root, and how much of it a caller hears.

A person hears everything, and so does a profile of tier 1, but for digests and texts of errors. A bounded profile
hears of its own files what it could ask for at any time: that there is another revision, or a change that no history
has yet (``/mem/head`` says the same). Who wrote a revision, when and how, it hears of those that it wrote itself, as in
the log; of branches that others made, nothing. No event has a word of an entry, or the name of a category.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from catmem.errors import CatmemError, ForbiddenError
from catmem.policy.access import Rights
from catmem.service.history import entity_of
from catmem.store.contract import revision_number, sees

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from catmem.service.workspace import Workspace
    from catmem.store.contract import Revision

Kind: TypeAlias = Literal["revision", "drift", "trouble", "recovered", "missed"]
"""A new revision. A change of the text by other means, which no history has yet, or the end of one (``recorded``).
Something that cannot be read, and that it can be again. That there was more than is told."""


@dataclass(frozen=True, slots=True)
class News:
    """Something that happened to an entity, to a ``profile`` itself, or, where both are ``None``, to the whole root.

    ``revision`` is the newest one that is recorded, ``"0"`` for none. ``record`` is what the store says of it where
    that is the news; ``digest`` is that of the text.
    """

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


def heard(workspace: Workspace, news: Iterable[News], actor: str | None) -> list[tuple[News, dict[str, Any]]]:
    """The news that the profile ``actor`` (``None``: a person) hears of, each with what it is told as JSON-ready data.

    It has the rights of now; one that is gone or not right hears nothing, since nobody knows what it may hear.
    """
    if actor is None:
        return [(each, _whole(each)) for each in news]
    try:
        unbounded = Rights(workspace.profile(actor), "user", workspace.config.taxonomy).unbounded
    except CatmemError:
        return []
    return [(each, _told(each, actor, unbounded=unbounded)) for each in news if unbounded or _is_of(each, actor)]


def _told(news: News, actor: str, *, unbounded: bool) -> dict[str, Any]:
    said, record = _discreet(news), news.record
    if record is None or not (unbounded or record.note.get("actor") == actor):
        return said
    return {**said, "agent_id": record.agent, "op": record.op, "timestamp": record.timestamp}


def _is_of(news: News, name: str) -> bool:
    """Whether a profile hears of some news that hears of its own files, and of the whole root, only."""
    record = news.record
    own = record is None or not record.is_branch or record.note.get("actor") == name
    return own and news.owner in {None, name}


def concerns(news: News, entities: Collection[str] | None) -> bool:
    """Whether some news are of one of these entities, or of all; without any entities, everything is."""
    if not entities or news.owner is None:
        return True
    if news.entity is not None:
        return news.entity in entities
    return any(entity.partition("/")[0] == news.owner for entity in entities)


def standing(workspace: Workspace, entity: str, seen: str, actor: str | None) -> News | None:
    """How an entity stands now, for a caller who has seen a revision or a digest of it; ``None`` if it stands so still.

    It is one of which the actor may hear (``heard_name``). Raises ``ForbiddenError`` for an agent that names a digest,
    which would tell it of texts that it does not see, and what reading raises.
    """
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


def heard_name(workspace: Workspace, name: str, actor: str | None) -> str:
    """The entity of a name, if the actor may hear of it. Raises ``UnknownNameError``."""
    profile = None if actor is None else workspace.profile(actor)
    Rights(profile, "user", workspace.config.taxonomy).refuse_other_owner(name.partition("/")[0])
    return entity_of(workspace, name)


def _whole(news: News) -> dict[str, Any]:
    said = _discreet(news)
    record, error = news.record, news.error
    if record is not None:
        said |= {"agent_id": record.agent, "op": record.op, "timestamp": record.timestamp}
    if news.digest is not None:
        said["digest"] = news.digest
    if error is not None:
        said |= {name: value for name, value in error.to_dict().items() if value is not None}
    return said


def _discreet(news: News) -> dict[str, Any]:
    """What everybody is told who hears of it."""
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
