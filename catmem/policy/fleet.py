"""All profiles of a root side by side: who reads and who may write which category.

Nothing is decided here. What a profile reads is asked of ``visible`` with a document that has an entry in every
category, and what it may write of ``Rights``, so the answers are those that prompts and writes get.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from catmem.model.document import parse
from catmem.names import TARGETS
from catmem.policy.access import Rights, visible
from catmem.policy.profile import ORCHESTRATOR_TIER, SELECTOR_KEYS
from catmem.policy.selector import is_pattern, split
from catmem.syntax.slug import UNCATEGORIZED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from catmem.model.document import Document
    from catmem.policy.config import Taxonomy
    from catmem.policy.profile import Profile

Sight = Literal["yes", "no", "without-headers"]
"""Whether entries are seen. ``without-headers``: in a file without section headers only (``__uncategorized__``)."""

_ANY_HEADER = "\n## Any\nx\n"


@dataclass(frozen=True, slots=True)
class Cell:
    """What one profile may do in one category. ``write`` counts for both files of a profile."""

    user: Sight
    memory: Sight
    write: bool

    def reads(self, target: str | None = None) -> Sight:
        """Whether the profile reads the category in a target; without one, in either."""
        sights = (self.user, self.memory) if target is None else (self.user if target == "user" else self.memory,)
        return "yes" if "yes" in sights else "without-headers" if "without-headers" in sights else "no"

    def mark(self, target: str | None = None) -> str:
        """``r`` reads, ``rw`` reads and may write, ``d`` may write and not read, ``.`` neither.

        A ``?`` behind it: reads in a file without section headers only.
        """
        sight = self.reads(target)
        if sight == "no":
            return "d" if self.write else "."
        return f"r{'w' * self.write}{'?' * (sight == 'without-headers')}"


class Held(NamedTuple):
    """Where entries stand: in which category, in ``user`` or ``memory``, and whether that file has section headers."""

    category: str
    target: str
    headers: bool


class Orphan(NamedTuple):
    """A category that no specialist reads; with a ``target`` only its entries there are meant.

    ``readers`` are the profiles of tier 1 that do read it.
    """

    category: str
    target: str | None
    entries: int
    declared: bool
    readers: tuple[str, ...]


class Width(NamedTuple):
    """How many profiles read a category, and how many entries it has in all files."""

    category: str
    readers: int
    entries: int


@dataclass(frozen=True, slots=True)
class Fleet:
    """The profiles of a root by tier and name, the categories, and what each may do in each.

    ``cells`` are by category and then by the name of the profile. ``entries`` counts those in the files.
    """

    profiles: tuple[Profile, ...]
    categories: tuple[str, ...]
    taxonomy: Taxonomy
    entries: Mapping[Held, int]
    cells: Mapping[str, Mapping[str, Cell]] = field(repr=False)

    def is_declared(self, category: str) -> bool:
        """Whether the taxonomy declares the category."""
        return category in self.taxonomy.categories

    def count(self, category: str, target: str | None = None) -> int:
        """How many entries of a category are in the files, or in those of one target."""
        return sum(
            count for held, count in self.entries.items() if held.category == category and target in {None, held.target}
        )

    def readers(self, category: str, target: str | None = None, *, headers: bool = True) -> tuple[Profile, ...]:
        """The profiles that read a category in a target (or in either), in a file with or without section headers."""
        cells, enough = self.cells[category], {"yes"} if headers else {"yes", "without-headers"}
        return tuple(profile for profile in self.profiles if cells[profile.name].reads(target) in enough)

    def writers(self, category: str) -> tuple[Profile, ...]:
        """The profiles that may write a category."""
        return tuple(profile for profile in self.profiles if self.cells[category][profile.name].write)

    def orphans(self) -> list[Orphan]:
        """What is declared or has entries and is read by nobody, or by tier 1 only, in the order of the categories."""
        return [orphan for category in self.categories for orphan in self._orphans(category)]

    def _orphans(self, category: str) -> Iterator[Orphan]:
        declared = self.is_declared(category)
        everywhere = self.readers(category)
        if category != UNCATEGORIZED and (declared or self.count(category)) and _no_specialist(everywhere):
            yield Orphan(category, None, self.count(category), declared, _names(everywhere))
        # Read from one file, a category may still have entries in the other, where nobody looks.
        for target in TARGETS:
            found: dict[tuple[str, ...], int] = {}
            for held, count in self.entries.items():
                if held.category != category or held.target != target or not count:
                    continue
                readers = self.readers(category, target, headers=held.headers)
                if _no_specialist(readers) and (category == UNCATEGORIZED or readers != everywhere):
                    names = _names(readers)
                    found[names] = found.get(names, 0) + count
            for names, count in sorted(found.items()):
                yield Orphan(category, target, count, declared, names)

    def widest(self) -> list[Width]:
        """The categories that somebody reads, those first that the most profiles read."""
        widths = [Width(each, len(self.readers(each)), self.count(each)) for each in self.categories]
        return sorted((width for width in widths if width.readers), key=lambda width: -width.readers)


def fleet_of(profiles: Iterable[Profile], taxonomy: Taxonomy, entries: Mapping[Held, int]) -> Fleet:
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
    with_headers, without = _probes(categories)
    sights: dict[str, dict[str, Sight]] = {}
    for target in TARGETS:
        seen = set(visible(with_headers, target, profile, taxonomy).categories)
        sights[target] = {category: "yes" if category in seen else "no" for category in categories}
        if UNCATEGORIZED in sights[target] and UNCATEGORIZED not in seen:
            alone = visible(without, target, profile, taxonomy).categories
            sights[target][UNCATEGORIZED] = "without-headers" if alone else "no"
    rights = Rights(profile, "user", taxonomy)
    return {each: Cell(sights["user"][each], sights["memory"][each], rights.may_write(each)) for each in categories}


def _probes(categories: Sequence[str]) -> tuple[Document, Document]:
    """A document with an entry in every category, and one without section headers."""
    # A slug is its own slug, so it can stand for the title of its section.
    sections = "".join(f"\n## {category}\nx\n" for category in categories if category != UNCATEGORIZED)
    return parse(f"x\n{sections}{_ANY_HEADER}"), parse("x\n")


def _no_specialist(readers: Sequence[Profile]) -> bool:
    return all(reader.tier == ORCHESTRATOR_TIER for reader in readers)


def _names(readers: Sequence[Profile]) -> tuple[str, ...]:
    return tuple(reader.name for reader in readers)
