"""Who seeds whom in a root, by the ``seed_from`` of its profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from catmem.config.profile import profile_names
from catmem.errors import CatmemError, ConfigError
from catmem.seeding.lockfile import SeedFile
from catmem.workspace.root import load_each

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from catmem.config.profile import Profile
    from catmem.workspace.root import Root

EPHEMERAL_TIER = 3
"""Profiles of this tier and beyond live for one task: they get a slice as text, and files only when they are named."""


class SeedOrder(NamedTuple):
    """Every source with the profiles that it seeds, each after what seeds it; and what is wrong with the others."""

    sources: list[tuple[str, list[str]]]
    unreadable: tuple[CatmemError, ...]

    def targets(self, source: str) -> list[str]:
        """The profiles that a source seeds."""
        return dict(self.sources).get(source, [])


def seed_order(workspace: Root, profiles: Mapping[str, Profile] | None = None) -> SeedOrder:
    """Who seeds whom in a root, without profiles that live for one task and were never seeded.

    ``profiles`` are those that are right, for a caller who knows what is wrong with the others. Raises
    ``UnreadableError`` for the folder of profiles and the lock, and ``ConfigError`` for the lock.
    """
    unreadable: list[CatmemError] = []
    if profiles is None:
        loaded, unreadable = load_each(workspace)
        profiles = {profile.name: profile for profile in loaded}
    known = known_profiles(workspace, profiles)
    wrong = {*profile_names(workspace.config.profiles_dir)} - profiles.keys()
    # The lock of a large fleet takes long to read, so it is asked only where its answer counts.
    asked = any(profile.tier >= EPHEMERAL_TIER for profile in profiles.values())
    records = SeedFile(workspace.root).read()[1].records if asked else {}
    seeded = {target.partition("/")[0] for target, _ in records}
    sources: dict[str, list[str]] = {}
    depth: dict[str, int] = {}
    for profile in profiles.values():
        try:
            chain = seed_chain(known, profile)
        except CatmemError as error:
            is_known = error.code == "seed_cycle" and any(each.message == error.message for each in unreadable)
            if profile.seed_from not in wrong and not is_known:
                unreadable.append(error)
            continue
        if profile.seed_from is not None and (profile.tier < EPHEMERAL_TIER or profile.name in seeded):
            sources.setdefault(profile.seed_from, []).append(profile.name)
            depth[profile.seed_from] = max(depth.get(profile.seed_from, 0), len(chain) - 2)
    order = sorted(sources.items(), key=lambda each: (depth[each[0]], each[0]))
    return SeedOrder(order, tuple(unreadable))


def known_profiles(workspace: Root, profiles: Mapping[str, Profile] | None) -> Callable[[str], Profile]:
    """The profiles of a root by name; ``profiles`` are at hand."""
    at_hand = profiles or {}
    return lambda name: at_hand.get(name) or workspace.profile(name)


def seed_chain(known: Callable[[str], Profile], profile: Profile) -> list[str]:
    """The profile, the one it is seeded from, and so on, up to where something is wrong that does not concern it.

    Raises ``ConfigError`` (``seed_cycle``) for one that comes back to itself, and what is wrong with its own source.
    """
    own = profile.name
    chain = [own]
    while profile.seed_from is not None:
        place = profile.places.get(("seed_from",))
        at = {"path": place.path, "line": place.line, "column": place.column} if place else {"path": profile.path}
        if profile.seed_from == own:
            first = chain.index(min(chain))
            circle = " -> ".join([*chain[first:], *chain[:first], chain[first]])
            message = f"the profiles are seeded from each other in a circle: {circle}"
            hint = "None of these is seeded. Remove one 'seed_from' of the circle."
            raise ConfigError(message, code="seed_cycle", key="seed_from", hint=hint, **at)
        if profile.seed_from in chain:
            break
        chain.append(profile.seed_from)
        try:
            profile = known(profile.seed_from)
        except CatmemError as error:
            if len(chain) > 2:  # noqa: PLR2004 - the profile and its source
                break
            if error.code == "unknown_name" and place is not None:
                error.path, error.line, error.column, error.key = place.path, place.line, place.column, "seed_from"
            raise
    return chain
