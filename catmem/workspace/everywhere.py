"""Reports on all profiles of a root: their entries, how they stand, who may read and write what, how long prompts are.

What is not right, or cannot be read, is named among the problems, and hides none of the others.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fnmatch import fnmatchcase
from typing import Any, Generic, NamedTuple, TypeVar

from catmem import clock
from catmem.config.json_schema import nearest, shown, suggestion
from catmem.config.profile import Profile, named_entities
from catmem.config.rights_table import FileCategory, Fleet, Reason, fleet_of, reasons
from catmem.config.selector import is_pattern
from catmem.entities.contents import content_of
from catmem.errors import CatmemError, UnknownNameError, UnreadableError
from catmem.jsonable import jsonable
from catmem.model.document import Document
from catmem.names import TARGETS, UNCATEGORIZED, slugify
from catmem.prompt.sizes import Sizes, WholeSizes, measure, total
from catmem.proposals.proposal import ProposalReader
from catmem.staleness.freshness import freshness
from catmem.store.contract import revision_number
from catmem.workspace.profile_memory import missing_of, read_document
from catmem.workspace.root import Root, agent_names, load_each
from catmem.workspace.seen_entry import SeenEntry

E = TypeVar("E", bound=SeenEntry)


class SharedEntry(NamedTuple, Generic[E]):
    """An entry, and where else a file has the same words in the same category: seeded copies, as a rule."""

    entry: E
    copies: tuple[E, ...]

    def __json__(self) -> dict[str, Any]:
        """The entry as JSON-ready data, with its ``entity`` and its ``copies``."""
        copies = [{"entity": each.entity, "line": each.line, "id": each.entry.id} for each in self.copies]
        return {"entity": self.entry.entity, **jsonable(self.entry), "copies": copies}


def folded(entries: Iterable[E]) -> list[SharedEntry[E]]:
    """Each of the entries once, in the order in which they come."""
    groups: dict[tuple[str, str], list[E]] = {}
    for each in entries:
        groups.setdefault((each.entry.category, each.entry.body), []).append(each)
    return [SharedEntry(first, tuple(others)) for first, *others in groups.values()]


def documents_of(
    workspace: Root, profile: Profile, targets: Iterable[str] = TARGETS, *, every: bool = False
) -> tuple[dict[str, Document], list[CatmemError]]:
    """The files of a profile that can be read, by target (a missing file is an empty one), and why others cannot."""
    documents: dict[str, Document] = {}
    problems: list[CatmemError] = []
    for target in targets:
        try:
            documents[target] = read_document(workspace, profile, target)
        except CatmemError as error:
            problems.append(error)
            if not every and not isinstance(error, UnreadableError):
                break  # the profile's folder is not right, which is one problem and not two
    return documents, problems


def walk(
    workspace: Root, targets: Iterable[str] = TARGETS, *, every: bool = False
) -> tuple[list[Profile], dict[str, tuple[Profile, Document]], list[CatmemError]]:
    """The profiles of a root, their files by entity, and what could not be looked at."""
    profiles, problems = load_each(workspace)
    files: dict[str, tuple[Profile, Document]] = {}
    for profile in profiles:
        documents, wrong = documents_of(workspace, profile, targets, every=every)
        files |= {f"{profile.name}/{target}": (profile, document) for target, document in documents.items()}
        problems += wrong
    return profiles, files, problems


def list_everywhere(
    workspace: Root, *, target: str | None = None, category: str | None = None, as_of: date | None = None
) -> tuple[list[SeenEntry], list[CatmemError], dict[str, str]]:
    """The entries of all profiles' files, hidden ones too; what could not be read; the digests of the files."""
    _, files, unreadable = walk(workspace, TARGETS if target is None else (target,), every=True)
    config, day = workspace.config, as_of or clock.today()
    wanted = None if category is None else config.taxonomy.category(category)
    found = [
        SeenEntry(name, document.line(entry.start), entry, freshness(entry, profile, config, as_of=day))
        for name, (profile, document) in files.items()
        for entry in document.entries
        if wanted in {None, entry.category}
    ]
    return found, unreadable, {name: document.digest for name, (_, document) in files.items()}


class EntityStatus(NamedTuple):
    """How one entity stands; ``waiting_for`` is for how many seconds its oldest proposal waits."""

    entity: str
    head: int
    entries: int
    stale: int
    expired: int
    unverified: int
    drifted: bool
    unmerged: int
    waiting: int
    waiting_for: float


@dataclass(frozen=True, slots=True)
class Survey:
    """How a root stands; nothing is known of the entities that are ``unreadable``."""

    standings: tuple[EntityStatus, ...]
    unreadable: tuple[str, ...]
    begun: datetime
    seconds: float

    def __json__(self) -> dict[str, Any]:
        said = {"entities": self.standings, "unreadable": self.unreadable}
        return {**said, "begun": self.begun, "seconds": round(self.seconds, 6)}


def survey(workspace: Root, *, as_of: date | None = None) -> Survey:
    """Look over all entities of a root, with configuration and profiles as they are now."""
    begun, started = clock.now(), time.perf_counter()
    day = clock.today() if as_of is None else as_of
    standings: list[EntityStatus] = []
    unreadable: list[str] = []
    with workspace.anew() as now:
        profiles = {profile.name: profile for profile in load_each(now)[0]}
        agents = {*agent_names(now), *now.config.entities}
        for entity in named_entities(now.config):
            if entity.partition("/")[0] not in agents:
                continue  # a mere base of other profiles
            try:
                standings.append(_standing(now, profiles, entity, day))
            except (CatmemError, OSError, KeyError):
                unreadable.append(entity)
    return Survey(tuple(standings), tuple(unreadable), begun, time.perf_counter() - started)


def damages(workspace: Root) -> int:
    """How many damages the stores find in themselves, by a look at every byte; one that cannot look is one."""
    with workspace.anew() as now:
        try:
            return sum(fault.damage for fault in now.store.verify())
        except (CatmemError, OSError):
            return 1


def _standing(workspace: Root, profiles: Mapping[str, Profile], entity: str, as_of: date) -> EntityStatus:
    # The head comes first: what is read after it may be newer, and is no drift for that.
    tips = workspace.store.branches(entity)
    now = workspace.store.read(entity)
    states: Counter[str] = Counter()
    waiting: list[str] = []
    declared = workspace.config.entities.get(entity)
    if declared is None:
        profile, entries = profiles[entity.partition("/")[0]], workspace.parse(now.data).entries
        waiting = [each.timestamp for each in ProposalReader(workspace, entity).open() if each.is_open]
        states.update(freshness(entry, profile, workspace.config, as_of=as_of).state for entry in entries)
    else:
        content_of(declared, now.data)
    head = next((tip for tip in tips if not tip.is_branch), None)
    return EntityStatus(
        entity=entity,
        head=0 if head is None else revision_number(head.revision),
        entries=states.total(),
        stale=states["stale"],
        expired=states["expired"],
        unverified=states["unverified"],
        drifted=head is not None and now.revision is None,
        unmerged=sum(tip.is_branch and not tip.is_proposal for tip in tips),
        waiting=len(waiting),
        waiting_for=(clock.now() - datetime.fromisoformat(min(waiting))).total_seconds() if waiting else 0,
    )


@dataclass(frozen=True, slots=True)
class Access:
    """Who reads and may write what in a root: of these ``profiles`` and ``categories``.

    ``problems`` could not be looked at; ``notes`` are on categories that nothing names.
    """

    fleet: Fleet
    problems: tuple[CatmemError, ...]
    profiles: tuple[Profile, ...]
    categories: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __json__(self) -> dict[str, Any]:
        orphans = [orphan._asdict() | {"readers": list(orphan.readers)} for orphan in self.fleet.orphans()]
        return {
            "profiles": [
                {"profile": each.name, "tier": each.tier, "may_verify": each.verifies} for each in self.profiles
            ],
            "matrix": [self._row(category) for category in self.categories],
            "orphans": orphans,
        }

    def _row(self, category: str) -> dict[str, Any]:
        fleet = self.fleet
        cells = {each.name: fleet.cells[category][each.name] for each in self.profiles}
        return {
            "category": category,
            "declared": fleet.is_declared(category) or category == UNCATEGORIZED,
            "entries": fleet.count(category),
            "reads_user": [name for name, cell in cells.items() if cell.user],
            "reads_memory": [name for name, cell in cells.items() if cell.memory],
            "writes": [name for name, cell in cells.items() if cell.write],
            "drops": [name for name, cell in cells.items() if cell.mark() == "d"],
        }


class AccessExplanation(NamedTuple):
    """Why a profile may do something in a category. ``entries`` are those of its own files, by target."""

    profile: str
    category: str
    declared: bool
    entries: dict[str, int]
    reasons: tuple[Reason, ...]
    note: str | None
    problems: tuple[CatmemError, ...]

    @property
    def __json__(self) -> str:
        return "profile category declared entries answers=reasons problems"


def read_access(workspace: Root, names: Sequence[str] = (), wanted: Sequence[str] = ()) -> Access:
    """Who reads and may write what, over all files of a root; of some profiles, and of some categories or patterns."""
    profiles, files, problems = walk(workspace)
    # A copy that was seeded is the fact of its source, and two profiles may share a folder.
    held = {
        (FileCategory(entry.category, name.partition("/")[2]), entry.body)
        for name, (_, document) in files.items()
        for entry in document.entries
    }
    taxonomy = workspace.config.taxonomy
    fleet = fleet_of(profiles, taxonomy, Counter(each for each, _ in held))
    for name in {*names} - {each.name for each in profiles}:
        workspace.profile(name)  # says why it is not there
    chosen: set[str] = set()
    notes: list[str] = []
    for each in wanted:
        slug = each if is_pattern(each) else taxonomy.category(each)
        found = {category for category in fleet.categories if fnmatchcase(category, slug)}
        notes += [] if found else [unknown_category(each, fleet)]
        chosen |= found
    return Access(
        fleet,
        tuple(problems),
        tuple(each for each in fleet.profiles if not names or each.name in names),
        tuple(category for category in fleet.categories if not wanted or category in chosen),
        tuple(notes),
    )


def explain(workspace: Root, name: str, category: str) -> AccessExplanation:
    """Why a profile may read, write and verify a category (its slug, title or an alias), or may not."""
    config, note = workspace.config, None
    profile = workspace.profile(name)
    slug = config.taxonomy.category(category)
    declared = config.taxonomy.named(slug) is not None
    if not declared and slug not in (fleet := read_access(workspace).fleet).categories:
        note = unknown_category(category, fleet)
    documents, problems = documents_of(workspace, profile)
    return AccessExplanation(
        profile=profile.name,
        category=slug,
        declared=declared,
        entries={target: len(found.by_category.get(slug, ())) for target, found in documents.items()},
        reasons=reasons(profile, slug, config.taxonomy),
        note=note,
        problems=tuple(problems),
    )


def unknown_category(category: str, fleet: Fleet) -> str:
    """What to tell a person who names a category that no profile names and no file has."""
    known = fleet.categories
    if fleet.taxonomy.closed or not slugify(category):
        raise UnknownNameError(
            f"there is no category {shown(category)} in this root",
            hint=suggestion(slugify(category), known, "categories"),
        )
    near = nearest(slugify(category), known)
    return f"No profile names the category {shown(category)} and no file has it yet." + (
        f" Did you mean {near!r}?" if near else ""
    )


# --- how long prompts are ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measured:
    """The prompt of one profile from the files of ``owner``; ``missing`` names the targets that have no file."""

    profile: str
    tier: int
    style: str
    owner: str
    seed_from: str | None
    missing: tuple[str, ...]
    sizes: Sizes
    __json__ = "profile tier style owner seed_from missing *sizes"


@dataclass(frozen=True, slots=True)
class Stats:
    """The prompts of some profiles by tier and name. ``problems`` are the profiles and files that are left out."""

    as_of: date
    source: str | None
    profiles: tuple[Measured, ...]
    problems: tuple[CatmemError, ...]
    __json__ = "as_of source profiles total problems"

    @property
    def total(self) -> Sizes:
        """All of them together."""
        return total(measured.sizes for measured in self.profiles)


def read_stats(
    workspace: Root, names: tuple[str, ...] = (), *, source: str | None = None, as_of: date | None = None
) -> Stats:
    """The sizes of the prompts of all profiles, or of those named, from their own files or from those of ``source``."""
    day = as_of or clock.today()
    chosen = dict.fromkeys(names)
    every, problems = load_each(workspace)
    profiles, problems = ([workspace.profile(name) for name in chosen], []) if names else (every, problems)
    given = None if source is None else workspace.profile(source)
    sources = {} if given else {each.name: each for each in every}
    read: dict[str, WholeSizes | None] = {}

    def whole_of(owner: Profile) -> WholeSizes | None:
        if owner.name not in read:
            documents, wrong = documents_of(workspace, owner)
            if wrong and given:
                raise wrong[0]
            problems.extend(wrong)
            read[owner.name] = None if wrong else WholeSizes(owner, documents, workspace.config, day)
        return read[owner.name]

    measured: list[Measured] = []
    for profile in sorted(profiles, key=lambda each: (each.tier, each.name)):
        whole = whole_of(given or profile)
        if whole is not None:
            above = sources.get(profile.seed_from or "") if whole.entries else None
            both = (whole, whole_of(above) if above else None)
            beside = max(filter(None, both), key=lambda each: each.flat.characters)
            owner = given or profile
            texts = {target: document.text for target, document in whole.documents.items()}
            missing = missing_of(texts, {target: workspace.path_of(owner, target) for target in TARGETS})
            said = profile.name, profile.tier, profile.prompt.style, owner.name, profile.seed_from, missing
            measured.append(Measured(*said, measure(whole, profile, beside)))
    return Stats(day, source, tuple(measured), tuple(problems))
