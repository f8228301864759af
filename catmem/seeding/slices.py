"""Seeding, without files: which entries of a source a target is to have, and what that makes of the target's text.

::

    source's document ── what its profile reads ──> offer ── what the target's profile names ──> slice
    what was seeded last (base), the target's text (ours), the slice (theirs) ── merge ──> the target's new text

The merge edits the target's text, so the target's own entries keep their bytes. Where both sides changed one entry the
target's stays, and the base keeps what it had: so the conflict is there until a person has settled it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, NamedTuple, TypeAlias

from catmem.config.access import visible
from catmem.config.config import Taxonomy
from catmem.config.profile import Profile
from catmem.digest import content_digest
from catmem.model.document import Document, Entry, Version
from catmem.model.edit import remove_entry
from catmem.model.merge import Conflict, Side, links_of, merge_into, only_verified
from catmem.model.pairing import pair_entries, pair_sides
from catmem.model.splice import composed
from catmem.names import UNCATEGORIZED
from catmem.staleness.freshness import expired_on
from catmem.text import counted
from catmem.threats import scan_each


class Seeded(NamedTuple):
    """An entry as it was seeded, with its tag block; ``kept`` is the target's text that a person keeps in its place."""

    category: str
    id: str
    text: str
    kept: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What it says, and where."""
        return self.category, self.id


class Offered(NamedTuple):
    """An entry that the source may read. ``withheld`` says why no target gets it anew, if so."""

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


class OfferedFile(NamedTuple):
    """What a source's profile may read of one of its files, in file order, on a day."""

    document: Document
    entries: tuple[Offered, ...]
    categories: frozenset[str]
    """Those of the entries."""
    titles: Mapping[str, str]
    as_of: date
    places: Mapping[str, set[str]]
    """In which categories of the whole document each text stands."""


def offer(document: Document, target: str, profile: Profile, taxonomy: Taxonomy, *, as_of: date) -> OfferedFile:
    """What ``profile`` may hand on of its ``user`` or ``memory`` file; expired and hostile entries are withheld."""
    entries = visible(document, target, profile, taxonomy).entries
    found = scan_each([f"{entry.body}\n{entry.tags or ''}" for entry in entries])
    # The name of a category that is not declared becomes the title of a section.
    categories = frozenset(entry.category for entry in entries)
    names = sorted(categories - taxonomy.categories.keys())
    bad_names = scan_each([name.replace("-", " ") for name in names])
    hostile = {name for name, bad in zip(names, bad_names, strict=True) if bad}
    offered: list[Offered] = []
    for entry, findings in zip(entries, found, strict=True):
        rules = sorted({finding.rule for finding in findings}) or ["title"] * (entry.category in hostile)
        expired = None if rules else expired_on(entry.tags, as_of)
        withheld = f"blocked: {', '.join(rules)}" if rules else f"expired {expired}" if expired else None
        offered.append(Offered(Version.from_entry(entry), entry.id, withheld, is_hostile=bool(rules)))
    titles = {section.category: section.title for section in reversed(document.sections)}
    clear = scan_each(list(titles.values()))
    titles = {category: title for (category, title), bad in zip(titles.items(), clear, strict=True) if not bad}
    declared = {slug: each.title for slug, each in taxonomy.categories.items() if each.title}
    places: dict[str, set[str]] = {}
    for entry in document.entries:
        places.setdefault(entry.body, set()).add(entry.category)
    return OfferedFile(document, tuple(offered), categories, {**titles, **declared}, as_of, places)


def sliced(offered: OfferedFile, target: str, profile: Profile, taxonomy: Taxonomy) -> tuple[Offered, ...]:
    """The part of an offer that ``profile`` names for its ``user`` or ``memory`` file."""
    named = named_of(offered.categories, target, profile, taxonomy)
    return tuple(each for each in offered.entries if each.version.category in named)


def named_of(categories: Iterable[str], target: str, profile: Profile, taxonomy: Taxonomy) -> set[str]:
    """Those of some categories (slugs) that ``profile`` names for its ``user`` or ``memory`` file."""
    selectors = profile.selectors(target, taxonomy)
    named = set(filter(selectors.matches, categories))
    # What has no category goes only to those who say so: a flat file is no reason to copy all of it to everybody.
    if profile.include_uncategorized is True and UNCATEGORIZED in categories:
        named |= set() if selectors.takes_away(UNCATEGORIZED) else {UNCATEGORIZED}
    return named


def slice_text(offered: OfferedFile, entries: Iterable[Offered]) -> str:
    """A slice as the text of a memory file, without what is withheld."""
    versions = [each.version for each in entries if each.withheld is None]
    return composed(versions, offered.titles, offered.document).text


Choice: TypeAlias = Literal["target", "source", "both"]
"""Whose entry stays where both changed one.

Of two tags, categories or titles a file holds one, so ``both`` is the target's; and where one side removed the entry it
is what the other made of it.
"""

Resolve: TypeAlias = Choice | Mapping[str, Choice]
"""What a person says of all conflicts, or of each by its ``conflict_id``."""

SeedRowState = Literal[
    "in_sync",
    "new",
    "changed_in_source",
    "changed_in_target",
    "changed_in_both",
    "removed_from_source",
    "removed_in_target",
    "conflict",
]
"""How an entry of the slice, or of what was seeded last, stands in the target."""


class SeedRow(NamedTuple):
    """How one entry stands. ``version`` is the target's where it has one that counts, else the source's."""

    state: SeedRowState
    version: Version


@dataclass(frozen=True, slots=True)
class FilePlan:
    """What a seed would do to one file, or did; ``entries`` are the base of the next, ``rows`` say how each stands."""

    target: str
    source: str
    before: str
    after: str
    entries: tuple[Seeded, ...]
    rows: tuple[SeedRow, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    withheld: tuple[Offered, ...] = ()
    is_known: bool = True
    """Whether a base was on record; without one a seed only adds."""
    cloned: int = 0
    """How many entries of the target are the source's too, and were not seeded."""
    revision: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The target."""
        return self.target

    @property
    def changes(self) -> bool:
        """Whether the file would change."""
        return self.before != self.after

    def count(self, *states: SeedRowState) -> int:
        """How many rows have one of these states."""
        return sum(row.state in states for row in self.rows)


class SeedInputs(NamedTuple):
    """What goes into the plan of one file: the names, the slice, and what was seeded last."""

    target: str
    source: str
    offered: OfferedFile
    slice: tuple[Offered, ...]
    base: tuple[Seeded, ...] | None
    held: Collection[tuple[str, str]] = frozenset()
    """The keys of what other sources seeded into the same file, which no removal by this one takes."""
    beside: tuple[Seeded, ...] = ()
    """What was seeded last of categories that this seed is not asked for: it stays on record as it is."""


def is_settled(parts: SeedInputs) -> bool:
    """Whether the slice says what was seeded last: then nothing can arrive, whatever the target did since."""
    if parts.base is None:
        return False
    known = Counter(each.key for each in parts.base)
    return known == Counter(each.key for each in parts.slice if each.withheld is None or each.key in known)


def conflict_id(target: str, conflict: Conflict) -> str:
    """The name of a conflict in the file ``target``: ten hex digits, the same while both sides say the same."""
    sides = (conflict.base, conflict.ours, conflict.theirs)
    said = [None if side is None else [side.category, side.text] for side in sides]
    return content_digest([target, conflict.reason, said]).partition(":")[2][:10]


class _Settling:
    """What a merge asks of its conflicts: where nothing was said the target's entry stays, and the conflict is open."""

    def __init__(self, target: str, resolve: Resolve | None) -> None:
        self.target = target
        self.resolve = resolve
        self.open: set[str] = set()
        """The conflicts that nothing settles, by their ids."""
        self.kept: dict[str, str | None] = {}
        """By the id of an entry of the source the target's text that stays in its place."""

    def __call__(self, conflict: Conflict) -> Side | None:
        all_of, name = self.resolve, conflict_id(self.target, conflict)
        said = all_of.get(name) if isinstance(all_of, Mapping) else all_of
        if said is None:
            self.open.add(name)
            return "ours"
        if conflict.reason == "body" and conflict.ours is not None and conflict.theirs is not None:
            self.kept[conflict.theirs.id] = conflict.ours.text if said == "target" else None
        if said == "both" and conflict.reason == "body":
            return None
        if said == "source" or (said == "both" and conflict.ours is None):
            return "theirs"
        return "ours"


def plan_file(parts: SeedInputs, ours: Document, *, resolve: Resolve | None = None) -> FilePlan:
    """What seeding a slice makes of the target's document. Raises ``EditError`` (``not_possible``)."""
    like, base = parts.offered.document, base_of(parts, ours)
    if not (base or ours.text):
        return _first(parts)
    arriving, out = _arriving(parts, base, ours)
    before = composed([Version.read(each.category, each.text) for each in base], {}, like)
    theirs = composed([Version.read(each.category, each.text) for each in arriving], parts.offered.titles, like)
    settling = _Settling(parts.target, resolve)
    # Of a base in the words that a person keeps in the target follows which of its entries these are.
    own = [Version.read(each.category, each.kept or each.text) for each in base]
    held = composed(own, {}, like) if any(each.kept for each in base) else None
    merged = merge_into(ours, before, theirs, precedence=settling, held=held)
    conflicts = tuple(each for each in merged.conflicts if conflict_id(parts.target, each) in settling.open)
    arriving = _without_own(arriving, before, ours)
    arriving = [each._replace(kept=settling.kept.get(each.id, each.kept)) for each in arriving]
    return FilePlan(
        target=parts.target,
        source=parts.source,
        before=ours.text,
        after=merged.text,
        entries=_on_record(parts, ours, _held_back(arriving, base, conflicts, like.reread(merged.text, titled=False))),
        rows=tuple(_rows(held, before, ours, theirs, merged.conflicts)),
        conflicts=conflicts,
        withheld=out,
        is_known=parts.base is not None,
    )


def _first(parts: SeedInputs) -> FilePlan:
    """The plan of a file that is not there: what a merge would say as well, ten times as fast."""
    seeded = [each for each in parts.slice if each.withheld is None]
    return FilePlan(
        target=parts.target,
        source=parts.source,
        before="",
        after=slice_text(parts.offered, seeded),
        entries=tuple(each.seeded() for each in seeded),
        rows=tuple(SeedRow("new", each.version) for each in seeded),
        withheld=tuple(each for each in parts.slice if each.withheld),
        is_known=parts.base is not None,
    )


def _on_record(parts: SeedInputs, ours: Document, seeded: Sequence[Seeded]) -> tuple[Seeded, ...]:
    """What counts as seeded, with what was seeded before of other categories, in the source's order of categories."""
    if not (parts.beside and ours.text.strip()):
        return tuple(seeded)  # of a file that is gone or was emptied nothing else is there
    categories = dict.fromkeys(each.version.category for each in parts.offered.entries)
    rank = {category: number for number, category in enumerate(categories)}
    return tuple(sorted((*seeded, *parts.beside), key=lambda each: rank.get(each.category, len(rank))))


def base_of(parts: SeedInputs, ours: Document) -> tuple[Seeded, ...]:
    """What was seeded last, as far as it counts."""
    if not ours.text.strip():
        return ()  # the file is gone or was emptied: it is filled anew
    offered = {each.key for each in parts.slice}
    return tuple(each for each in parts.base or () if each.key in offered or each.key not in parts.held)


def _arriving(parts: SeedInputs, base: Sequence[Seeded], ours: Document) -> tuple[list[Seeded], tuple[Offered, ...]]:
    """The slice as the merge is to see it, and what stays out of it.

    That a fact expired is a change like any other, and reaches its copies. A target that took its copy out, or let it
    expire on a day of its own, says nothing of it any more: there is nothing to tell it. What the scan withholds by
    now was not removed: its copies stay as they were seeded.
    """
    were = [Version.read(each.category, each.text) for each in base]
    partner = {there: here for here, there in pair_entries(were, [each.version for each in parts.slice]).items()}
    said = pair_entries(were, ours.entries) if any(each.withheld for each in parts.slice) else {}
    arriving: list[Seeded] = []
    out: list[Offered] = []
    for index, each in enumerate(parts.slice):
        number = partner.get(index)
        if each.withheld is None:
            arriving.append(each.seeded()._replace(kept=None if number is None else base[number].kept))
            continue
        if number is None or each.is_hostile:
            out.append(each)
        if number is None:
            continue
        copy = Version.from_entry(ours.entries[said[number]]) if number in said else None
        is_own = copy is not None and not (copy.same_as(were[number]) or copy.same_as(each.version))
        is_silent = copy is None or (is_own and expired_on(copy.tags, parts.offered.as_of) is not None)
        arriving.append(base[number] if each.is_hostile or is_silent else each.seeded())
    return arriving, tuple(out)


def _without_own(arriving: Sequence[Seeded], before: Document, ours: Document) -> list[Seeded]:
    """What arrives, without what the target has as an entry of its own: the same words under other tags."""
    pairs = set(pair_entries(before.entries, ours.entries).values())
    ids: dict[tuple[str, str], set[str]] = {}
    for index, entry in enumerate(ours.entries):
        if index not in pairs:
            ids.setdefault((entry.category, entry.body), set()).add(Version.from_entry(entry).id)
    for entry in before.entries:
        ids.pop((entry.category, entry.body), None)
    places = [(each.category, Version.read(each.category, each.text).body) for each in arriving]
    return [each for each, place in zip(arriving, places, strict=True) if each.id in ids.get(place, {each.id})]


def _held_back(
    arriving: Sequence[Seeded], base: Sequence[Seeded], conflicts: Iterable[Conflict], merged: Document
) -> list[Seeded]:
    """What counts as seeded: of an open conflict what was seeded before, so that the next seed finds it again."""
    standing = {(entry.category, Version.from_entry(entry).id) for entry in merged.entries}
    seeded: list[Seeded | None] = list(arriving)
    before = {each.key: each for each in reversed(base)}
    places: dict[tuple[str, str], list[int]] = {}  # where each arrives, the first of equal ones last
    for index in reversed(range(len(arriving))):
        places.setdefault(arriving[index].key, []).append(index)
    stays: list[tuple[Version | None, Seeded]] = []
    for conflict in conflicts:
        was = conflict.base and before.get(conflict.base.key)
        if conflict.theirs is not None and (there := places.get(conflict.theirs.key)):
            if conflict.theirs.key not in standing:  # else an addition of the source's, beside the target's entry
                seeded[there.pop()] = was
        elif was is not None:
            stays.append((conflict.ours, was))
    held = [each for each in seeded if each is not None]
    for ours, was in stays:
        held.insert(_place(ours, held, merged), was)
    return held


def _place(ours: Version | None, seeded: Sequence[Seeded], merged: Document) -> int:
    """Where what was seeded of an entry of the target's goes: where that stands, since entries pair in file order."""
    places = {(entry.category, entry.body): number for number, entry in enumerate(merged.entries)}
    here = -1 if ours is None else places.get((ours.category, ours.body), -1)
    there = [places.get((each.category, Version.read(each.category, each.text).body), here) for each in seeded]
    return max((index + 1 for index, place in enumerate(there) if place < here), default=0)


def _rows(
    held: Document | None, base: Document, ours: Document, theirs: Document, conflicts: Sequence[Conflict]
) -> Iterator[SeedRow]:
    """How each entry stands: those of the slice in its order, then those that the source no longer has."""
    here, there, _ = pair_sides(base.entries, ours.entries, theirs.entries, links_of(held, base, ours, theirs))
    clashing = {said.key for each in conflicts if (said := each.theirs or each.ours)}
    was = {index: number for number, index in there.items()}
    taken = set(here.values())
    left = [entry for index, entry in enumerate(ours.entries) if index not in taken]
    free = Counter((entry.category, entry.body) for entry in left)
    for index, entry in enumerate(theirs.entries):
        version = Version.from_entry(entry)
        if version.key in clashing:
            yield SeedRow("conflict", version)
        elif index in was:
            number = was[index]
            ours_now = Version.from_entry(ours.entries[here[number]]) if number in here else None
            yield SeedRow(_state(Version.from_entry(base.entries[number]), ours_now, version), version)
        elif free[version.category, version.body]:
            free[version.category, version.body] -= 1
            yield SeedRow("in_sync", version)
        else:
            yield SeedRow("new", version)
    for number in range(len(base.entries)):
        if number in there or number not in here:
            continue
        version = Version.from_entry(ours.entries[here[number]])
        yield SeedRow("conflict" if version.key in clashing else "removed_from_source", version)


def _state(base: Version, ours: Version | None, theirs: Version) -> SeedRowState:
    if ours is None:
        return "removed_in_target"
    if ours.same_as(theirs):
        return "in_sync"
    if theirs.same_as(base) or (ours.body != base.body and only_verified(base, theirs)):
        return "changed_in_target"
    return "changed_in_source" if ours.same_as(base) else "changed_in_both"


# --- entries that a target shares with its source and no seed put there ----------------------------------------------


_NEARLY_ALL = 0.75
"""The least part of a target's own entries that makes it a clone."""

CLONED_HINT = "Most of its entries are clones of the source's that no seed put there: --replace-cloned takes them out. "


def cloned_entries(parts: SeedInputs, ours: Document, asked: Collection[str] | None = None) -> list[Entry]:
    """The entries of a target that stay clones beside what is seeded; none if more than a few are its own."""
    seeded = [Version.read(each.category, each.text) for each in (*(parts.base or ()), *parts.beside)]
    copies = set(pair_entries(seeded, ours.entries).values())
    unseeded = [
        entry
        for index, entry in enumerate(ours.entries)
        if index not in copies and (entry.category, entry.id) not in parts.held
    ]
    places = parts.offered.places
    cloned = [entry for entry in unseeded if entry.body in places]
    if len(cloned) < _NEARLY_ALL * len(unseeded):
        return []
    arriving = {each.key for each in parts.slice if each.withheld is None}
    own = [entry for entry in cloned if (entry.category, entry.id) not in arriving]
    return [entry for entry in own if asked is None or not places[entry.body].isdisjoint(asked)]


def without_cloned(parts: SeedInputs, ours: Document, cloned: Sequence[Entry]) -> Document:
    """The target's document without these entries."""
    if cloned and len(cloned) == len(ours.entries) and ours.title in {None, parts.offered.document.title}:
        return ours.reread("", titled=False)  # headers alone would be left
    for entry in reversed(cloned):
        ours = remove_entry(ours, entry).document
    return ours.reread(ours.text.lstrip("\n"), titled=False) if cloned else ours


def on_cloned(plan: FilePlan, *, replaced: bool) -> str:
    """What to know of clones that stay beside what is seeded, or that it takes the place of."""
    entries = counted(plan.cloned, "entry")
    if replaced:
        return f"{plan.target}: takes out {entries} that {plan.source} has too and that no seed put there"
    return f"{plan.target}: keeps {entries} that {plan.source} has too and that no seed put there; see --replace-cloned"
