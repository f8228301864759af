"""Reports on all profiles of a root: their entries, how they stand, who may read and write what, how long prompts are.

All start from one walk, which reads each file once. What is not right, or cannot be read, is named among the problems,
and hides none of the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from catmem import clock
from catmem.config.access import Rights, known_categories, meant_category, visible_categories
from catmem.config.config import Selectors, Taxonomy
from catmem.config.json_schema import nearest, shown, suggestion
from catmem.config.profile import ORCHESTRATOR_TIER, SELECTOR_KEYS, Profile, where_set
from catmem.config.yamlfile import KeyPath, key_text
from catmem.errors import CatmemError, UnknownNameError
from catmem.jsonable import jsonable
from catmem.model.document import Document
from catmem.names import TARGETS, UNCATEGORIZED, parts_of, slugify
from catmem.staleness.freshness import freshness
from catmem.store.contract import revision_number
from catmem.workspace.profile_memory import document_in, list_documents, missing_of
from catmem.workspace.root import Root, agent_names, collect_errors, load_each
from catmem.workspace.seen_entry import SeenEntry
from catmem.workspace.stores import places

if TYPE_CHECKING:  # a list, which this module makes too, needs none of what they load
    from catmem.prompt.sizes import Sizes, WholeSizes

E = TypeVar("E", bound=SeenEntry)


# --- the walk ------------------------------------------------------------------------------------------------------


class ProfileFiles(NamedTuple):
    """The files of a profile at one moment: where they are, the bytes of those that can be read, what is wrong."""

    profile: Profile
    paths: Mapping[str, Path]
    texts: Mapping[str, bytes]
    problems: tuple[CatmemError, ...]

    def documents(self, workspace: Root) -> tuple[dict[str, Document], list[CatmemError]]:
        """What they say, by target (a missing file is an empty one), and why others cannot be read."""
        documents: dict[str, Document] = {}
        problems = [*self.problems]
        for target, data in self.texts.items():
            with collect_errors(problems):
                documents[target] = document_in(workspace, self.profile, target, data, self.paths[target])
        return documents, problems


def files_of(workspace: Root, profile: Profile, targets: Iterable[str] = TARGETS) -> ProfileFiles:
    """The files of a profile as they are now. A folder that is not right is one problem and not two."""
    try:
        paths = places(workspace.config, profile)
    except CatmemError as error:
        return ProfileFiles(profile, {}, {}, (error,))
    texts: dict[str, bytes] = {}
    problems: list[CatmemError] = []
    for target in targets:
        with collect_errors(problems):
            texts[target] = workspace.bytes_of(profile, target, paths[target])
    return ProfileFiles(profile, paths, texts, tuple(problems))


# --- all entries ---------------------------------------------------------------------------------------------------


class SharedEntry(NamedTuple, Generic[E]):
    """An entry, and where else a file has the same words in the same category: seeded copies, as a rule."""

    entry: E
    copies: tuple[E, ...]

    def __json__(self) -> dict[str, Any]:
        """The entry as JSON-ready data, with its ``entity`` and its ``copies``."""
        copies = [{"entity": each.entity, "line": each.line, "id": each.entry.id} for each in self.copies]
        return {"entity": self.entry.entity, **jsonable(self.entry), "copies": copies}


def folded(entries: Iterable[E], profiles: Sequence[Profile]) -> list[SharedEntry[E]]:
    """Each of the entries once, by profile: of some ``profiles`` by tier and name, after those they are seeded from."""
    known = {profile.name: profile for profile in sorted(profiles, key=lambda each: (each.tier, each.name))}
    order: dict[str, None] = {}
    for name in known:
        chain = [name]
        while (source := known[chain[-1]].seed_from) in known and source not in chain:
            chain.append(source)
        order |= dict.fromkeys(reversed(chain))
    places = {name: place for place, name in enumerate(order)}
    groups: dict[tuple[str, str], list[E]] = {}
    for each in sorted(entries, key=lambda each: places.get(parts_of(each.entity).owner, len(places))):
        groups.setdefault((each.entry.category, each.entry.body), []).append(each)
    return [SharedEntry(first, tuple(others)) for first, *others in groups.values()]


def list_everywhere(
    workspace: Root, *, target: str | None = None, category: str | None = None, as_of: date | None = None
) -> tuple[list[SeenEntry], list[CatmemError], dict[str, str]]:
    """The entries of all profiles' files, hidden ones too; what could not be read; the digests of the files."""
    profiles, unreadable = load_each(workspace)
    found: list[SeenEntry] = []
    digests: dict[str, str] = {}
    for profile in profiles:
        documents, wrong = files_of(workspace, profile, TARGETS if target is None else (target,)).documents(workspace)
        unreadable += wrong
        digests |= {f"{profile.name}/{each}": document.digest for each, document in documents.items()}
        found += list_documents(workspace, profile, documents, category=category, as_of=as_of, whole=True)
    return found, unreadable, digests


# --- how the entities stand ----------------------------------------------------------------------------------------


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


def survey(workspace: Root, *, as_of: date | None = None) -> tuple[list[EntityStatus], list[str]]:
    """How each entity of a root stands, with configuration and profiles as they are now; and those that are unknown."""
    day = clock.day(as_of)
    standings: list[EntityStatus] = []
    unreadable: list[str] = []
    with workspace.anew() as now:
        profiles = {profile.name: profile for profile in load_each(now)[0]}
        files = [f"{name}/{target}" for name in agent_names(now) for target in TARGETS]
        for entity in (*files, *now.config.entities):
            try:
                standings.append(_standing(now, profiles, entity, day))
            except (CatmemError, OSError, KeyError):
                unreadable.append(entity)
    return standings, unreadable


def _standing(workspace: Root, profiles: Mapping[str, Profile], entity: str, as_of: date) -> EntityStatus:
    from catmem.entities.contents import content_of

    # The head comes first: what is read after it may be newer, and is no drift for that.
    tips = workspace.store.branches(entity)
    now = workspace.store.read(entity)
    states: Counter[str] = Counter()
    waiting: list[str] = []
    declared = workspace.config.entities.get(entity)
    if declared is None:
        profile, entries = profiles[parts_of(entity).owner], workspace.parse(now.data).entries
        waiting = [each.timestamp for each in tips if each.is_proposal]
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
    """The prompts of all profiles by tier and name. ``problems`` are the profiles and files that are left out."""

    as_of: date
    source: str | None
    profiles: tuple[Measured, ...]
    problems: tuple[CatmemError, ...]
    __json__ = "as_of source profiles total problems"

    @property
    def total(self) -> Sizes:
        """All of them together."""
        from catmem.prompt.sizes import total

        return total(measured.sizes for measured in self.profiles)


def read_stats(workspace: Root, *, source: str | None = None, as_of: date | None = None) -> Stats:
    """The sizes of the prompts of all profiles, from their own files or from those of ``source``."""
    from catmem.prompt.sizes import WholeSizes, measure

    day = clock.day(as_of)
    profiles, problems = load_each(workspace)
    profiles.sort(key=lambda each: (each.tier, each.name))
    given = None if source is None else workspace.profile(source)
    read: dict[str, tuple[WholeSizes, tuple[str, ...]]] = {}
    for owner in [given] if given else profiles:
        files = files_of(workspace, owner)
        documents, wrong = files.documents(workspace)
        if wrong and given:
            raise wrong[0]
        problems += wrong
        if not wrong:
            whole = WholeSizes(owner, documents, workspace.config, day)
            read[owner.name] = whole, missing_of(files.texts, files.paths)
    measured: list[Measured] = []
    for profile in profiles:
        owner = given or profile
        if owner.name not in read:
            continue
        whole, missing = read[owner.name]
        above, _ = read.get(profile.seed_from or "", (whole, ())) if whole.entries and not given else (whole, ())
        said = profile.name, profile.tier, profile.prompt.style, owner.name, profile.seed_from, missing
        beside = max(whole, above, key=lambda each: each.flat.characters)
        measured.append(Measured(*said, measure(whole, profile, beside)))
    return Stats(day, source, tuple(measured), tuple(problems))


# --- who reads and who may write which category --------------------------------------------------------------------
# Nothing is decided here: the answers are those of `visible_categories` and `Rights`, which prompts and writes get.


@dataclass(frozen=True, slots=True)
class CategoryAccess:
    """What one profile may do in one category: read it in either file, and write it in both."""

    user: bool
    memory: bool
    write: bool

    def reads(self, target: str | None = None) -> bool:
        """Whether the profile reads the category in a target; without one, in either."""
        return (self.user and target != "memory") or (self.memory and target != "user")

    def mark(self, target: str | None = None) -> str:
        """``r`` reads, ``rw`` reads and may write, ``d`` may write and not read, ``.`` neither."""
        if not self.reads(target):
            return "d" if self.write else "."
        return "rw" if self.write else "r"


class Orphan(NamedTuple):
    """A category that no specialist reads; with a ``target`` only its entries there are meant."""

    category: str
    target: str | None
    entries: int
    declared: bool
    readers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fleet:
    """The profiles of a root by tier and name, the categories, and what each may do in each.

    ``entries`` counts those in the files, by category and target. ``asked`` are the profiles that a report is on,
    ``problems`` what could not be looked at.
    """

    profiles: tuple[Profile, ...]
    categories: tuple[str, ...]
    taxonomy: Taxonomy
    entries: Mapping[tuple[str, str], int]
    cells: Mapping[str, Mapping[str, CategoryAccess]] = field(repr=False)
    asked: tuple[Profile, ...] = ()
    problems: tuple[CatmemError, ...] = ()

    def is_declared(self, category: str) -> bool:
        """Whether the taxonomy declares the category."""
        return category in self.taxonomy.categories

    def count(self, category: str, target: str | None = None) -> int:
        """How many entries of a category are in the files, or in those of one target."""
        return sum(self.entries.get((category, each), 0) for each in (TARGETS if target is None else (target,)))

    def orphans(self) -> list[Orphan]:
        """What is declared or has entries, and is read by no profile or tier 1 only, in the order of the categories."""
        return [orphan for category in self.categories for orphan in self._orphans(category)]

    def slips(self) -> dict[str, str]:
        """What has entries and is neither declared nor named by a profile, with the known category that it is like."""
        known = known_categories(self.profiles, self.taxonomy)
        meant = {each: meant_category(each, known) for each in self.categories if self.count(each)}
        return {each: near for each, near in meant.items() if near is not None}

    def _orphans(self, category: str) -> Iterator[Orphan]:
        declared, everywhere = self.is_declared(category), self._readers(category, None)
        # Read from one file, a category may still have entries in the other, where no profile looks.
        for target in (None, *TARGETS):
            count, readers = self.count(category, target), self._readers(category, target)
            if any(reader.tier != ORCHESTRATOR_TIER for reader in readers):
                continue
            if target is None:
                wanted = category != UNCATEGORIZED and (declared or count)
            else:
                wanted = count and (category == UNCATEGORIZED or readers != everywhere)
            if wanted:
                yield Orphan(category, target, count, declared, tuple(reader.name for reader in readers))

    def _readers(self, category: str, target: str | None) -> tuple[Profile, ...]:
        cells = self.cells[category]
        return tuple(profile for profile in self.profiles if cells[profile.name].reads(target))

    def __json__(self) -> dict[str, Any]:
        return {
            "profiles": [{"profile": each.name, "tier": each.tier, "may_verify": each.verifies} for each in self.asked],
            "matrix": [self._row(category) for category in self.categories],
            "slips": self.slips(),
            "orphans": [each._asdict() | {"readers": list(each.readers)} for each in self.orphans()],
        }

    def _row(self, category: str) -> dict[str, Any]:
        cells = {each.name: self.cells[category][each.name] for each in self.asked}
        return {
            "category": category,
            "declared": self.is_declared(category) or category == UNCATEGORIZED,
            "entries": self.count(category),
            "reads_user": [name for name, cell in cells.items() if cell.user],
            "reads_memory": [name for name, cell in cells.items() if cell.memory],
            "writes": [name for name, cell in cells.items() if cell.write],
            "drops": [name for name, cell in cells.items() if cell.mark() == "d"],
        }


def fleet_of(profiles: Iterable[Profile], taxonomy: Taxonomy, entries: Mapping[tuple[str, str], int]) -> Fleet:
    """The fleet of these profiles, over every category that is declared, that a profile names, or that has entries."""
    ordered = tuple(sorted(profiles, key=lambda profile: (profile.tier, profile.name)))
    categories = categories_of(ordered, taxonomy, (category for (category, _), count in entries.items() if count))
    by_profile = {profile.name: access_of(profile, categories, taxonomy) for profile in ordered}
    cells = {category: {name: cells[category] for name, cells in by_profile.items()} for category in categories}
    return Fleet(ordered, categories, taxonomy, entries, cells)


def categories_of(profiles: Iterable[Profile], taxonomy: Taxonomy, present: Iterable[str] = ()) -> tuple[str, ...]:
    """The declared categories in their order, then those named in full or ``present``, then ``__uncategorized__``."""
    others = known_categories(profiles, taxonomy).union(map(taxonomy.of_slug, present))
    rest = sorted(others - {UNCATEGORIZED, *taxonomy.categories})
    return (*taxonomy.categories, *rest, UNCATEGORIZED)


def access_of(profile: Profile, categories: Sequence[str], taxonomy: Taxonomy) -> dict[str, CategoryAccess]:
    """What a profile may do in each of some categories (slugs, no aliases)."""
    user, memory = (visible_categories(categories, target, profile, taxonomy) for target in TARGETS)
    rights = Rights(profile, "user", taxonomy)
    return {each: CategoryAccess(each in user, each in memory, rights.may_write(each)) for each in categories}


class AccessExplanation(NamedTuple):
    """Why a profile may do something in a category. ``entries`` are those of its own files, by target."""

    profile: str
    category: str
    declared: bool
    entries: dict[str, int]
    reasons: tuple[AccessReason, ...]
    note: str | None
    problems: tuple[CatmemError, ...]

    @property
    def __json__(self) -> str:
        return "profile category declared entries answers=reasons problems"


def read_access(workspace: Root, names: Sequence[str] = ()) -> Fleet:
    """Who reads and may write what, over all files of a root; of some profiles."""
    profiles, problems = load_each(workspace)
    # A copy that was seeded is the fact of its source, and two profiles may share a folder.
    held: set[tuple[tuple[str, str], str]] = set()
    for profile in profiles:
        documents, wrong = files_of(workspace, profile).documents(workspace)
        problems += wrong
        for target, document in documents.items():
            held |= {((entry.category, target), entry.body) for entry in document.entries}
    fleet = fleet_of(profiles, workspace.config.taxonomy, Counter(each for each, _ in held))
    for name in {*names} - {each.name for each in profiles}:
        workspace.profile(name)  # says why it is not there
    asked = tuple(each for each in fleet.profiles if not names or each.name in names)
    return replace(fleet, asked=asked, problems=tuple(problems))


def explain(workspace: Root, name: str, category: str) -> AccessExplanation:
    """Why a profile may read, write and verify a category (its slug, title or an alias), or may not."""
    config = workspace.config
    profile = workspace.profile(name)
    slug = config.taxonomy.category(category)
    declared, note = config.taxonomy.named(slug) is not None, unknown_category(workspace, category)
    documents, problems = files_of(workspace, profile).documents(workspace)
    return AccessExplanation(
        profile=profile.name,
        category=slug,
        declared=declared,
        entries={target: len(found.by_category.get(slug, ())) for target, found in documents.items()},
        reasons=reasons(profile, slug, config.taxonomy),
        note=note,
        problems=tuple(problems),
    )


def unknown_category(workspace: Root, category: str) -> str | None:
    """What to tell a person who names a category that no profile names and no file has; ``None`` for another.

    Raises ``UnknownNameError`` where the taxonomy is closed.
    """
    taxonomy = workspace.config.taxonomy
    known = taxonomy.declared()
    if taxonomy.category(category) not in known:
        known = dict.fromkeys((*known, *read_access(workspace).categories), "")
    if taxonomy.category(category) in known:
        return None
    if taxonomy.closed or not slugify(category):
        hint = suggestion(slugify(category), known, "categories")
        raise UnknownNameError(f"there is no category {shown(category)} in this root", hint=hint)
    near = nearest(slugify(category), known)
    meant = f" Did you mean {near!r}?" if near else ""
    return f"No profile names the category {shown(category)} and no file has it yet.{meant}"


# --- why -----------------------------------------------------------------------------------------------------------

AskedRight = Literal["user", "memory", "write", "verify"]
_KEYS = {"user": SELECTOR_KEYS[0], "memory": SELECTOR_KEYS[1], "write": SELECTOR_KEYS[2]}


class AccessReason(NamedTuple):
    """One answer and what decides it."""

    asked: AskedRight
    answer: str  # yes or no
    because: str
    selector: str | None
    key: str | None
    inherited_from: str | None
    path: str | None
    line: int | None


def reasons(profile: Profile, category: str, taxonomy: Taxonomy) -> tuple[AccessReason, ...]:
    """Why ``profile`` may read ``category`` (a slug, no alias) of USER.md and of MEMORY.md, write it and verify it."""
    cell = access_of(profile, (category,), taxonomy)[category]
    user = _selected(profile, category, taxonomy, "user", answer=cell.user)
    memory = _selected(profile, category, taxonomy, "memory", answer=cell.memory)
    if profile.tier == ORCHESTRATOR_TIER:
        because = "a profile of tier 1 may write to every category of every profile's files"
        write = _reason(profile, "write", because, ("tier",), answer=cell.write)
    else:
        write = _selected(profile, category, taxonomy, "write", answer=cell.write)
    if cell.write and taxonomy.closed and taxonomy.named(category) is None:
        but = "but nothing can be added to it while catmem.yaml does not declare it"
        write = write._replace(because=f"{write.because}; {but}")
    may_verify = Rights(profile, "user", taxonomy).may_verify
    if may_verify and not cell.reads():
        because = "it can verify only what it reads"
    elif profile.may_verify is None:
        because = "may_verify is not said, and by default only tier 1 may"
    else:
        because = f"may_verify is {profile.may_verify}".lower()
    at = ("tier",) if profile.may_verify is None else ("may_verify",)
    return user, memory, write, _reason(profile, "verify", because, at, answer=may_verify and cell.reads())


def _selected(profile: Profile, category: str, taxonomy: Taxonomy, asked: AskedRight, *, answer: bool) -> AccessReason:
    """What decides where selectors do."""
    key = _KEYS[asked]
    selectors = profile.writable(taxonomy) if asked == "write" else profile.selectors(asked, taxonomy)
    index = selectors.deciding(category)
    if index is not None:
        because = f"{{!r}} of {key} {'selects it' if answer else 'takes it away'}"
        return _reason(profile, asked, because, (key, index), answer=answer)
    if category == UNCATEGORIZED and asked != "write":
        said = profile.include_uncategorized
        because = (
            "is not said, so only who names no category reads such entries" if said is None else f"is {said}".lower()
        )
        at = ("include_uncategorized",)
        return _reason(profile, asked, f"include_uncategorized {because}", at, answer=answer)
    index = Selectors(selectors.patterns).deciding(category)
    if index is not None:
        because = (
            f"{{!r}} of {key} would match, but the taxonomy is closed and does not declare this category: patterns "
            "select declared ones only"
        )
        return _reason(profile, asked, because, (key, index), answer=answer)
    return _reason(profile, asked, f"no selector of {key} matches it", (key,), answer=answer)


def _reason(profile: Profile, asked: AskedRight, because: str, at: KeyPath, *, answer: bool) -> AccessReason:
    """The reason that stands ``at`` a key of the profile, or of one that it extends."""
    selector = getattr(profile, str(at[0]))[at[1]] if len(at) > 1 else None
    place = where_set(profile, *at)
    line, path = place.get("line"), str(place["path"])
    parent = Path(path).stem if line and profile.path is not None and path != str(profile.path) else None
    because = because.format(selector) if selector is not None else because
    says, key = "yes" if answer else "no", key_text(at)
    return AccessReason(asked, says, because, selector, key, parent, path if line else None, line)
