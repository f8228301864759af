"""Who writes: whether an envelope is by the agent that it names, of now, and of the profile as it is now.

Up to here nothing is told of what the root holds: the words are the same for what there is and what there is not.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from catmem import clock
from catmem.errors import EnvelopeError, ForbiddenError, RefusedError, UnknownNameError
from catmem.policy.access import Rights
from catmem.policy.schema import shown
from catmem.service.envelopes.keys import keys_of
from catmem.service.envelopes.reading import moment
from catmem.service.envelopes.roles import agents_of, bound_profile, fits, role_drift
from catmem.service.writing.terms import terms_of

if TYPE_CHECKING:
    from catmem.policy.profile import Profile
    from catmem.service.gate import Attempt
    from catmem.service.workspace import Workspace
    from catmem.service.writing.terms import Terms
    from catmem.store.envelope import Envelope


class Sender(NamedTuple):
    """Who a door knows the sender of an envelope to be: an agent, and the profile that its token is bound to."""

    agent: str
    profile: str


def check_sender(envelope: Envelope, sender: Sender | None) -> None:
    """Refuse an envelope of somebody else than its sender, in the same words whether there is such an agent."""
    if sender is not None and envelope.agent_id != sender.agent:
        raise ForbiddenError(
            "the agent of this envelope is not the one that sends it",
            hint=f"Nothing was written. This sender writes as agent_id {sender.agent!r} only.",
        )


def check_signature(workspace: Workspace, envelope: Envelope, trying: Attempt) -> None:
    """Refuse a signature that is not by a key of the agent, in the same words where there is no such agent or key."""
    config = workspace.config
    if envelope.signature is None:
        if config.signing.required:
            refusal = _bad_signature("this envelope is not signed, and has to be here")
            if _is_unbounded(workspace, envelope):
                raise refusal  # a rollout makes nobody a person, or a profile that may do everything
            trying.refuse(refusal)
        return
    keys = keys_of(config, envelope.agent_id, agents_of(config))
    if not any(key.key_id == envelope.key_id and envelope.is_signed_by(key.secret) for key in keys):
        raise _bad_signature("this envelope is not signed by the agent that it names")


def _is_unbounded(workspace: Workspace, envelope: Envelope) -> bool:
    """Whether the agent that an envelope names may write anything."""
    try:
        actor = bound_profile(workspace, envelope.agent_id)
    except RefusedError:
        return False
    return Rights(actor, "user", workspace.config.taxonomy).unbounded


def _bad_signature(message: str) -> EnvelopeError:
    return EnvelopeError(
        message,
        code="bad_signature",
        key="signature",
        hint="Nothing was written. Sign it with a key of that agent that is in use: 'catmem key list' lists them.",
    )


def check_time(workspace: Workspace, envelope: Envelope, trying: Attempt) -> None:
    """Refuse a time that is too far from the time here."""
    apart, most = moment(envelope.timestamp) - clock.now(), timedelta(seconds=workspace.config.signing.clock_skew)
    side = "after" if apart > most else "before"
    if abs(apart) > most:
        trying.refuse(
            EnvelopeError(
                f"the time of this envelope is {side} the time here, by more than {most}",
                code="clock_skew",
                key="timestamp",
                hint="Nothing was written. Set the clocks; a retry has a new time and signature, and the same op_id.",
            )
        )


def checked_role(
    workspace: Workspace, envelope: Envelope, trying: Attempt, sender: Sender | None = None
) -> Profile | None:
    """The profile that the agent acts as, ``None`` for a person, if the envelope knows it as it is now.

    That of a ``sender`` has to be the one that the door bound it to, whatever a rollout lets pass.
    """
    profile = bound_profile(workspace, envelope.agent_id)
    if sender is not None and (profile is None or profile.name != sender.profile):
        raise role_drift()
    if profile is not None and not fits(envelope, profile):
        trying.refuse(role_drift())
    return profile


def terms_of_envelope(workspace: Workspace, envelope: Envelope, actor: Profile | None) -> Terms:
    """The terms of the write. Raises ``ForbiddenError`` for an entity that is none of the writer's business."""
    name, _, target = envelope.entity_id.partition("/")
    try:
        Rights(actor, target, workspace.config.taxonomy).refuse_other_owner(name)
    except UnknownNameError as error:
        message = f"{envelope.agent_id} may not write to {shown(envelope.entity_id)}"
        raise ForbiddenError(message, hint=error.hint) from None
    return terms_of(workspace, name, target, actor)
