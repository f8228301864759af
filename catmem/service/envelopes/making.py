"""Envelopes made here: filled in from the root, and signed where the agent has a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from catmem import clock
from catmem.errors import EnvelopeError, UnknownNameError
from catmem.policy.schema import shown, suggestion
from catmem.service import gate
from catmem.service.envelopes.keys import signing_key
from catmem.service.envelopes.reading import envelope_of, fields_in, read_envelope
from catmem.service.envelopes.roles import agents_of, profile_of, role_hash
from catmem.service.writing.operation import Operation
from catmem.store.contract import PERSON, Change
from catmem.store.envelope import Envelope, content_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.policy.profile import Profile
    from catmem.service.workspace import Workspace


class Made(NamedTuple):
    """An envelope, and the revision as which the history took in first what the file held (``None``: it had it)."""

    envelope: Envelope
    adopted: str | None


def make_envelope(  # noqa: PLR0913 - each is a choice of the caller's, by keyword
    workspace: Workspace,
    entity: str,
    content: str | Mapping[str, Any] | Sequence[Operation | Mapping[str, Any]],
    *,
    agent: str | None = None,
    prev: str | int | None = None,
    op_id: str | None = None,
    alert: bool = False,
    signed: bool | None = None,
) -> Made:
    """Make an envelope; see ``Workspace.envelope``.

    It names the revision that it is made on, which no digest can stand for. So a text that no history has yet becomes
    a revision here.
    """
    adopted = None
    _role_of(workspace, agent or PERSON)  # who is refused leaves no trace
    if prev is None:
        prev, adopted = newest(workspace, entity)
    name, plain = agent or PERSON, _plain(content)
    envelope = _filled(workspace, entity, plain, name, prev, op_id, alert=alert)
    if signed is not False:
        key = signing_key(workspace.config, name, agents_of(workspace.config))
        if key is not None:
            envelope = envelope.signed(key.key_id, key.secret)
        elif signed:
            raise UnknownNameError(
                f"{name} has no key here", code="unknown_key", hint=f"catmem key new {name} makes one."
            )
    return Made(read_envelope(envelope.to_dict()), adopted)  # what is handed out fits


def unsigned_envelope(  # noqa: PLR0913 - what a plain write says, by keyword
    workspace: Workspace,
    entity: str,
    content: Any,  # noqa: ANN401 - any JSON value
    *,
    agent: str,
    prev: str | int,
    op_id: str | None,
    alert: bool,
) -> Envelope:
    """The envelope of a content that came as JSON. Raises ``EnvelopeError`` for what no envelope can hold."""
    return envelope_of(fields_in(_filled(workspace, entity, content, agent, prev, op_id, alert=alert).to_dict()))


def _filled(  # noqa: PLR0913, PLR0917 - the fields
    workspace: Workspace,
    entity: str,
    content: Any,  # noqa: ANN401 - any JSON value
    name: str,
    prev: str | int,
    op_id: str | None,
    *,
    alert: bool,
) -> Envelope:
    """An envelope with what the root knows of its agent."""
    profile = _role_of(workspace, name)
    return Envelope(
        entity_id=entity,
        agent_id=name,
        op_id=op_id or uuid4().hex,
        timestamp=clock.timestamp_in_seconds(clock.now()),
        prev_rev=int(prev) if str(prev).isdecimal() else prev,
        content=content,
        mem_hash=_hash(content),
        role_id=None if profile is None else profile.name,
        role_hash=None if profile is None else role_hash(profile),
        alert=True if alert else None,
    )


def _role_of(workspace: Workspace, agent: str) -> Profile | None:
    """The profile that an agent acts as; ``None`` for a person. Raises ``UnknownNameError``."""
    if agent == PERSON:
        return None
    bound = profile_of(workspace.config, agent)
    if bound is None:
        agents = agents_of(workspace.config)
        raise UnknownNameError(f"there is no agent {shown(agent)}", hint=suggestion(agent, agents, "agents"))
    return workspace.profile(bound)


def newest(workspace: Workspace, entity: str) -> tuple[str, str | None]:
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
    return [each.to_dict() if isinstance(each, Operation) else dict(each) for each in content]


def _hash(content: Any) -> str:  # noqa: ANN401 - any JSON value
    try:
        return content_hash(content)
    except (TypeError, ValueError, RecursionError) as error:
        message = "the content holds what JSON cannot say"
        raise EnvelopeError(message, key="content", hint="Give plain values.") from error
