"""All profiles of a root side by side: who reads and who may write which category, and which setting decides that.

Nothing is decided here. What a profile reads is asked of ``visible`` with a document that has an entry in every
category, and what it may write of ``Rights``, so the answers are those that prompts and writes get.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from catmem.config.access import Rights, visible_categories
from catmem.config.config import Taxonomy
from catmem.config.profile import ORCHESTRATOR_TIER, SELECTOR_KEYS, Profile, SettingPlace
from catmem.config.selector import Selectors, is_pattern, split
from catmem.config.yamlfile import KeyPath, key_text
from catmem.names import FILE_NAMES, TARGETS, UNCATEGORIZED


@dataclass(frozen=True, slots=True)
class Cell:
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


class FileCategory(NamedTuple):
    """Where entries stand: in which category, in ``user`` or ``memory``."""

    category: str
    target: str


class Orphan(NamedTuple):
    """A category that no specialist reads; with a ``target`` only its entries there are meant."""

    category: str
    target: str | None
    entries: int
    declared: bool
    readers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fleet:
    """The profiles of a root by tier and name, the categories, and what each may do in each."""

    profiles: tuple[Profile, ...]
    categories: tuple[str, ...]
    taxonomy: Taxonomy
    entries: Mapping[FileCategory, int]
    cells: Mapping[str, Mapping[str, Cell]] = field(repr=False)

    def is_declared(self, category: str) -> bool:
        """Whether the taxonomy declares the category."""
        return category in self.taxonomy.categories

    def count(self, category: str, target: str | None = None) -> int:
        """How many entries of a category are in the files, or in those of one target."""
        return sum(
            self.entries.get(FileCategory(category, each), 0) for each in (TARGETS if target is None else (target,))
        )

    def readers(self, category: str, target: str | None = None) -> tuple[Profile, ...]:
        """The profiles that read a category in a target, or in either."""
        cells = self.cells[category]
        return tuple(profile for profile in self.profiles if cells[profile.name].reads(target))

    def writers(self, category: str) -> tuple[Profile, ...]:
        """The profiles that may write a category."""
        return tuple(profile for profile in self.profiles if self.cells[category][profile.name].write)

    def orphans(self) -> list[Orphan]:
        """What is declared or has entries, and is read by no profile or tier 1 only, in the order of the categories."""
        return [orphan for category in self.categories for orphan in self._orphans(category)]

    def _orphans(self, category: str) -> Iterator[Orphan]:
        declared, everywhere = self.is_declared(category), self.readers(category)
        # Read from one file, a category may still have entries in the other, where no profile looks.
        for target in (None, *TARGETS):
            count, readers = self.count(category, target), self.readers(category, target)
            if any(reader.tier != ORCHESTRATOR_TIER for reader in readers):
                continue
            if target is None:
                wanted = category != UNCATEGORIZED and (declared or count)
            else:
                wanted = count and (category == UNCATEGORIZED or readers != everywhere)
            if wanted:
                yield Orphan(category, target, count, declared, tuple(reader.name for reader in readers))


def fleet_of(profiles: Iterable[Profile], taxonomy: Taxonomy, entries: Mapping[FileCategory, int]) -> Fleet:
    """The fleet of these profiles, over every category that is declared, that a profile names, or that has entries."""
    ordered = tuple(sorted(profiles, key=lambda profile: (profile.tier, profile.name)))
    categories = categories_of(ordered, taxonomy, (held.category for held, count in entries.items() if count))
    by_profile = {profile.name: access_of(profile, categories, taxonomy) for profile in ordered}
    cells = {category: {name: cells[category] for name, cells in by_profile.items()} for category in categories}
    return Fleet(ordered, categories, taxonomy, entries, cells)


def categories_of(profiles: Iterable[Profile], taxonomy: Taxonomy, present: Iterable[str] = ()) -> tuple[str, ...]:
    """The declared categories in their order, then those named in full or ``present``, then ``__uncategorized__``."""
    others = {taxonomy.of_slug(category) for category in present}
    for profile in profiles:
        for key in SELECTOR_KEYS:
            selectors = taxonomy.resolved(getattr(profile, key))
            others.update(name for _, name in map(split, selectors) if not is_pattern(name))
    rest = sorted(others - {UNCATEGORIZED, *taxonomy.categories})
    return (*taxonomy.categories, *rest, UNCATEGORIZED)


def access_of(profile: Profile, categories: Sequence[str], taxonomy: Taxonomy) -> dict[str, Cell]:
    """What a profile may do in each of some categories (slugs, no aliases)."""
    user, memory = (visible_categories(categories, target, profile, taxonomy) for target in TARGETS)
    rights = Rights(profile, "user", taxonomy)
    return {each: Cell(each in user, each in memory, rights.may_write(each)) for each in categories}


# --- why -----------------------------------------------------------------------------------------------------------

Asked = Literal["user", "memory", "write", "verify"]
Rule = Literal[
    "selected", "taken-away", "not-selected", "closed", "include-uncategorized", "tier-1", "may-verify", "not-seen"
]

_READ_KEYS = {"user": SELECTOR_KEYS[0], "memory": SELECTOR_KEYS[1]}
_WRITE_KEY = SELECTOR_KEYS[2]


class Reason(NamedTuple):
    """One answer and what decides it."""

    asked: Asked
    answer: Literal["yes", "no"]
    rule: Rule
    because: str
    selector: str | None = None
    key: str | None = None
    place: SettingPlace | None = None
    inherited_from: str | None = None

    @property
    def __json__(self) -> str:
        return "asked answer rule because selector key inherited_from path=place.path line=place.line"


def reasons(profile: Profile, category: str, taxonomy: Taxonomy) -> tuple[Reason, Reason, Reason, Reason]:
    """Why ``profile`` may read ``category`` (a slug, no alias) of USER.md and of MEMORY.md, write it and verify it."""
    case = _Case(profile, category, taxonomy, access_of(profile, (category,), taxonomy)[category])
    return case.read("user"), case.read("memory"), case.write(), case.verify()


class _Case(NamedTuple):
    profile: Profile
    category: str
    taxonomy: Taxonomy
    cell: Cell

    def read(self, target: Literal["user", "memory"]) -> Reason:
        answer = self.cell.reads(target)
        selectors, key = self.profile.selectors(target, self.taxonomy), _READ_KEYS[target]
        if self.category == UNCATEGORIZED and selectors.deciding(self.category) is None:
            return self._included(target, answer=answer)
        return self._selected(target, selectors, key, answer=answer)

    def write(self) -> Reason:
        if self.profile.tier == ORCHESTRATOR_TIER:
            because = "a profile of tier 1 may write to every category of every profile's files"
            return self._reason("write", "tier-1", self._but_closed(because), at=("tier",), answer=self.cell.write)
        found = self._selected("write", self.profile.writable(self.taxonomy), _WRITE_KEY, answer=self.cell.write)
        if self.cell.write and not self.cell.reads():
            found = found._replace(because=f"{found.because}; it can add there, and sees nothing of it (a drop)")
        return found._replace(because=self._but_closed(found.because)) if self.cell.write else found

    def verify(self) -> Reason:
        said = self.profile.may_verify
        at: KeyPath = ("tier",) if said is None else ("may_verify",)
        if said is None:
            tier_1 = self.profile.tier == ORCHESTRATOR_TIER
            because = f"may_verify is not said, and tier {self.profile.tier} may {'' if tier_1 else 'not '}by default"
        else:
            because = f"may_verify is {'true' if said else 'false'}"
        if not Rights(self.profile, "user", self.taxonomy).may_verify:
            return self._reason("verify", "may-verify", because, at=at, answer=False)
        if not self.cell.reads():
            because += ", but it can verify only what it reads"
            return self._reason("verify", "not-seen", because, at=at, answer=False)
        whose = "any profile" if self.profile.tier == ORCHESTRATOR_TIER else "its own files"
        where = " and ".join(file for target, file in FILE_NAMES.items() if self.cell.reads(target))
        because += f"; it counts for what it reads, in {where} of {whose}"
        return self._reason("verify", "may-verify", because, at=at, answer=True)

    def _included(self, asked: Asked, *, answer: bool) -> Reason:
        """What decides on entries without a category where no selector names them."""
        said = self.profile.include_uncategorized
        if said is None:
            named = "no category" if answer else "categories"
            because = f"include_uncategorized is not said, and the profile names {named}"
        else:
            because = f"include_uncategorized is {'true' if said else 'false'}"
        return self._reason(asked, "include-uncategorized", because, at=("include_uncategorized",), answer=answer)

    def _selected(self, asked: Asked, selectors: Selectors, key: str, *, answer: bool) -> Reason:
        index, quoted = selectors.deciding(self.category), selectors.patterns
        if index is not None:
            rule: Rule = "selected" if answer else "taken-away"
            because = f"{quoted[index]!r} of {key} {'selects it' if answer else 'takes it away'}"
            return self._reason(asked, rule, because, at=(key, index), answer=answer)
        wider = Selectors(quoted).deciding(self.category)
        if wider is not None:
            because = (
                f"{quoted[wider]!r} of {key} would match, but the taxonomy is closed and does not declare this "
                "category: patterns select declared ones only"
            )
            return self._reason(asked, "closed", because, at=(key, wider), answer=answer)
        because = f"no selector of {key} matches it"
        if not quoted:
            because = f"{key} is empty" if (key,) in self.profile.places else f"{key} is not said"
        return self._reason(asked, "not-selected", because, at=(key,), answer=answer)

    def _but_closed(self, because: str) -> str:
        if self.taxonomy.closed and self.taxonomy.named(self.category) is None:
            return f"{because}; but nothing can be added to it while catmem.yaml does not declare it"
        return because

    def _reason(self, asked: Asked, rule: Rule, because: str, *, at: KeyPath, answer: bool) -> Reason:
        place, parent = self.profile.places.get(at), None
        if place is not None and self.profile.path is not None and place.path != str(self.profile.path):
            parent = place.path.replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
        selector = getattr(self.profile, str(at[0]))[at[1]] if len(at) > 1 else None
        return Reason(asked, "yes" if answer else "no", rule, because, selector, key_text(at), place, parent)
