"""What a seed would do, and what it did, as one value; and who seeds whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, TypedDict

from catmem import clock
from catmem.config.config import Taxonomy
from catmem.config.json_schema import shown
from catmem.config.profile import Profile, profile_names, where_set
from catmem.errors import CatmemError, ConfigError, UnknownNameError
from catmem.model.document import Version
from catmem.names import known_target, parts_of
from catmem.seeding.seed_lock import SeedFile, SeedLock, SeedRecord
from catmem.seeding.slices import FilePlan, Resolve, SeedInputs, conflict_id
from catmem.store.contract import Snapshot
from catmem.workspace.change_plan import ChangePlan
from catmem.workspace.root import Root, load_each


class HowSeeded(TypedDict, total=False):
    """How a seed is made; each may be left out.

    ``target`` keeps to ``user`` or ``memory``, ``categories`` to some categories: entries of others are neither copied
    nor removed, and stay on record. ``as_of`` is the day by which dates are judged. ``resolve`` settles conflicts:
    ``target``, ``source`` or ``both`` for all, or a mapping from the ``id`` that a conflict has in the JSON of the plan
    to one of these. ``actor`` is the profile that acts, ``None`` a person. ``every_entry`` tells also of entries in
    files that cannot change. ``replace_cloned`` takes out of a file that is a clone of the source's, as after ``hermes
    profile create --clone``, what the source has too and no seed put there.
    """

    target: str | None
    categories: Sequence[str] | str | None
    as_of: date | None
    resolve: Resolve | None
    actor: str | None
    every_entry: bool
    replace_cloned: bool


@dataclass(frozen=True, slots=True)
class SeedRequest:
    """What is asked for, so that a plan can be made again: whose files go to whom, and how (``HowSeeded``)."""

    source: str
    targets: Sequence[str] | str | None = None
    target: str | None = None
    categories: Sequence[str] | str | None = None
    as_of: date | None = None
    resolve: Resolve | None = None
    actor: str | None = None
    every_entry: bool = False
    replace_cloned: bool = False

    @property
    def day(self) -> date:
        """The day by which dates are judged."""
        return clock.day(self.as_of)

    def checked(self, taxonomy: Taxonomy) -> SeedRequest:
        """The same with targets and categories as lists of names. Raises ``ConfigError``, ``UnknownNameError``."""
        targets = (self.targets,) if isinstance(self.targets, str) else tuple(dict.fromkeys(self.targets or ()))
        if self.target is not None:
            known_target(self.target)
        if self.categories is None:
            return replace(self, targets=targets)
        categories = [self.categories] if isinstance(self.categories, str) else self.categories
        slugs = [taxonomy.category(name) for name in categories]
        if not slugs or "" in slugs:
            raise ConfigError(
                f"{shown(categories[slugs.index('')])} is not a category" if slugs else "no category is named",
                code="bad_category",
                hint="Nothing was seeded. Name one or more categories, or leave the filter out.",
            )
        return replace(self, targets=targets, categories=tuple(dict.fromkeys(slugs)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedPlan(ChangePlan):
    """What a seed would do, or did: one plan for each file, in the order of the targets, and the files left alone.

    Where the targets were not named, what is wrong with profiles that may be targets is ``refused`` too. ``clocks``
    say by target and by the key of their words how old entries without a date of their own are; with them stands what
    the plan was made of. ``warnings`` are the notes about files, which the profile that seeds sees too.
    """

    asked: SeedRequest = field(repr=False)
    profiles: Mapping[str, Profile] = field(repr=False, compare=False)
    warnings: tuple[str, ...] = field(repr=False, compare=False)
    others: tuple[tuple[str, str], ...] = field(repr=False, compare=False)
    """Files with another source that has to be seeded: what it gave is outdated, and not this source's to take out."""
    gone: tuple[SeedRecord, ...] = field(repr=False, compare=False)
    """What sources gave whose profile is no more: targets keep it as their own."""
    parts: Mapping[str, SeedInputs] = field(repr=False, compare=False)
    lock_data: bytes = field(repr=False, compare=False)
    lock: SeedLock = field(repr=False, compare=False)
    read: Mapping[str, Snapshot] = field(repr=False, compare=False)
    clocks: Mapping[str, Mapping[str, str | None]] = field(repr=False, compare=False)

    @property
    def targets(self) -> tuple[str, ...]:
        """The profiles that are to be seeded."""
        return tuple(self.asked.targets or ())

    @property
    def in_sync(self) -> bool:
        """Whether nothing is to do, refused or in conflict, the lock is whole, and a source with entries gives some."""
        wrong = (
            self.lock.notes or self.others or self.refused or self.changes or any(each.conflicts for each in self.files)
        )
        has_entries = any(each.offered.document.entries for each in self.parts.values())
        return not wrong and (bool(self.files) or not has_entries or self.asked.categories is not None)

    @property
    def exit_status(self) -> int:
        """What the command line returns after it: that of the worst refusal; 3 for an open conflict."""
        open_conflict = 3 if any(each.conflicts for each in self.files) else 0
        return max([open_conflict, *(error.exit_status for error in self.errors)])

    def __json__(self) -> dict[str, Any]:
        ahead = {} if self.done else {"as_of": self.asked.day, "in_sync": self.in_sync}
        said = {"files": [_file_dict(each, done=self.done) for each in self.files]}
        return {"source": self.asked.source, **ahead, **said, "refused": self.refused, "notes": self.notes}


def _file_dict(plan: FilePlan, *, done: bool) -> dict[str, Any]:
    return {
        "target": plan.target,
        "source": plan.source,
        "changes": plan.changes,
        "counts": dict(sorted(Counter(row.state for row in plan.rows).items())),
        "entries": [{"state": row.state, **_version_dict(row.version)} for row in plan.rows],
        "conflicts": [
            {
                "id": conflict_id(plan.target, conflict),
                "reason": conflict.reason,
                "base": _version_dict(conflict.base),
                "target": _version_dict(conflict.ours),
                "source": _version_dict(conflict.theirs),
            }
            for conflict in plan.conflicts
        ],
        "withheld": [
            {
                "category": each.version.category,
                "id": each.id,
                "reason": each.withheld,
                "body": None if each.is_hostile else each.version.body,
            }
            for each in plan.withheld
        ],
        **({"revision": plan.revision, "notes": plan.notes} if done else {}),
    }


def _version_dict(version: Version | None) -> dict[str, Any]:
    return {} if version is None else {name: getattr(version, name) for name in ("category", "id", "body", "tags")}


# --- who seeds whom in a root, by the ``seed_from`` of its profiles --------------------------------------------------


EPHEMERAL_TIER = 3
"""Profiles of this tier and beyond live for one task: they get a slice as text, and files only when they are named."""


def seed_order(
    workspace: Root, profiles: Mapping[str, Profile] | None = None
) -> tuple[dict[str, list[str]], list[CatmemError]]:
    """Every source with the profiles that it seeds, each after what seeds it; and what is wrong with the others."""
    unreadable: list[CatmemError] = []
    if profiles is None:
        loaded, unreadable = load_each(workspace)
        profiles = {profile.name: profile for profile in loaded}
    at_hand, wrong = profiles, {*profile_names(workspace.config.profiles_dir)} - profiles.keys()
    # The lock of a large fleet takes long to read, so it is asked only where its answer counts.
    asked = any(profile.tier >= EPHEMERAL_TIER for profile in profiles.values())
    records = SeedFile(workspace).read()[1].records if asked else {}
    seeded = {parts_of(target).owner for target, _ in records}
    sources: dict[str, list[str]] = {}
    depth: dict[str, int] = {}
    for profile in profiles.values():
        try:
            chain = seed_chain(lambda name: at_hand.get(name) or workspace.profile(name), profile)
        except CatmemError as error:
            is_same_circle = error.code == "seed_cycle" and any(each.code == error.code for each in unreadable)
            if profile.seed_from not in wrong and not is_same_circle:
                unreadable.append(error)
            continue
        if profile.seed_from is not None and (profile.tier < EPHEMERAL_TIER or profile.name in seeded):
            sources.setdefault(profile.seed_from, []).append(profile.name)
            depth[profile.seed_from] = max(depth.get(profile.seed_from, 0), len(chain) - 2)
    return {each: sources[each] for each in sorted(sources, key=lambda each: (depth[each], each))}, unreadable


def seed_chain(known: Callable[[str], Profile], profile: Profile) -> list[str]:
    """The profile, the one it is seeded from, and so on, up to where something is wrong that does not concern it."""
    chain, last = [profile.name], profile
    while last.seed_from is not None and last.seed_from not in chain[1:]:
        chain.append(last.seed_from)
        if last.seed_from == profile.name:
            raise ConfigError(
                f"the profiles are seeded from each other in a circle: {' -> '.join(chain)}",
                code="seed_cycle",
                hint="None of these is seeded. Remove one 'seed_from' of the circle.",
                **where_set(profile, "seed_from"),
            )
        try:
            last = known(last.seed_from)
        except CatmemError as error:
            if last is not profile:
                break
            if error.code == "unknown_name":
                raise UnknownNameError(error.message, hint=error.hint, **where_set(profile, "seed_from")) from None
            raise
    return chain
