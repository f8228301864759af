"""What a seed may hand on: the offer of a source, the slice of it that a target's profile names, and what stays out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from catmem.model.compose import composed
from catmem.model.version import Version
from catmem.policy.access import visible
from catmem.policy.seedlock import Seeded
from catmem.policy.staleness import expired_on
from catmem.policy.threats import BuiltinScanner, scan_each
from catmem.syntax.slug import UNCATEGORIZED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import date

    from catmem.model.document import Document
    from catmem.policy.config import Taxonomy
    from catmem.policy.profile import Profile


class Offered(NamedTuple):
    """An entry that the source may read. ``withheld`` says why nobody gets it who did not have it before, if so."""

    version: Version
    id: str
    withheld: str | None
    is_hostile: bool = False
    """Whether it is withheld because the threat scan found something: then its text goes nowhere."""

    @property
    def key(self) -> tuple[str, str]:
        """What it says, and where."""
        return self.version.category, self.id

    def seeded(self) -> Seeded:
        """The entry as the lock keeps it."""
        return Seeded(self.version.category, self.id, self.version.text)


class Offer(NamedTuple):
    """What a source's profile may read of one of its files, in file order, on a day."""

    document: Document
    entries: tuple[Offered, ...]
    titles: Mapping[str, str]
    as_of: date


def offer(document: Document, target: str, profile: Profile, taxonomy: Taxonomy, *, as_of: date) -> Offer:
    """What ``profile`` may hand on of its ``user`` or ``memory`` file.

    Expired entries are withheld from those who do not have them yet. So are from everybody those in which the threat
    scan finds something, or in the name of their category.
    """
    entries = visible(document, target, profile, taxonomy).entries
    found = scan_each(BuiltinScanner(), [f"{entry.body}\n{entry.tags or ''}" for entry in entries])
    hostile = _hostile({entry.category for entry in entries}, taxonomy)
    offered: list[Offered] = []
    for entry, findings in zip(entries, found, strict=True):
        withheld = None
        if findings:
            withheld = f"blocked: {', '.join(sorted({finding.rule for finding in findings}))}"
        elif entry.category in hostile:
            withheld = "blocked: title"
        is_hostile = withheld is not None
        expired = None if is_hostile else expired_on(entry.tags, as_of)
        if expired is not None:
            withheld = f"expired {expired}"
        offered.append(Offered(Version.of(entry), entry.id, withheld, is_hostile))
    titles = {section.category: section.title for section in reversed(document.sections)}
    clear = scan_each(BuiltinScanner(), list(titles.values()))
    titles = {category: title for (category, title), bad in zip(titles.items(), clear, strict=True) if not bad}
    declared = {slug: each.title for slug, each in taxonomy.categories.items() if each.title}
    return Offer(document, tuple(offered), {**titles, **declared}, as_of)


def _hostile(categories: Collection[str], taxonomy: Taxonomy) -> set[str]:
    """The undeclared categories whose names would be a threat in the title of a section."""
    undeclared = sorted(category for category in categories if category not in taxonomy.categories)
    found = scan_each(BuiltinScanner(), [category.replace("-", " ") for category in undeclared])
    return {category for category, findings in zip(undeclared, found, strict=True) if findings}


def sliced(offered: Offer, target: str, profile: Profile, taxonomy: Taxonomy) -> tuple[Offered, ...]:
    """The part of an offer that ``profile`` names for its ``user`` or ``memory`` file.

    What has no category is part of it only if the profile says so itself: by that name, or with
    ``include_uncategorized: true``. A flat file is no reason to copy all of it to everybody.
    """
    categories = {each.version.category for each in offered.entries}
    named = {category for category in categories if is_named(category, target, profile, taxonomy)}
    return tuple(each for each in offered.entries if each.version.category in named)


def is_named(category: str, target: str, profile: Profile, taxonomy: Taxonomy) -> bool:
    """Whether ``profile`` names a category (a slug) for its ``user`` or ``memory`` file."""
    selectors = profile.selectors(target, taxonomy)
    if category != UNCATEGORIZED:
        return selectors.matches(category)
    is_included = profile.include_uncategorized is True and not selectors.takes_away(category)
    return is_included or selectors.matches(category)


def withheld(entries: Iterable[Offered]) -> tuple[Offered, ...]:
    """Those of a slice that stay out."""
    return tuple(each for each in entries if each.withheld is not None)


def slice_text(offered: Offer, entries: Iterable[Offered]) -> str:
    """A slice as the text of a memory file, without what is withheld."""
    versions = [each.version for each in entries if each.withheld is None]
    return composed(versions, offered.titles, offered.document).text
