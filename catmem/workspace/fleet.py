"""The profiles of a root on disk: what each may read and write, and why; and what their prompts save.

A profile that is not right, or a file that cannot be read, is named among the problems, and hides none of the others.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem import clock
from catmem.config.json_schema import nearest, shown, suggestion
from catmem.config.profile import load_profile
from catmem.config.rights_table import Fleet, Held, Reason, fleet_of, reasons
from catmem.config.selector import is_pattern
from catmem.errors import CatmemError, UnknownNameError, UnreadableError
from catmem.names import TARGETS, UNCATEGORIZED, slugify
from catmem.prompt.sizes import Sizes, WholeSizes, measure, total
from catmem.workspace.profile_memory import missing_of, read_document
from catmem.workspace.root import load_each

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from catmem.config.profile import Profile
    from catmem.model.document import Document
    from catmem.workspace.root import Root


@dataclass(frozen=True, slots=True)
class Access:
    """Who reads and may write what in a root. ``problems`` are the profiles and files that could not be looked at."""

    fleet: Fleet
    problems: tuple[CatmemError, ...]

    def to_dict(self) -> dict[str, Any]:
        """The whole as JSON-ready data."""
        return access_dict(self.fleet, self.fleet.profiles, self.fleet.categories) | {
            "problems": [problem.to_dict() for problem in self.problems]
        }


class Why(NamedTuple):
    """Why a profile may do something in a category. ``entries`` are those of its own files, by target."""

    profile: str
    category: str
    declared: bool
    entries: dict[str, int]
    reasons: tuple[Reason, ...]
    note: str | None
    problems: tuple[CatmemError, ...]

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON-ready data."""
        return {
            "profile": self.profile,
            "category": self.category,
            "declared": self.declared,
            "entries": self.entries,
            "answers": [reason.to_dict() for reason in self.reasons],
            "problems": [problem.to_dict() for problem in self.problems],
        }


def read_access(workspace: Root) -> Access:
    """Who reads and may write what, over all profiles and files of a root."""
    profiles, problems = load_each(workspace)
    held: set[tuple[Held, str]] = set()
    for profile in profiles:
        documents, wrong = documents_of(workspace, profile)
        problems += wrong
        # A copy that was seeded is the fact of its source, and two profiles may share a folder.
        held.update(
            (Held(entry.category, each), entry.body) for each, found in documents.items() for entry in found.entries
        )
    counts = Counter(each for each, _ in held)
    return Access(fleet_of(profiles, workspace.config.taxonomy, counts), tuple(problems))


def explain(workspace: Root, name: str, category: str) -> Why:
    """Why a profile may read, write and verify a category (its slug, title or an alias), or may not."""
    config = workspace.config
    profile = workspace.profile(name)
    slug = config.taxonomy.category(category)
    note = None
    if config.taxonomy.named(slug) is None:
        access = read_access(workspace)
        if slug not in access.fleet.categories:
            note = unknown_category(category, access.fleet)
    documents, problems = documents_of(workspace, profile)
    counts = Counter(Held(entry.category, target) for target, found in documents.items() for entry in found.entries)
    written = None
    if profile.path is not None and config.taxonomy.aliases:
        written = load_profile(profile.path, profiles_dir=config.profiles_dir)
    return Why(
        profile=profile.name,
        category=slug,
        declared=config.taxonomy.named(slug) is not None,
        entries={
            target: sum(count for held, count in counts.items() if held[:2] == (slug, target)) for target in documents
        },
        reasons=reasons(profile, slug, config.taxonomy, written),
        note=note,
        problems=tuple(problems),
    )


def chosen_profiles(workspace: Root, access: Access, names: Sequence[str]) -> tuple[Profile, ...]:
    """The profiles of these names, in the order of the fleet; without any, all."""
    right = {profile.name for profile in access.fleet.profiles}
    for name in names:
        if name not in right:
            workspace.profile(name)
    return tuple(profile for profile in access.fleet.profiles if not names or profile.name in names)


def chosen_categories(workspace: Root, fleet: Fleet, wanted: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The categories that slugs, titles, aliases and patterns name, in the order of the fleet, and notes on slips."""
    chosen: set[str] = set()
    notes: list[str] = []
    for each in wanted:
        slug = each if is_pattern(each) else workspace.config.taxonomy.category(each)
        found = {category for category in fleet.categories if fnmatchcase(category, slug)}
        if not found:
            notes.append(unknown_category(each, fleet))
        chosen |= found
    return tuple(category for category in fleet.categories if not wanted or category in chosen), tuple(notes)


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


def documents_of(workspace: Root, profile: Profile) -> tuple[dict[str, Document], list[CatmemError]]:
    """The files of a profile that can be read, by target (a missing file is an empty one), and why others cannot."""
    documents: dict[str, Document] = {}
    problems: list[CatmemError] = []
    for target in TARGETS:
        try:
            documents[target] = read_document(workspace, profile, target)
        except CatmemError as error:
            problems.append(error)
            if not isinstance(error, UnreadableError):
                break  # the profile's folder is not right, which is one problem and not two
    return documents, problems


def access_dict(fleet: Fleet, profiles: Iterable[Profile], categories: Iterable[str]) -> dict[str, Any]:
    """A fleet as JSON-ready data, with these profiles and categories in the matrix."""
    chosen = [profile.name for profile in profiles]
    every = len(fleet.profiles)
    return {
        "profiles": [
            {"profile": each.name, "tier": each.tier, "may_verify": each.verifies}
            for each in fleet.profiles
            if each.name in chosen
        ],
        "matrix": [_row(fleet, category, chosen) for category in categories],
        "orphans": [orphan._asdict() | {"readers": list(orphan.readers)} for orphan in fleet.orphans()],
        "widest": [width._asdict() | {"of": every} for width in fleet.widest()],
    }


def _row(fleet: Fleet, category: str, chosen: list[str]) -> dict[str, Any]:
    cells = {name: fleet.cells[category][name] for name in chosen}
    return {
        "category": category,
        "declared": fleet.is_declared(category) or category == UNCATEGORIZED,
        "entries": fleet.count(category),
        "reads_user": [name for name, cell in cells.items() if cell.user == "yes"],
        "reads_memory": [name for name, cell in cells.items() if cell.memory == "yes"],
        "writes": [name for name, cell in cells.items() if cell.write],
        "drops": [name for name, cell in cells.items() if cell.mark() == "d"],
    }


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

    def to_dict(self) -> dict[str, Any]:
        """The measures as JSON-ready data."""
        return {
            "profile": self.profile,
            "tier": self.tier,
            "style": self.style,
            "owner": self.owner,
            "seed_from": self.seed_from,
            "missing": list(self.missing),
            **self.sizes.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Stats:
    """The prompts of some profiles by tier and name. ``problems`` are the profiles and files that are left out."""

    as_of: date
    source: str | None
    profiles: tuple[Measured, ...]
    problems: tuple[CatmemError, ...]

    @property
    def total(self) -> Sizes:
        """All of them together."""
        return total(measured.sizes for measured in self.profiles)

    def to_dict(self) -> dict[str, Any]:
        """The whole as JSON-ready data."""
        return {
            "as_of": self.as_of.isoformat(),
            "source": self.source,
            "profiles": [measured.to_dict() for measured in self.profiles],
            "total": self.total.to_dict(),
            "problems": [problem.to_dict() for problem in self.problems],
        }


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
            read[owner.name] = None if wrong else WholeSizes(documents)
        return read[owner.name]

    measured: list[Measured] = []
    for profile in sorted(profiles, key=lambda each: (each.tier, each.name)):
        whole = whole_of(given or profile)
        if whole is not None:
            above = sources.get(profile.seed_from or "") if whole.entries else None
            both = (whole, whole_of(above) if above else None)
            beside = max(filter(None, both), key=lambda each: each.flat.characters)
            measured.append(_measured(workspace, profile, given or profile, whole, beside, day))
    return Stats(day, source, tuple(measured), tuple(problems))


def _measured(  # noqa: PLR0913, PLR0917 - whose prompt, of what, beside what
    workspace: Root, profile: Profile, owner: Profile, whole: WholeSizes, beside: WholeSizes, day: date
) -> Measured:
    return Measured(
        profile=profile.name,
        tier=profile.tier,
        style=profile.prompt.style,
        owner=owner.name,
        seed_from=profile.seed_from,
        missing=missing_of(
            {target: whole.documents[target].text for target in TARGETS},
            {target: workspace.path_of(owner, target) for target in TARGETS},
        ),
        sizes=measure(whole, profile, owner, beside, as_of=day, config=workspace.config),
    )
