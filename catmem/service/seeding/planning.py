"""Seeding on disk: plans for several targets at once, and their writes, each guarded by the store.

::

    profiles, source's files, catmem.seed.lock, targets' files ── plan_seed ──> SeedPlan ── apply_seed ──> SeedResult

A file is seeded whole or not at all. What goes wrong with one target (a budget, a file that no tool can read) is noted,
and the others go on. The lock is written last: where a seed was stopped before that, the next finds what was done.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.errors import (
    CatmemError,
    ConfigError,
    DriftError,
    EditError,
    ForbiddenError,
    UnknownNameError,
    UnreadableError,
)
from catmem.model.compose import composed
from catmem.model.version import Version
from catmem.names import TARGETS
from catmem.policy.access import Rights, hidden_by_sections
from catmem.policy.profile import check_profile, limit_of, memory_dir, profile_names
from catmem.policy.schema import nearest, shown
from catmem.policy.seed import FilePlan, Parts, is_settled, left_out, plan_file
from catmem.policy.seedlock import LOCK_NAME
from catmem.policy.seedslice import Offer, Offered, is_named, offer, slice_text, sliced
from catmem.policy.staleness import DATED_BY
from catmem.service.ages import clocks_of
from catmem.service.profiles import load_each
from catmem.service.seeding.lockfile import SeedFile
from catmem.service.seeding.plan import Asked, Basis, Refusal, SeedPlan
from catmem.service.writing.budget import could_go, over_budget
from catmem.service.writing.view import legible
from catmem.syntax.slug import UNCATEGORIZED, slugify
from catmem.text import DEFAULT_LIMITS, conflict_at, size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date

    from catmem.policy.profile import Profile
    from catmem.policy.seed import Resolve
    from catmem.policy.seedlock import Record, Seeded
    from catmem.service.workspace import Workspace
    from catmem.store.contract import Snapshot

_NAMED = 5
"""Files that a note names at most."""
_LISTED = 20
"""Categories that a refusal names at most."""
EPHEMERAL_TIER = 3
"""Profiles of this tier and beyond live for one task: they get a slice as text, and files only when they are named."""


def plan_seed(  # noqa: PLR0913 - what is asked for, by keyword
    workspace: Workspace,
    source: str,
    targets: Sequence[str],
    *,
    target: str | None = None,
    as_of: date,
    resolve: Resolve | None = None,
    actor: str | None = None,
    every_entry: bool = False,
    categories: Sequence[str] | None = None,
    profiles: Mapping[str, Profile] | None = None,
) -> SeedPlan:
    """What seeding the profiles ``targets`` from ``source`` would do. Reads, and writes nothing.

    ``target`` keeps to one of the two files, ``categories`` to some categories: entries of others are neither copied
    nor removed, and stay on record as they are. ``every_entry`` has the rows of files in which nothing can change, too.
    ``profiles`` are those that the caller has read just now.
    Raises for what concerns all of it: ``UnknownNameError``, ``ConfigError`` (``seed_target``, ``seed_cycle``,
    ``outside_root``, ``lock_version``), ``ForbiddenError``, ``DriftError`` and ``UnreadableError`` for the source, and
    ``UnreadableError`` for the lock.
    """
    slugs = _slugs(workspace, categories)
    asked = Asked(source, tuple(dict.fromkeys(targets)), target, as_of, resolve, actor, slugs)
    return _Planning(workspace, asked, every_entry=every_entry, profiles=profiles).plan()


def replanned(workspace: Workspace, plan: SeedPlan) -> SeedPlan:
    """The plan of the same request, from what is there now."""
    return _Planning(workspace, plan.basis.asked, every_entry=False).plan()


def ephemeral(  # noqa: PLR0913 - what is asked for, by keyword
    workspace: Workspace,
    source: str,
    name: str,
    *,
    as_of: date,
    actor: str | None = None,
    categories: Sequence[str] | None = None,
) -> dict[str, str]:
    """The slices of ``source``'s files that the profile ``name`` is to have, as texts by target; nothing is written.

    Raises as ``plan_seed`` does.
    """
    asked = Asked(source, (name,), None, as_of, None, actor, _slugs(workspace, categories))
    planning = _Planning(workspace, asked, every_entry=False)
    profile = planning.profiles[name]
    offers = {target: offered for target, (offered, _) in planning.offers().items()}
    return {
        target: slice_text(offered, planning.slice_of(profile, target, offered)) for target, offered in offers.items()
    }


def _slugs(workspace: Workspace, categories: Sequence[str] | None) -> tuple[str, ...] | None:
    """The categories that names stand for. Raises ``ConfigError`` (``bad_category``)."""
    if categories is None:
        return None
    slugs = [slugify(name) for name in categories]
    if not slugs or "" in slugs:
        raise ConfigError(
            "no category is named" if not slugs else f"{shown(categories[slugs.index('')])} is not a category",
            code="bad_category",
            hint="Nothing was seeded. Name one or more categories, or leave the filter out.",
        )
    aliases = workspace.config.taxonomy.aliases
    return tuple(dict.fromkeys(aliases.get(slug, slug) for slug in slugs))


def joined(workspace: Workspace, texts: Iterable[str]) -> str:
    """Several slices as one memory file, each category once."""
    documents = [workspace.parse(text) for text in texts if text]
    if len(documents) < 2:  # noqa: PLR2004 - nothing to join
        return "".join(document.text for document in documents)
    titles = {section.category: section.title for document in reversed(documents) for section in document.sections}
    versions = [Version.of(entry) for document in documents for entry in document.entries]
    return composed(versions, titles, documents[0]).text


class SeedOrder(NamedTuple):
    """Every source with the profiles that name it in ``seed_from``, each after what seeds it.

    ``unreadable`` is what is wrong with profiles that may be targets, and with the ``seed_from`` of others
    (``seed_cycle``, ``unknown_name``): they are not among the targets.
    """

    sources: list[tuple[str, list[str]]]
    unreadable: tuple[CatmemError, ...]

    def targets(self, source: str) -> list[str]:
        """The profiles that a source seeds."""
        return dict(self.sources).get(source, [])


def seed_order(workspace: Workspace, profiles: Mapping[str, Profile] | None = None) -> SeedOrder:
    """Who seeds whom in a root.

    Left out are profiles that live for one task, unless they were seeded by name. ``profiles`` are those that are
    right, for a caller who has them, and knows what is wrong with the others. Raises ``UnreadableError`` for the folder
    of profiles and the lock, and ``ConfigError`` for the lock.
    """
    unreadable: list[CatmemError] = []
    if profiles is None:
        loaded, unreadable = load_each(workspace)
        profiles = {profile.name: profile for profile in loaded}
    known = _remembered(workspace, profiles)
    wrong = {*profile_names(workspace.config.profiles_dir)} - profiles.keys()
    circles: set[str] = set()  # each is told once
    # The lock of a large fleet takes long to read, so it is asked only where its answer counts.
    asked = any(profile.tier >= EPHEMERAL_TIER for profile in profiles.values())
    records = SeedFile(workspace.root).read()[1].records if asked else {}
    seeded = {target.partition("/")[0] for target, _ in records}
    sources: dict[str, list[str]] = {}
    depth: dict[str, int] = {}
    for profile in profiles.values():
        try:
            chain = _chain(known, profile)
        except CatmemError as error:
            if profile.seed_from not in wrong and profile.name not in circles:
                unreadable.append(error)
            if error.code == "seed_cycle":
                circles |= _circle(known, profile)
            continue
        if profile.seed_from is not None and (profile.tier < EPHEMERAL_TIER or profile.name in seeded):
            sources.setdefault(profile.seed_from, []).append(profile.name)
            depth[profile.seed_from] = max(depth.get(profile.seed_from, 0), len(chain) - 2)
    order = sorted(sources.items(), key=lambda each: (depth[each[0]], each[0]))
    return SeedOrder(order, tuple(unreadable))


def refuse_bounded(workspace: Workspace, actor: str | None) -> Profile | None:
    """The profile that acts, ``None`` for a person.

    Raises ``ForbiddenError`` for one that may not seed, before it is told of any other profile.
    """
    acting = None if actor is None else workspace.profile(actor)
    if not Rights(acting, "user", workspace.config.taxonomy).unbounded:
        raise ForbiddenError(
            f"{actor} may not seed the memory of other profiles",
            hint="A person may do that, and a profile of tier 1.",
        )
    return acting


def _remembered(workspace: Workspace, profiles: Mapping[str, Profile] | None) -> Callable[[str], Profile]:
    """The profiles of a root by name, each looked for and checked once; ``profiles`` are at hand."""

    @cache
    def known(name: str) -> Profile:
        found = profiles.get(name) if profiles else None
        if found is None:
            return workspace.profile(name)
        check_profile(found, workspace.config)
        return found

    return known


def _chain(known: Callable[[str], Profile], profile: Profile) -> list[str]:
    """The profile, the one it is seeded from, and so on, up to where something is wrong that does not concern it.

    Raises ``ConfigError`` (``seed_cycle``) for one that comes back to itself, and what is wrong with its own source.
    """
    own = profile.name
    chain = [own]
    while profile.seed_from is not None:
        place = profile.places.get(("seed_from",))
        at = {"path": place.path, "line": place.line, "column": place.column} if place else {"path": profile.path}
        if profile.seed_from in chain and profile.seed_from != own:
            break
        if profile.seed_from == own:
            circle = " -> ".join([*chain, own])
            message = f"the profiles are seeded from each other in a circle: {circle}"
            hint = "None of these is seeded. Remove one 'seed_from' of the circle."
            raise ConfigError(message, code="seed_cycle", key="seed_from", hint=hint, **at)
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


def _circle(known: Callable[[str], Profile], profile: Profile) -> set[str]:
    """The profiles of a circle, by one of them."""
    circle: set[str] = set()
    while profile.name not in circle and profile.seed_from is not None:
        circle.add(profile.name)
        profile = known(profile.seed_from)
    return circle


class _Planning:
    """One plan in the making."""

    def __init__(
        self,
        workspace: Workspace,
        asked: Asked,
        *,
        every_entry: bool,
        profiles: Mapping[str, Profile] | None = None,
    ) -> None:
        self.workspace = workspace
        self.asked = asked
        self.every_entry = every_entry
        self.known = _remembered(workspace, profiles)
        self.acting = refuse_bounded(workspace, asked.actor)
        self.source = self.known(asked.source)
        self.profiles = {name: self.known(name) for name in asked.targets}
        self.only = TARGETS if asked.only is None else (asked.only,)
        self._refuse()
        self.file = SeedFile(workspace.root)
        self.lock = self.file.read()
        self.records: dict[str, list[Record]] = {}
        for record in self.lock[1].records.values():
            self.records.setdefault(record.target, []).append(record)
        self.read: dict[str, Snapshot] = {}
        self.parts: dict[str, Parts] = {}
        self.starved: list[str] = []

    def _refuse(self) -> None:
        """Raise for what makes the whole seed wrong."""
        if not self.profiles:
            raise ConfigError("no target is named", code="seed_target", hint="Name one or more profiles.")
        if self.source.name in self.profiles:
            raise ConfigError(
                f"{self.source.name} cannot be seeded from itself",
                code="seed_target",
                hint="Nothing was seeded. Name other profiles as targets.",
            )
        config = self.workspace.config
        homes = {memory_dir(self.source, config): self.source.name}
        for profile in self.profiles.values():
            _chain(self.known, profile)
            other = homes.setdefault(memory_dir(profile, config), profile.name)
            if other != profile.name:
                raise ConfigError(
                    f"{profile.name} keeps its memory in the same folder as {other}",
                    code="seed_target",
                    path=profile.path,
                    hint="Nothing was seeded. Give it a memory_dir of its own.",
                )

    def plan(self) -> SeedPlan:
        """The plan of all files."""
        files: list[FilePlan] = []
        refused: list[Refusal] = []
        for target, (offered, snapshot) in self.offers().items():
            self._refuse_emptied(target, offered)
            self.read[f"{self.source.name}/{target}"] = snapshot
            for name, profile in self.profiles.items():
                entity = f"{name}/{target}"
                try:
                    found = self._file(profile, target, offered)
                except CatmemError as error:
                    refused.append(Refusal(entity, error))
                else:
                    files += [] if found is None else [found]
        order, warnings = list(self.asked.targets), self._about_files(files)
        return SeedPlan(
            source=self.source.name,
            targets=self.asked.targets,
            as_of=self.asked.as_of,
            files=tuple(sorted(files, key=lambda each: order.index(each.target.partition("/")[0]))),
            refused=tuple(refused),
            notes=(*self._about_lock(files), *warnings),
            warnings=warnings,
            starved=tuple(self.starved),
            basis=Basis(self.asked, self.parts, *self.lock, self.read, self._clocks(files)),
        )

    def _clocks(self, files: Iterable[FilePlan]) -> dict[str, Mapping[str, list[str]]]:
        """How old the entries without a date of their own are, by target: a copy is as old as what it is a copy of."""
        clocks: dict[str, Mapping[str, list[str]]] = {}
        changed = [each for each in files if each.changes]
        for source in {each.source for each in changed}:
            targets = [each.target for each in changed if each.source == source]
            document = self.parts[targets[0]].offered.document
            undated = [entry for entry in document.entries if not any(key in entry.tags for key in DATED_BY)]
            readers = [self.workspace.profile(target.partition("/")[0]) for target in targets]
            found = clocks_of(self.workspace, source, document, undated, readers) if undated else []
            clocks |= zip(targets, found, strict=False)
        return clocks

    def offers(self) -> dict[str, tuple[Offer, Snapshot]]:
        """What the source has to give, by target. Raises ``UnknownNameError`` for a category that nobody knows."""
        offers = {target: self._offer(target) for target in self.only}
        self._refuse_unknown({target: offered for target, (offered, _) in offers.items()})
        return offers

    def _refuse_unknown(self, offers: Mapping[str, Offer]) -> None:
        """Raise ``UnknownNameError`` for a category that is nowhere: not declared, named, in the source or on record.

        One that the actor may not see is not known to it.
        """
        known: set[str] = set()
        taxonomy = self.workspace.config.taxonomy
        for target, offered in offers.items():
            there = {*taxonomy.declared().values(), *(each.version.category for each in offered.entries)}
            for record in self.lock[1].records.values():
                if record.source == f"{self.source.name}/{target}":
                    there.update(each.category for each in record.entries)
            for profile in (self.source, *self.profiles.values()):
                named = profile.selectors(target, taxonomy).patterns
                there.update(taxonomy.aliases.get(each, each) for each in named if each == slugify(each))
            rights = Rights(self.acting, target, taxonomy)
            known.update(filter(rights.may_see, there))
        unknown = [each for each in self.asked.categories or () if each not in known]
        if unknown:
            near = nearest(unknown[0], known)
            meant = f"Did you mean {near!r}? " if near else ""
            raise UnknownNameError(
                f"there is no category {shown(unknown[0])} to seed from {self.source.name}",
                code="unknown_category",
                hint=f"Nothing was seeded. {meant}The categories are {_few(sorted(known), _LISTED)}.",
            )

    def _offer(self, target: str) -> tuple[Offer, Snapshot]:
        """What the source has to give of one of its files."""
        workspace, entity = self.workspace, f"{self.source.name}/{target}"
        reading = workspace.store.read(entity)
        path = workspace.path(self.source.name, target)
        try:
            document = workspace.parse(reading.data)
        except CatmemError as error:
            error.path = str(path)
            error.hint = f"Nothing was seeded. {error.hint}"
            raise
        refuse_unmerged(workspace, entity, document.text)
        offered = offer(document, target, self.source, workspace.config.taxonomy, as_of=self.asked.as_of)
        return offered, reading

    def _refuse_emptied(self, target: str, offered: Offer) -> None:
        """Raise for a source whose entries are gone, or their categories, and were seeded: most likely a loss."""
        is_flat = _is_flat(offered)
        if offered.document.entries and not is_flat:
            return
        source = f"{self.source.name}/{target}"
        seeded = [
            record.target
            for record in self.lock[1].records.values()
            if record.source == source and any(not is_flat or each.category != UNCATEGORIZED for each in record.entries)
        ]
        if any(entity.partition("/")[0] in self.profiles for entity in seeded):
            raise UnreadableError(
                "has no category any more, and entries of categories were seeded from it"
                if is_flat
                else "is missing or empty, and entries were seeded from it",
                code="source_empty",
                path=self.workspace.path(self.source.name, target),
                hint=f"Nothing was seeded, and nothing was removed. Bring it back: catmem log {source}, then catmem "
                f"restore {source} REVISION. If it is meant, leave one entry in {'a category' if is_flat else 'it'}, "
                "or remove catmem.seed.lock.",
            )

    def _file(self, profile: Profile, target: str, offered: Offer) -> FilePlan | None:
        """The plan of one file; ``None`` if there is nothing to say of it."""
        entity, source = f"{profile.name}/{target}", f"{self.source.name}/{target}"
        record = self.lock[1].records.get((entity, source))
        base = None if record is None else tuple(filter(self._is_asked, record.entries))
        parts = Parts(
            entity,
            source,
            offered,
            self.slice_of(profile, target, offered),
            base,
            self._held(entity, source),
            () if record is None else tuple(each for each in record.entries if not self._is_asked(each)),
        )
        self.parts[entity] = parts
        if not parts.slice and _is_flat(offered) and profile.selectors(target, self.workspace.config.taxonomy).patterns:
            self.starved.append(entity)
        if record is None and not parts.slice:
            return None
        data = self.workspace.bytes_of(profile, target)
        _refuse_unfit(self.workspace, entity, data)
        if data and not self.every_entry and is_settled(parts):
            return FilePlan(entity, source, "", "", () if record is None else record.entries, withheld=left_out(parts))
        plan = plan_file(parts, legible(self.workspace.parse, entity, data), resolve=self.asked.resolve)
        refuse_too_long(self.workspace, profile, plan, self.asked.as_of)
        return plan

    def slice_of(self, profile: Profile, target: str, offered: Offer) -> tuple[Offered, ...]:
        """What a profile is to have of an offer, of the categories that are asked for."""
        whole = sliced(offered, target, profile, self.workspace.config.taxonomy)
        return whole if self.asked.categories is None else tuple(filter(self._is_asked, whole))

    def _is_asked(self, each: Offered | Seeded) -> bool:
        return self.asked.categories is None or each.key[0] in self.asked.categories

    def _held(self, entity: str, source: str) -> frozenset[tuple[str, str]]:
        """What other sources seeded into the same file."""
        others = (record for record in self.records.get(entity, ()) if record.source != source)
        return frozenset(each.key for record in others for each in record.entries)

    def _about_lock(self, files: Iterable[FilePlan]) -> list[str]:
        """What to know of the lock: what is not whole in it, and where a seed can only add."""
        data, lock = self.lock
        notes = [f"{LOCK_NAME} {note}" for note in lock.notes]
        blind = [each.target for each in files if not each.is_known and each.before.strip()]
        if blind and (lock.notes or not data):
            notes.append(
                f"nothing is on record of an earlier seed of {_few(blind)}: entries are added and none is taken away"
            )
        return notes

    def _about_files(self, files: Iterable[FilePlan]) -> tuple[str, ...]:
        """What leaves a prompt, and what nobody gets."""
        notes = [on_hidden(self.workspace, each) for each in files]
        notes += [_on_doubles(each) for each in files if each.doubles]
        notes += [_on_starved(self.source.name, self.starved)] if self.starved else []
        notes += [self._on_unread(each) for each in self.asked.categories or ()]
        return tuple(note for note in notes if note is not None)

    def _on_unread(self, category: str) -> str | None:
        """What to know of a category that is asked for and that some of the targets do not read."""
        taxonomy = self.workspace.config.taxonomy
        names = [
            name
            for name, profile in self.profiles.items()
            if not any(is_named(category, target, profile, taxonomy) for target in self.only)
        ]
        return f"{_few(names)} gets nothing of {category}: the profile does not name it" if names else None


def _on_doubles(plan: FilePlan) -> str:
    """What to know of entries that look like the target's own; it shows no text, since not everybody may see that."""
    places = ", ".join(dict.fromkeys(plan.doubles))
    many = "an entry" if len(plan.doubles) == 1 else f"{len(plan.doubles)} entries"
    return f"{plan.target}: {many} for {places} may say what the file says already in other words: keep one"


def _on_starved(source: str, files: Sequence[str]) -> str:
    """What to do about a source from whose entries nothing can be chosen."""
    targets = dict.fromkeys(each.partition("/")[2] for each in files)
    kept = " and ".join(f"{source}/{target}" for target in targets)
    return (
        f"no entry of {kept} has a category, so nothing of it goes to {_few(files)}: give each entry one with catmem "
        f"move -p {source} TEXT -c CATEGORY, or set include_uncategorized: true in the profile that is to have them all"
    )


def _is_flat(offered: Offer) -> bool:
    """Whether there are entries, and none of them has a category."""
    return bool(offered.entries) and all(each.version.category == UNCATEGORIZED for each in offered.entries)


def _few(names: Sequence[str], most: int = _NAMED) -> str:
    """Some of the names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def on_hidden(workspace: Workspace, plan: FilePlan) -> str | None:
    """What to know of a flat file whose own entries leave its profile's prompt, since a seed gives it sections."""
    if not (plan.changes and plan.before.strip()):
        return None
    name, _, target = plan.target.partition("/")
    before, after = workspace.parse(plan.before), workspace.parse(plan.after)
    count = hidden_by_sections(before, after, target, workspace.profile(name), workspace.config.taxonomy)
    if not count:
        return None
    entries = "the entry" if count == 1 else f"the {count:,} entries"
    return (
        f"{plan.target} gets its first section, and that takes {entries} without a category out of the prompt of "
        f"{name}: catmem move -p {name} -t {target} TEXT -c CATEGORY gives one a category, include_uncategorized: true "
        "in its profile shows all"
    )


def _refuse_unfit(workspace: Workspace, entity: str, data: bytes) -> None:
    """Raise ``DriftError`` for a target that is no text, or that git left in the middle of a merge.

    A file in which nothing is to change is looked at no closer than that.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        legible(workspace.parse, entity, data)  # which says what is wrong, and where
        raise
    refuse_unmerged(workspace, entity, text)


def refuse_unmerged(workspace: Workspace, entity: str, text: str) -> None:
    """Raise ``DriftError`` (``unmerged``) for a source or a target in which git left its conflict markers."""
    marker = conflict_at(text)
    if marker is None:
        return
    error = DriftError(
        f"{entity} holds git's conflict markers",
        code="unmerged",
        path=workspace.path(*entity.split("/")),
        hint="Nothing was seeded from it or to it. Keep one version, take the marker lines out, and seed again.",
    )
    error.line = text.count("\n", 0, marker) + 1
    raise error


def refuse_too_long(workspace: Workspace, profile: Profile, plan: FilePlan, as_of: date) -> None:
    """Raise ``OverBudgetError`` if a seed would put a file of ``profile`` over its limit, or further over it."""
    target, config = plan.target.partition("/")[2], workspace.config
    most, size = DEFAULT_LIMITS.file_bytes, len(plan.after.encode())
    if size > most and plan.changes:
        raise EditError(
            f"{plan.target} would have {size:,} bytes, and catmem reads {most:,} at most",
            code="too_large",
            hint="Nothing was written to it. Remove or shorten entries there or in the source.",
        )
    limit = limit_of(profile, target, config)
    before, after = size_of(plan.before), size_of(plan.after)
    if limit is None or after <= max(limit, before):
        return
    document = workspace.parse(plan.after)
    named = could_go(document.entries, profile, config, as_of, to_agent=False)
    error = over_budget(plan.target, before, after, limit, _enough(named, after - limit))
    error.hint = "Nothing was written to it. Remove or shorten entries there or in the source, or raise its limit."
    raise error


def _enough(named: Sequence[dict[str, Any]], over: int) -> list[dict[str, Any]]:
    """The first entries that would have to go for the file to fit."""
    chosen: list[dict[str, Any]] = []
    for each in named:
        if over <= 0:
            break
        chosen.append(each)
        over -= each["size"]
    return chosen
