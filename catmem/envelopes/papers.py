"""Envelopes as the papers of a write: what they ask, the refusals that vouch for who sends them, and how one is made.

The words of a refusal are the same for what there is and what there is not: up to ``role_drift`` nothing of the root
but keys, time and the profile of the agent counts.

An envelope that is made here is filled in from the root, and signed where the agent has a key. So is a plain write: it
says what, where and on which revision, from a caller who has a token and no library to make an envelope with. There is
still one way in: it is refused for the same reasons in the same order.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple, TypedDict, Unpack
from uuid import uuid4

from catmem import clock
from catmem.config.json_schema import shown, suggestion
from catmem.config.profile import Profile
from catmem.digest import bytes_digest
from catmem.envelopes.agents import bound_profile, list_keys, role_hash, signing_key
from catmem.envelopes.envelope import (
    Envelope,
    content_hash,
    envelope_of,
    fields_in,
    fields_of,
    moment,
    operations_of,
    read_envelope,
)
from catmem.errors import EnvelopeError, ForbiddenError, RefusedError, UnknownNameError, wrong_type
from catmem.jsonable import jsonable
from catmem.names import DECLARED_RULE, is_declared, is_name
from catmem.store.contract import EXTERNAL, PERSON, REVISION, Change, revision_number
from catmem.workspace.change_feed import keyed_digest
from catmem.workspace.history import declared_of
from catmem.workspace.root import Root
from catmem.writing import gate
from catmem.writing.entry_write import Write
from catmem.writing.request import Operation, Request
from catmem.writing.write import write
from catmem.writing.written import Written


class Sender(NamedTuple):
    """Who an interface knows the sender of an envelope to be: an agent, and the profile that its token is bound to."""

    agent: str
    profile: str


def submit(
    root: Root,
    given: Any,  # noqa: ANN401 - an envelope, its fields, or its text
    sender: Sender | None = None,
    size: int | None = None,
    **how: Any,  # noqa: ANN401 - fields of a request
) -> Written:
    """Make the write of an envelope; see ``Workspace.submit``."""
    # With `size` it is a JSON value that `json_of` gave, of a text of so many bytes: it is not read once more.
    with gate.checks(root, "?", op="write", agent="?") as asked:
        if size is None:
            fields = fields_of(jsonable(given) if isinstance(given, Envelope) else given)
        else:
            fields = fields_in(given, size)
        said = (fields.get(name) for name in ("entity_id", "agent_id"))
        asked.entity, asked.agent = (each if isinstance(each, str) else "?" for each in said)
        envelope = envelope_of(fields)
    return submit_read(root, envelope, sender, **how)


def submit_read(
    root: Root,
    envelope: Envelope,
    sender: Sender | None = None,
    **how: Any,  # noqa: ANN401 - fields of a request
) -> Written:
    """The same for an envelope that was read already."""
    how.setdefault("allow_secret", how.get("confirm", False))
    entity, content = envelope.entity_id, envelope.content
    kind: type[Write] | None = None
    if is_declared(entity):
        from catmem.entities.content_write import ContentWrite

        kind = ContentWrite
    else:
        with gate.checks(root, entity, op="write", agent=envelope.agent_id):
            content = operations_of(content)
    how |= {"op_id": envelope.op_id, "merges": tuple(map(str, envelope.merges))}
    how.setdefault("expected", str(envelope.prev_rev))
    return write(root, Request(entity, content, papers=Papers(envelope, sender), kind=kind, **how))


class Papers(NamedTuple):
    """The envelope that a write came in, and who is known to send it."""

    envelope: Envelope
    sender: Sender | None = None

    def check(self, a: Write) -> Profile | None:
        """The profile that its agent acts as, ``None`` for a person, whether there is such an agent or not."""
        if self.sender is not None and self.envelope.agent_id != self.sender.agent:
            raise ForbiddenError(
                "the agent of this envelope is not the one that sends it",
                hint=f"Nothing was written. This sender writes as agent_id {self.sender.agent!r} only.",
            )
        self._check_signature(a)
        self._check_time(a)
        return self._role(a)

    def _check_signature(self, a: Write) -> None:
        """Refuse a signature that is not by a key of the agent, in the same words where there is no such key."""
        config = a.workspace.config
        if self.envelope.signature is None:
            if config.signing.required:
                raise _bad_signature("this envelope is not signed, and has to be here")
            return
        keys = list_keys(config, self.envelope.agent_id)
        if not any(key.key_id == self.envelope.key_id and self.envelope.is_signed_by(key.secret) for key in keys):
            raise _bad_signature("this envelope is not signed by the agent that it names")

    def _check_time(self, a: Write) -> None:
        """Refuse a time that is too far from the time here; an old one without a signature where the root asks it."""
        signing = a.workspace.config.signing
        apart, most = moment(self.envelope.timestamp) - clock.now(), timedelta(seconds=signing.clock_skew)
        side = "after" if apart > most else "before"
        # One without a signature may have waited in a queue, and a new time for it would prove nothing.
        may_be_old = self.envelope.signature is None and not signing.ages_unsigned
        if apart > most or (-apart > most and not may_be_old):
            raise EnvelopeError(
                f"the time of this envelope is {side} the time here, by more than {most}",
                code="clock_skew",
                key="timestamp",
                hint="Nothing was written. Set the clocks; a retry has a new time and signature, and the same op_id.",
            )

    def _role(self, a: Write) -> Profile | None:
        """The profile that the agent acts as, ``None`` for a person, if the envelope knows it as it is now."""
        # That of a `sender` has to be the one that the interface bound it to. An agent that there is not is refused in
        # the same words.
        refusal = RefusedError(
            "the role of this envelope is not that of its agent as it is now",
            code="role_drift",
            hint="Nothing was written. Read the profile again; 'catmem role-hash NAME' prints the digest for "
            "role_hash.",
        )
        try:
            profile = bound_profile(a.workspace, self.envelope.agent_id)
        except UnknownNameError:
            raise refusal from None
        named = None if profile is None else profile.name
        if self.sender is not None and self.sender.profile != named:
            raise refusal
        if profile is not None:
            is_same = hmac.compare_digest(role_hash(profile), self.envelope.role_hash or "")
            if not is_same or (self.envelope.role_id or "").partition("@")[0] != named:
                raise refusal
        return profile


def _bad_signature(message: str) -> EnvelopeError:
    return EnvelopeError(
        message,
        code="bad_signature",
        key="signature",
        hint="Nothing was written. Sign it with a key of that agent that is in use: 'catmem key list' lists them.",
    )


# --- envelopes made here --------------------------------------------------------------------------------------------

FIELDS = ("entity_id", "content", "prev_rev", "parents", "op_id")
"""What a plain write may have; the first two it must. ``parents`` may stand in the place of ``prev_rev``."""

_OF_ENVELOPES = frozenset({"agent_id", "role_id", "role_hash", "timestamp", "mem_rev", "mem_hash"})


def is_plain(fields: Mapping[str, Any]) -> bool:
    """Whether this is a plain write, or else an envelope, be it right or wrong."""
    return _OF_ENVELOPES.isdisjoint(fields)


def submit_plain(
    root: Root,
    fields: Mapping[str, Any],
    sender: Sender | None = None,
    base: str | None = None,
    **how: Any,  # noqa: ANN401 - fields of a request
) -> Written:
    """Make a plain write by ``sender``; its ``base``, also a ``keyed_digest``, goes before what the fields say."""
    if base is None:
        return submit_read(root, _plain_envelope(root, fields, sender), sender, **how)
    envelope = _plain_envelope(root, {**fields, "prev_rev": base if REVISION.fullmatch(base) else 0}, sender)
    if base.startswith("u"):
        now = root.store.read(envelope.entity_id).digest
        base = now if hmac.compare_digest(base, keyed_digest(now)) else bytes_digest(base.encode())
    return submit_read(root, envelope, sender, expected=base, **how)


def _plain_envelope(workspace: Root, fields: Mapping[str, Any], sender: Sender | None) -> Envelope:
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
        given = {**fields, "entity_id": named, "prev_rev": base_named(fields)} if "entity_id" in fields else {**fields}
        try:
            envelope = envelope_of(fields_in(_completed(agent, acting, given)))
        except EnvelopeError as error:
            if error.key == "entity_id":
                error.hint = f"Write PROFILE/user or PROFILE/memory; PROFILE alone is PROFILE/user. {DECLARED_RULE}"
            raise
        if is_declared(envelope.entity_id):
            declared_of(workspace, envelope.entity_id, acting)
        return envelope


def base_named(fields: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    """What a plain write says that it is made on: ``prev_rev``, or else the first of its ``parents`` (0 for none)."""
    prev, parents = fields.get("prev_rev"), fields.get("parents")
    if prev is not None or not isinstance(parents, list):
        return prev
    return parents[0] if parents else 0


class Sending(TypedDict, total=False):
    """How an envelope is made; each may be left out.

    ``agent`` is who writes, ``None`` a person. ``prev`` is the revision that it is made on, by default the newest; a
    text that no history has yet is taken in as one first. Where another program changed it, an agent that does more
    than add has to name what it saw. ``op_id`` is the name of the write, by default a new one. It is signed if the
    agent has a key here; ``signed=True`` makes that a must, ``False`` leaves it out.
    """

    agent: str | None
    prev: str | int | None
    op_id: str | None
    signed: bool | None


def make_envelope(
    workspace: Root,
    entity: str,
    content: Any,  # noqa: ANN401 - what an envelope may hold
    **how: Unpack[Sending],
) -> tuple[Envelope, str | None]:
    """Make an envelope; with it comes the revision as which the history took in first what the file held, if it did."""
    name, prev, signed = how.get("agent") or PERSON, how.get("prev"), how.get("signed")
    # It names the revision that it is made on, which no digest can stand for. So a text that no history has yet becomes
    # a revision here.
    adopted = None
    role = bound_profile(workspace, name)  # who is refused leaves no trace
    if is_declared(entity):
        declared_of(workspace, entity, role)
    plain = content if is_declared(entity) else _plain(content)
    if prev is None:
        _refuse_unseen(workspace, entity, plain, name)
        now = workspace.store.read(entity)
        if now.revision is None:
            change = Change(op="adopt", agent=PERSON)
            now = gate.commit(workspace, entity, None, lambda current: current.data, change)
            adopted = now.revision
        prev = now.revision or "0"
    given = {"entity_id": entity, "prev_rev": prev, "content": plain}
    if how.get("op_id"):
        given["op_id"] = how["op_id"]
    envelope = read_envelope(_completed(name, role, given))
    if signed is not False:
        key = signing_key(workspace.config, name)
        if key is not None:
            envelope = envelope.signed(key.key_id, key.secret)
        elif signed:
            raise UnknownNameError(
                f"{name} has no key here", code="unknown_key", hint=f"catmem key new {name} makes one."
            )
    return envelope, adopted


def _completed(agent: str, role: Profile | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an envelope, of those that its writer gives: the rest is known here."""
    said = {} if role is None else {"role_id": role.name, "role_hash": role_hash(role)}
    now = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    fields: dict[str, Any] = {"agent_id": agent, "op_id": uuid4().hex, "timestamp": now, **said, **given}
    if "prev_rev" in given:
        prev = given["prev_rev"]
        prev = int(prev) if isinstance(prev, str) and prev.isdecimal() else prev
        parents = given.get("parents") or ([prev] if prev else [])
        fields |= {"prev_rev": prev, "mem_rev": revision_number(str(prev)) + 1, "parents": parents}
    try:
        return fields | {"mem_hash": content_hash(given.get("content"))}
    except (TypeError, ValueError, RecursionError) as error:
        message = "the content holds what JSON cannot say"
        raise EnvelopeError(message, key="content", hint="Give plain values.") from error


def _refuse_unseen(workspace: Root, entity: str, content: Any, agent: str) -> None:  # noqa: ANN401 - JSON
    """Raise ``EnvelopeError`` where the newest revision would pass for one that the agent saw, and it may not have."""
    only_adds = isinstance(content, list) and all(
        isinstance(each, Mapping) and each.get("action") == "add" for each in content
    )
    if agent == PERSON or only_adds:
        return
    log = [*workspace.store.log(entity)]
    # What stood there at first is what its writers went on from.
    by_another = any(each.agent == EXTERNAL for each in log[:-1])
    if by_another or (log and workspace.store.read(entity).revision is None):
        raise EnvelopeError(
            f"another program changed {entity}, and {agent} may not have seen that",
            key="prev_rev",
            hint="Nothing was made. Read it, and say which revision you saw (--prev).",
        )


def _plain(content: Any) -> Any:  # noqa: ANN401 - what a caller gives, and JSON
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return dict(content)  # which the schema refuses
    if not isinstance(content, Sequence) or not all(isinstance(each, Operation | Mapping) for each in content):
        raise wrong_type("content", content, "a list of catmem.Operation")
    return [jsonable(each) if isinstance(each, Operation) else dict(each) for each in content]
