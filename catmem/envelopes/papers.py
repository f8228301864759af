"""Envelopes as the papers of a write: what they ask, and the refusals that vouch for who sends them.

The words of a refusal are the same for what there is and what there is not: up to ``role_drift`` nothing of the root
but keys, time and the profile of the agent counts.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NamedTuple

from catmem import clock
from catmem.config.access import Rights
from catmem.config.profile import Profile
from catmem.envelopes.agents import bound_profile, fits, keys_of, role_drift
from catmem.envelopes.document_write import DocumentWrite
from catmem.envelopes.parsing import envelope_of, fields_in, fields_of, moment, operations_of
from catmem.errors import EnvelopeError, ForbiddenError, RefusedError
from catmem.jsonable import jsonable
from catmem.names import is_declared
from catmem.store.envelope import Envelope
from catmem.workspace.root import Root
from catmem.writing import gate
from catmem.writing.entry_write import Write
from catmem.writing.request import Request
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
    with gate.checks(root, "?", op="write", agent="?"):
        if size is None:
            fields = fields_of(jsonable(given) if isinstance(given, Envelope) else given)
        else:
            fields = fields_in(given, size)
    entity, agent = (said if isinstance(said := fields.get(name), str) else "?" for name in ("entity_id", "agent_id"))
    with gate.checks(root, entity, op="write", agent=agent):
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
    kind: type[Write] = DocumentWrite
    if is_declared(entity):
        from catmem.entities.content_write import ContentWrite

        kind = ContentWrite
    elif isinstance(content, list):
        with gate.checks(root, entity, op="write", agent=envelope.agent_id):
            content = operations_of(content)
    how |= {"op_id": envelope.op_id, "merges": tuple(map(str, envelope.merges)), "expected": str(envelope.prev_rev)}
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
        self._check_signature(a, self.envelope)
        self._check_time(a, self.envelope)
        return self._role(a, self.envelope)

    def _check_signature(self, a: Write, envelope: Envelope) -> None:
        """Refuse a signature that is not by a key of the agent, in the same words where there is no such key."""
        config = a.workspace.config
        if envelope.signature is None:
            if config.signing.required:
                refusal = _bad_signature("this envelope is not signed, and has to be here")
                if _is_unbounded(a.workspace, envelope):
                    raise refusal  # a rollout makes no agent a person, or a profile that may do everything
                a.refuse(refusal)
            return
        keys = keys_of(config, envelope.agent_id)
        if not any(key.key_id == envelope.key_id and envelope.is_signed_by(key.secret) for key in keys):
            raise _bad_signature("this envelope is not signed by the agent that it names")

    def _check_time(self, a: Write, envelope: Envelope) -> None:
        """Refuse a time that is too far from the time here; an old one without a signature where the root asks it."""
        signing = a.workspace.config.signing
        apart, most = moment(envelope.timestamp) - clock.now(), timedelta(seconds=signing.clock_skew)
        side = "after" if apart > most else "before"
        # One without a signature may have waited in a queue, and a new time for it would prove nothing.
        may_be_old = envelope.signature is None and not signing.ages_unsigned
        if apart > most or (-apart > most and not may_be_old):
            a.refuse(
                EnvelopeError(
                    f"the time of this envelope is {side} the time here, by more than {most}",
                    code="clock_skew",
                    key="timestamp",
                    hint="Nothing was written. Set the clocks; a retry has a new time and signature, and the same "
                    "op_id.",
                )
            )

    def _role(self, a: Write, envelope: Envelope) -> Profile | None:
        """The profile that the agent acts as, ``None`` for a person, if the envelope knows it as it is now."""
        # That of a `sender` has to be the one that the interface bound it to, whatever a rollout lets pass.
        profile = bound_profile(a.workspace, envelope.agent_id)
        if self.sender is not None and (profile is None or profile.name != self.sender.profile):
            raise role_drift()
        if profile is not None and not fits(envelope, profile):
            a.refuse(role_drift())
        return profile


def _is_unbounded(root: Root, envelope: Envelope) -> bool:
    try:
        actor = bound_profile(root, envelope.agent_id)
    except RefusedError:
        return False
    return Rights(actor, "user", root.config.taxonomy).unbounded


def _bad_signature(message: str) -> EnvelopeError:
    return EnvelopeError(
        message,
        code="bad_signature",
        key="signature",
        hint="Nothing was written. Sign it with a key of that agent that is in use: 'catmem key list' lists them.",
    )
