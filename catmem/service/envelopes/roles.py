"""Whom an agent acts as: the profile bound to it, and the digest that tells whether it knows that profile."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from catmem.digest import bytes_digest, canonical_json
from catmem.errors import RefusedError
from catmem.policy.profile import has_profile, profile_names
from catmem.store.contract import PERSON

if TYPE_CHECKING:
    from catmem.policy.config import Config
    from catmem.policy.profile import Profile
    from catmem.service.workspace import Workspace
    from catmem.store.envelope import Envelope


def role_hash(profile: Profile) -> str:
    """The digest of a profile with everything inherited in it: equal roles have equal ones."""
    return bytes_digest(canonical_json(profile.canonical()))


def agents_of(config: Config) -> dict[str, str]:
    """The profile of each agent of the root, by the agent; a profile is the agent of its own name."""
    return {name: name for name in profile_names(config.profiles_dir)} | dict(config.agents)


def profile_of(config: Config, agent: str) -> str | None:
    """The name of an agent's profile, ``None`` for no agent: what ``agents_of`` says, without a look at all others.

    Raises ``UnreadableError``.
    """
    if agent in config.agents:
        return config.agents[agent]
    if has_profile(config, agent):
        return agent
    return agents_of(config).get(agent)  # a folder that cannot be read is told, and not taken for an empty one


def bound_profile(workspace: Workspace, agent: str) -> Profile | None:
    """The profile that an agent acts as, ``None`` for a person. Raises ``RefusedError`` (``role_drift``) for nobody."""
    if agent == PERSON:
        return None
    name = profile_of(workspace.config, agent)
    if name is None:
        raise role_drift()
    return workspace.profile(name)


def fits(envelope: Envelope, profile: Profile) -> bool:
    """Whether an envelope's role is the profile as it is now."""
    named = (envelope.role_id or "").partition("@")[0]
    same = hmac.compare_digest(role_hash(profile), envelope.role_hash or "")
    return named == profile.name and same


def role_drift() -> RefusedError:
    """The refusal of a role that is not that of the writer; in the same words for an agent that there is not."""
    return RefusedError(
        "the role of this envelope is not that of its agent as it is now",
        code="role_drift",
        hint="Nothing was written. Read the profile again; 'catmem role-hash NAME' prints the digest for role_hash.",
    )
