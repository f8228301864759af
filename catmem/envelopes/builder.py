"""Envelopes made here: filled in from the root, and signed where the agent has a key; and those of plain writes.

A plain write says what, where and on which revision. The rest is made here, for a sender who is known.

For interfaces whose callers have a token, and no library to make an envelope with. There is still one way in: a plain
write is completed to the fields of an envelope, and is refused for the same reasons in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypedDict, Unpack
from uuid import uuid4

from catmem import clock
from catmem.config.access import Rights
from catmem.config.json_schema import shown, suggestion
from catmem.config.profile import Profile
from catmem.envelopes.agents import agents_of, profile_of, role_hash, signing_key
from catmem.envelopes.papers import Sender
from catmem.envelopes.parsing import envelope_of, fields_in, read_envelope
from catmem.errors import EnvelopeError, ForbiddenError, StaleError, UnknownNameError
from catmem.jsonable import jsonable
from catmem.names import DECLARED_RULE, is_declared, is_name
from catmem.store.contract import PERSON, Change, Snapshot, revision_number
from catmem.store.envelope import Envelope, content_hash
from catmem.workspace.history import declared_of
from catmem.workspace.root import Root
from catmem.writing import gate
from catmem.writing.request import Operation

FIELDS = ("entity_id", "content", "prev_rev", "parents", "op_id", "alert")
"""What a plain write may have; the first two it must. ``parents`` may stand in the place of ``prev_rev``."""

_OF_ENVELOPES = frozenset({"agent_id", "role_id", "role_hash", "timestamp", "mem_rev", "mem_hash"})


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
    agent = PERSON if sender is None else sender.agent
    with gate.checks(workspace, named if isinstance(named, str) else "?", op="write", agent=agent):
        unknown = next((name for name in fields if name not in FIELDS), None)
        if unknown is not None:
            hint = suggestion(unknown, FIELDS, "keys of a plain write")
            raise EnvelopeError(f"the key {shown(unknown)} is not known here", key=unknown, hint=hint)
        acting = None if sender is None else workspace.profile(sender.profile)
        prev = base_named(fields) if base is None else base.revision or 0
        given = {**fields, "entity_id": named, "prev_rev": prev} if "entity_id" in fields else {**fields}
        try:
            envelope = envelope_of(fields_in(_completed(agent, acting, given)))
        except EnvelopeError as error:
            if error.key == "entity_id":
                error.hint = f"Write PROFILE/user or PROFILE/memory; PROFILE alone is PROFILE/user. {DECLARED_RULE}"
            raise
        owner, _, target = envelope.entity_id.partition("/")
        if not target:
            declared_of(workspace, owner, acting)
        elif acting is not None and not _acts_on(workspace, acting, owner, target):
            raise ForbiddenError(
                f"{agent} may not write to {shown(named)}",
                hint=f"{acting.name} acts on its own files only: use the name {acting.name!r}.",
            )
        if base is not None and base.revision is None:
            envelope = replace(envelope, prev_rev=_revision(_adopted(workspace, base, envelope)))
        if target:
            workspace.profile(owner)  # which says so if there is none
        return envelope


def _acts_on(workspace: Root, acting: Profile, owner: str, target: str) -> bool:
    return owner == acting.name or Rights(acting, target, workspace.config.taxonomy).unbounded


def base_named(fields: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    """What a plain write says that it is made on: ``prev_rev``, or else the first of its ``parents`` (0 for none)."""
    prev, parents = fields.get("prev_rev"), fields.get("parents")
    if prev is not None or not isinstance(parents, list):
        return prev
    return parents[0] if parents else 0


def _adopted(workspace: Root, base: WriteBase, made: Envelope) -> str:
    """The revision of a text that had none when it was read: it is taken into the history first, if it still is that.

    What is there is looked at before and after, so that no later text passes for the one that was read. A retry
    is known by its agent and ``op_id``, whatever it is made on.
    """
    store, entity = workspace.store, made.entity_id
    now = store.read(entity)
    if base.fits is not None and base.fits(now):
        prev, _ = newest(workspace, entity)
        if store.read(entity, prev).digest == now.digest:
            return prev
    head = store.head(entity)
    revision = "0" if head is None else head.revision
    if any((each.agent, each.op_id) == (made.agent_id, made.op_id) for each in store.log(entity)):
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


class Sending(TypedDict, total=False):
    """How an envelope is made; each may be left out.

    ``agent`` is who writes, ``None`` a person. ``prev`` is the revision that it is made on, by default the newest; a
    text that no history has yet is taken in as one first. ``op_id`` is the name of the write, by default a new one.
    ``alert``: it is refused once if it has little in common with what is there. It is signed if the agent has a key
    here; ``signed=True`` makes that a must, ``False`` leaves it out.
    """

    agent: str | None
    prev: str | int | None
    op_id: str | None
    alert: bool
    signed: bool | None


def make_envelope(
    workspace: Root,
    entity: str,
    content: Any,  # noqa: ANN401 - what an envelope may hold
    **how: Unpack[Sending],
) -> MadeEnvelope:
    """Make an envelope; see ``Workspace.envelope``."""
    name, prev, signed = how.get("agent") or PERSON, how.get("prev"), how.get("signed")
    # It names the revision that it is made on, which no digest can stand for. So a text that no history has yet becomes
    # a revision here.
    adopted = None
    role = _role_of(workspace, name)  # who is refused leaves no trace
    if is_declared(entity):
        declared_of(workspace, entity, role)
    if prev is None:
        prev, adopted = newest(workspace, entity)
    given = {"entity_id": entity, "prev_rev": prev, "content": content if is_declared(entity) else _plain(content)}
    more = {"op_id": how.get("op_id"), "alert": how.get("alert")}
    given |= {key: value for key, value in more.items() if value}
    envelope = read_envelope(_completed(name, role, given))
    if signed is not False:
        key = signing_key(workspace.config, name)
        if key is not None:
            envelope = envelope.signed(key.key_id, key.secret)
        elif signed:
            raise UnknownNameError(
                f"{name} has no key here", code="unknown_key", hint=f"catmem key new {name} makes one."
            )
    return MadeEnvelope(envelope, adopted)


def _completed(agent: str, role: Profile | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an envelope, of those that its writer gives: the rest is known here."""
    said = {} if role is None else {"role_id": role.name, "role_hash": role_hash(role)}
    fields: dict[str, Any] = {
        "agent_id": agent,
        "op_id": uuid4().hex,
        "timestamp": clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    fields |= said
    fields |= given
    if "prev_rev" in given:
        prev = _revision(given["prev_rev"])
        parents = given.get("parents") or ([prev] if prev else [])
        fields |= {"prev_rev": prev, "mem_rev": revision_number(str(prev)) + 1, "parents": parents}
    return fields | {"mem_hash": _hash(given.get("content"))}


def _revision(named: Any) -> Any:  # noqa: ANN401 - any JSON value, which the schema looks at
    return int(named) if isinstance(named, str) and named.isdecimal() else named


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
