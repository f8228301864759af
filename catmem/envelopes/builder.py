"""Envelopes made here: filled in from the root, and signed where the agent has a key; and those of plain writes.

A plain write says what, where and on which revision. The rest is made here, for a sender who is known.

For interfaces whose callers have a token, and no library to make an envelope with. There is still one way in: a plain
write becomes an envelope, and is refused for the same reasons in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import uuid4

from catmem.config.access import Rights
from catmem.config.json_schema import nearest, shown, suggestion
from catmem.config.profile import Profile
from catmem.envelopes.agents import agents_of, profile_of, role_hash, signing_key
from catmem.envelopes.papers import Sender
from catmem.envelopes.parsing import envelope_of, fields_in, read_envelope
from catmem.errors import EnvelopeError, ForbiddenError, StaleError, UnknownNameError
from catmem.jsonable import jsonable
from catmem.names import DECLARED_RULE, is_declared, is_entity, is_name, is_revision
from catmem.store.contract import PERSON, Change, Snapshot
from catmem.store.envelope import Envelope, content_hash
from catmem.workspace.history import declared_of
from catmem.workspace.root import Root
from catmem.writing import gate
from catmem.writing.operation import Operation

FIELDS = ("entity_id", "content", "prev_rev", "parents", "op_id", "alert")
"""What a plain write may have; the first two it must. ``parents`` may stand in the place of ``prev_rev``."""

_OF_ENVELOPES = frozenset({"agent_id", "role_id", "role_hash", "timestamp", "mem_rev", "mem_hash"})
_HINT = "Nothing was written. A plain write has entity_id and content, and says what it is made on."


class WriteBase(NamedTuple):
    """What a caller says that its write is made on: a revision, or a text that no history had when it was read.

    ``fits`` tells whether a snapshot is that text.
    """

    revision: str | None
    fits: Callable[[Snapshot], bool] | None = None


def is_plain(fields: Mapping[str, Any]) -> bool:
    """Whether this is a plain write, or else an envelope, be it right or wrong."""
    return _OF_ENVELOPES.isdisjoint(fields)


def plain_envelope(
    workspace: Root, fields: Mapping[str, Any], sender: Sender | None, base: WriteBase | None
) -> Envelope:
    """The envelope of a plain write by ``sender`` (``None``: a person), unsigned."""
    # `base` goes before `prev_rev`; the caller has looked that one of the two is given.
    named = fields.get("entity_id")
    if isinstance(named, str) and is_name(named):
        named = f"{named}/user"
        fields = {**fields, "entity_id": named}
    agent = PERSON if sender is None else sender.agent
    with gate.checks(workspace, named if isinstance(named, str) else "?", op="write", agent=agent):
        _check(fields)
        owner, _, target = str(named).partition("/")
        acting = None if sender is None else workspace.profile(sender.profile)
        if not target:
            owner = declared_of(workspace, owner, acting).name
        elif (
            acting is not None
            and owner != acting.name
            and not Rights(acting, target, workspace.config.taxonomy).unbounded
        ):
            raise ForbiddenError(
                f"{agent} may not write to {shown(named)}",
                hint=f"{acting.name} acts on its own files only: use the name {acting.name!r}.",
            )
        parents = fields.get("parents") or []
        prev = base_named(fields) if base is None else base.revision
        if base is not None and base.revision is None:
            prev = _adopted(workspace, str(named), base, (agent, fields.get("op_id")))
        if target:
            workspace.profile(owner)  # which says so if there is none
        alert, op_id = bool(fields.get("alert", False)), fields.get("op_id")
        made = _filled(workspace, str(named), fields["content"], agent, str(prev), op_id, alert=alert)
        return envelope_of(fields_in(jsonable(made) | ({"parents": parents} if parents else {})))


def base_named(fields: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    """What a plain write says that it is made on: ``prev_rev``, or else the first of its ``parents`` (0 for none)."""
    prev, parents = fields.get("prev_rev"), fields.get("parents")
    if prev is not None or not isinstance(parents, list):
        return prev
    return parents[0] if parents else 0


def _check(fields: Mapping[str, Any]) -> None:
    for name in fields:
        if name not in FIELDS:
            near = nearest(name, FIELDS)
            raise EnvelopeError(
                f"the key {shown(name)} is not known here", key=None, hint=f"Did you mean {near!r}?" if near else _HINT
            )
    for name in FIELDS[:2]:
        if name not in fields:
            raise EnvelopeError(f"the key {name} is missing", key=name, hint=_HINT)
    _check_values(fields)


def _check_values(fields: Mapping[str, Any]) -> None:
    entity = fields["entity_id"]
    is_free = isinstance(entity, str) and is_declared(entity)
    if not is_free and (not isinstance(entity, str) or not is_entity(entity)):
        raise EnvelopeError(
            f"{shown(entity)} is no entity",
            key="entity_id",
            hint=f"Write PROFILE/user or PROFILE/memory; PROFILE alone means PROFILE/user. {DECLARED_RULE}",
        )
    content = fields["content"]
    if not is_free and not isinstance(content, str | dict | list):
        raise EnvelopeError(
            "content is neither a text, nor an object, nor a list of operations", key="content", hint=_HINT
        )
    if not is_free and isinstance(content, dict) and "categories" not in content:
        hint = 'Put operations in a list: [{"action": "add", …}]. The JSON form of a file has categories.'
        raise EnvelopeError("content is an object without categories", key="content", hint=hint)
    if not is_free and isinstance(content, list) and not all(isinstance(each, dict) for each in content):
        raise EnvelopeError("an operation is an object", key="content", hint=_HINT)
    for name, kind in (("op_id", str), ("alert", bool), ("parents", list)):
        if name in fields and (not isinstance(fields[name], kind) or fields[name] == ""):
            raise EnvelopeError(f"{name} is {shown(fields[name])}", key=name, hint=_HINT)
    prev = base_named(fields)
    if prev is not None and (isinstance(prev, bool) or not is_revision(str(prev))):
        raise EnvelopeError(f"{shown(prev)} is no revision", key="prev_rev", hint="Write 7, or a branch as '8a'.")


def _adopted(workspace: Root, entity: str, base: WriteBase, made: tuple[str, object]) -> str:
    """The revision of a text that had none when it was read: it is taken into the history first, if it still is that.

    What is there is looked at before and after, so that no later text passes for the one that was read. A retry
    is known by its agent and ``op_id`` (``made``), whatever it is made on.
    """
    store = workspace.store
    now = store.read(entity)
    if base.fits is not None and base.fits(now):
        prev, _ = newest(workspace, entity)
        if store.read(entity, prev).digest == now.digest:
            return prev
    head = store.head(entity)
    revision = "0" if head is None else head.revision
    if any((each.agent, each.op_id) == made for each in store.log(entity)):
        return revision
    raise StaleError(
        f"{entity} is at revision {revision}; this write was made on an older text, which has none",
        found=revision,
        hint="Nothing was written. Read it again, and repeat the change on what is there now.",
    )


class MadeEnvelope(NamedTuple):
    """An envelope, and the revision as which the history took in first what the file held (``None``: it had it)."""

    envelope: Envelope
    adopted: str | None


def make_envelope(  # noqa: PLR0913 - each is a choice of the caller's, by keyword
    workspace: Root,
    entity: str,
    content: Any,  # noqa: ANN401 - what an envelope may hold
    *,
    agent: str | None = None,
    prev: str | int | None = None,
    op_id: str | None = None,
    alert: bool = False,
    signed: bool | None = None,
) -> MadeEnvelope:
    """Make an envelope; see ``Workspace.envelope``."""
    # It names the revision that it is made on, which no digest can stand for. So a text that no history has yet becomes
    # a revision here.
    adopted = None
    role = _role_of(workspace, agent or PERSON)  # who is refused leaves no trace
    if is_declared(entity):
        declared_of(workspace, entity, role)
    if prev is None:
        prev, adopted = newest(workspace, entity)
    name = agent or PERSON
    plain = content if is_declared(entity) else _plain(content)
    envelope = _filled(workspace, entity, plain, name, prev, op_id, alert=alert)
    if signed is not False:
        key = signing_key(workspace.config, name, agents_of(workspace.config))
        if key is not None:
            envelope = envelope.signed(key.key_id, key.secret)
        elif signed:
            raise UnknownNameError(
                f"{name} has no key here", code="unknown_key", hint=f"catmem key new {name} makes one."
            )
    return MadeEnvelope(read_envelope(jsonable(envelope)), adopted)  # what is handed out fits


def _filled(  # noqa: PLR0913, PLR0917 - the fields
    workspace: Root,
    entity: str,
    content: Any,  # noqa: ANN401 - any JSON value
    name: str,
    prev: str | int,
    op_id: str | None,
    *,
    alert: bool,
) -> Envelope:
    profile = _role_of(workspace, name)
    return Envelope(
        entity_id=entity,
        agent_id=name,
        op_id=op_id or uuid4().hex,
        timestamp=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        prev_rev=int(prev) if str(prev).isdecimal() else prev,
        content=content,
        mem_hash=_hash(content),
        role_id=None if profile is None else profile.name,
        role_hash=None if profile is None else role_hash(profile),
        alert=True if alert else None,
    )


def _role_of(workspace: Root, agent: str) -> Profile | None:
    """The profile that an agent acts as; ``None`` for a person. Raises ``UnknownNameError``."""
    if agent == PERSON:
        return None
    bound = profile_of(workspace.config, agent)
    if bound is None:
        agents = agents_of(workspace.config)
        raise UnknownNameError(f"there is no agent {shown(agent)}", hint=suggestion(agent, agents, "agents"))
    return workspace.profile(bound)


def newest(workspace: Root, entity: str) -> tuple[str, str | None]:
    """The revision of what is there now, and the same again if it was taken in for that: no history had it yet."""
    now = workspace.store.read(entity)
    adopts = now.revision is None
    if adopts:
        change = Change(op="adopt", agent=PERSON)
        now = gate.commit(workspace, entity, None, lambda current: current.data, change)
    return now.revision or "0", now.revision if adopts else None


def _plain(content: str | Mapping[str, Any] | Sequence[Operation | Mapping[str, Any]]) -> Any:  # noqa: ANN401 - JSON
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return dict(content)
    return [jsonable(each) if isinstance(each, Operation) else dict(each) for each in content]


def _hash(content: Any) -> str:  # noqa: ANN401 - any JSON value
    try:
        return content_hash(content)
    except (TypeError, ValueError, RecursionError) as error:
        message = "the content holds what JSON cannot say"
        raise EnvelopeError(message, key="content", hint="Give plain values.") from error
