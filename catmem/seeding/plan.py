"""What a seed would do, and what it did, as values."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.config.access import visible_categories
from catmem.config.profile import limit_of, profile_names
from catmem.errors import CatmemError, ConfigError
from catmem.model.pairing import pair_entries
from catmem.model.splice import read_like
from catmem.model.version import Version
from catmem.names import UNCATEGORIZED
from catmem.prompt.prompt import leaving_rank
from catmem.seeding.lockfile import SeedFile
from catmem.seeding.seed_lock import Seeded
from catmem.seeding.slices import base_of, conflict_id, plan_file
from catmem.staleness.freshness import freshness
from catmem.text import size_of
from catmem.workspace.root import load_each

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import date

    from catmem.config.config import Config
    from catmem.config.profile import Profile
    from catmem.model.document import Document
    from catmem.seeding.seed_lock import SeedLock
    from catmem.seeding.slices import FilePlan, Parts, Resolve
    from catmem.store.contract import Snapshot
    from catmem.workspace.root import Root


OVER = "over the limit"
"""How the reason of an entry begins that a seed leaves out to fit."""


class SeedRequest(NamedTuple):
    """What was asked for, so that a plan can be made again. ``categories`` are slugs, ``None`` for all."""

    source: str
    targets: tuple[str, ...]
    only: str | None
    as_of: date
    resolve: Resolve | None
    actor: str | None
    categories: tuple[str, ...] | None = None
    fit: bool = False
    replace_cloned: bool = False


class SeedRefusal(NamedTuple):
    """A file that was not seeded, or would not be, and why."""

    target: str
    error: CatmemError


@dataclass(frozen=True, slots=True)
class SeedPlan:
    """What a seed would do: one plan for each file, in the order of the targets, and the files that it must not touch.

    ``warnings`` are the ``notes`` that are about files; ``starved``: no entry of a file of the source has a category.
    ``unreadable`` is what is wrong with profiles that may be targets too, where the targets were not named. ``clocks``
    say by target and by the key of their words how old entries without a date of their own are; with them stands what
    the plan was made of.
    """

    asked: SeedRequest = field(repr=False)
    files: tuple[FilePlan, ...]
    refused: tuple[SeedRefusal, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    starved: bool
    parts: Mapping[str, Parts] = field(repr=False, compare=False)
    lock_data: bytes = field(repr=False, compare=False)
    lock: SeedLock = field(repr=False, compare=False)
    read: Mapping[str, Snapshot] = field(repr=False, compare=False)
    clocks: Mapping[str, Mapping[str, list[str]]] = field(repr=False, compare=False)
    unreadable: tuple[CatmemError, ...] = ()

    @property
    def targets(self) -> tuple[str, ...]:
        """The profiles that are to be seeded."""
        return self.asked.targets

    @property
    def changes(self) -> bool:
        """Whether any file would change."""
        return any(each.changes for each in self.files)

    @property
    def in_sync(self) -> bool:
        """Whether there is nothing to do, nothing refused, no open conflict, and a whole lock."""
        whole = not (self.lock.notes or self.unreadable or self.starved)
        return whole and not (self.changes or self.refused or any(each.conflicts for each in self.files))

    @property
    def exit_status(self) -> int:
        """What the command line returns after it: that of the worst refusal; 3 for an open conflict."""
        return _exit_status(self.files, self.refused, self.unreadable)

    def __json__(self) -> dict[str, Any]:
        said = {"source": self.asked.source, "as_of": self.asked.as_of, "in_sync": self.in_sync}
        return {**said, "files": [_file_dict(each) for each in self.files], **_rest_dict(self)}


class SeededFile(NamedTuple):
    """What a seed did to one file. ``revision`` is the new one, ``None`` where nothing was to write."""

    plan: FilePlan
    revision: str | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SeedResult:
    """What a seed did, file by file, in the order of the targets. ``unreadable`` as in the plan."""

    source: str
    files: tuple[SeededFile, ...]
    refused: tuple[SeedRefusal, ...]
    notes: tuple[str, ...]
    unreadable: tuple[CatmemError, ...] = ()

    @property
    def exit_status(self) -> int:
        """What the command line returns: that of the worst refusal; 3 for an open conflict."""
        return _exit_status((each.plan for each in self.files), self.refused, self.unreadable)

    def __json__(self) -> dict[str, Any]:
        files = [{**_file_dict(each.plan), "revision": each.revision, "notes": each.notes} for each in self.files]
        return {"source": self.source, "files": files, **_rest_dict(self)}


def _file_dict(plan: FilePlan) -> dict[str, Any]:
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
    }


def _version_dict(version: Version | None) -> dict[str, Any]:
    return {} if version is None else {name: getattr(version, name) for name in ("category", "id", "body", "tags")}


def _rest_dict(seed: SeedPlan | SeedResult) -> dict[str, Any]:
    return {"refused": seed.refused, "unreadable": seed.unreadable, "notes": seed.notes}


def _exit_status(files: Iterable[FilePlan], refused: Iterable[SeedRefusal], unreadable: Iterable[CatmemError]) -> int:
    open_conflict = 3 if any(each.conflicts for each in files) else 0
    errors = [*(each.error for each in refused), *unreadable]
    return max([open_conflict, *(error.exit_status for error in errors)])


# --- who seeds whom in a root, by the ``seed_from`` of its profiles --------------------------------------------------


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


# --- which entries of a slice a target gets whose limit is too small for all of them (``catmem seed --fit``) ---------


def plan_fitting(
    parts: Parts, ours: Document, profile: Profile, config: Config, *, resolve: Resolve | None = None
) -> FilePlan:
    """The plan of one file of ``profile`` within its limit; what leaves for it is ``withheld``, and not on record.

    A file that is over its limit is to become no longer; if that takes more than copies, the plan is too long.
    """
    plan = plan_file(parts, ours, resolve=resolve)
    target = parts.target.partition("/")[2]
    limit = limit_of(profile, target, config)
    if limit is None:
        return plan
    most = max(limit, size_of(ours.text))
    if size_of(plan.after) <= most:
        return plan
    parts, leaving = _leaving(parts, ours, read_like(plan.after, parts.offered.document))
    order = _in_order(parts, leaving, profile, config, limit)
    fewest, enough = 1, len(order)
    while fewest < enough:
        middle = (fewest + enough) // 2
        if size_of(_without(parts, ours, order[:middle], resolve).after) <= most:
            enough = middle
        else:
            fewest = middle + 1
    out = order[:fewest]
    why = f"{OVER} of {limit:,}"
    left = [parts.slice[index] for index in sorted(out)]
    plan = _without(parts, ours, out, resolve)
    left = [each if each.withheld else each._replace(withheld=why) for each in left]
    return replace(plan, withheld=(*plan.withheld, *left))


def _without(parts: Parts, ours: Document, gone: Collection[int], resolve: Resolve | None) -> FilePlan:
    left = set(gone)
    kept = tuple(each for index, each in enumerate(parts.slice) if index not in left)
    return plan_file(parts._replace(slice=kept), ours, resolve=resolve)


def _leaving(parts: Parts, ours: Document, seeded: Document) -> tuple[Parts, list[int]]:
    """The entries of the slice that may leave: those that would stand in the target as the source has them.

    ``seeded`` is the target with the whole slice. A copy that the target changed, and that nevertheless comes to say
    what the source says, counts as seeded the way it is: then it may go like any other copy.
    """
    base = list(base_of(parts, ours))
    were = [Version.read(each.category, each.text) for each in base]
    known = {there: here for here, there in pair_entries(were, [each.version for each in parts.slice]).items()}
    copies = pair_entries(were, ours.entries)
    standing = Counter((entry.category, entry.id) for entry in seeded.entries)
    leaving: list[int] = []
    for index, each in enumerate(parts.slice):
        number = known.get(index)
        if each.is_hostile or not standing[each.key] or (each.withheld and number is None):
            continue
        standing[each.key] -= 1
        leaving.append(index)
        if number in copies:
            copy = ours.entries[copies[number]]
            base[number] = Seeded(copy.category, copy.id, copy.text)
    return (parts if parts.base is None else parts._replace(base=tuple(base))), leaving


def _in_order(parts: Parts, leaving: Sequence[int], profile: Profile, config: Config, limit: int) -> list[int]:
    """Their places in the slice, the first to leave first. What is over the limit by itself goes before all others."""
    target = parts.target.partition("/")[2]
    found = dict.fromkeys(each.version.category for each in parts.slice)
    order = visible_categories(found, target, profile, config.taxonomy)

    def place(index: int) -> tuple[bool, int, bool, int, str, int]:
        version = parts.slice[index].version
        state, name = freshness(version, profile, config, as_of=parts.offered.as_of), version.category
        fits = size_of(version.text) <= limit
        return not fits, -leaving_rank(state, name), name == UNCATEGORIZED, order.get(name, 0), name, index

    return sorted(leaving, key=place, reverse=True)
