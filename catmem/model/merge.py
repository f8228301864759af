"""The three-way merge, by entry and by tag: one implementation for drift, seeds, branches and git.

Laws, which property tests hold: ``merge(b, b, x) = x = merge(b, x, b) = merge(b, x, x)``; ``merge(b, x, y)`` and
``merge(b, y, x)`` give the same text; no text stands in more places than on the side that has it most often.

The merged text is one side's text with the other side's changes made to it as text edits, so what neither side touched
keeps its bytes. Which side that is, the texts decide and not their roles: that makes the merge symmetric.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from catmem.model.document import Document, parse
from catmem.model.pairing import pair_entries
from catmem.model.splice import Slot, spliced, titled
from catmem.model.version import Version
from catmem.syntax import tags as tag_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.model.document import TagValue

Side = Literal["ours", "theirs"]
Reason = Literal["body", "removed", "tags", "category", "title"]

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_LATER_WINS = frozenset({"verified_date"})


@dataclass(frozen=True, slots=True)
class Conflict:
    """Where the two sides disagree; a side that removed the entry is ``None``, and so is the base of two additions.

    ``reason`` is ``body`` (both reworded it), ``removed`` (one reworded, tagged or moved what the other removed),
    ``tags``, ``category``, or ``title`` (of the document). Of the first, the merged text holds both versions; of the
    others it holds one.
    """

    reason: Reason
    base: Version | None
    ours: Version | None
    theirs: Version | None


@dataclass(frozen=True, slots=True)
class Merge:
    """A merged text, and what a person has to look at in it."""

    text: str
    conflicts: tuple[Conflict, ...]


def merge(
    base: str | bytes | Document,
    ours: str | bytes | Document,
    theirs: str | bytes | Document,
    *,
    precedence: Side | None = None,
) -> Merge:
    """Merge two versions of a memory file that come from one base.

    Documents are taken as they were parsed; text is parsed without declared categories. Changes to different entries,
    and to different tags of one entry, merge by themselves; of two ``verified_date`` s the later wins. ``precedence``
    lets one side win every conflict, and then there are none.

    Raises ``NotUtf8Error`` and ``TooLargeError``, and ``EditError`` (``not_possible``) if no text says what was merged.
    """
    b, o, t = (side if isinstance(side, Document) else parse(side) for side in (base, ours, theirs))
    if t.text in {o.text, b.text}:
        return Merge(o.text, ())
    if o.text == b.text:
        return Merge(t.text, ())
    b, o, t = alike(b, o, t)
    # The side whose text sorts first is the one that is edited, whatever its role.
    swapped = t.text < o.text
    merging = Merging(b, *((t, o) if swapped else (o, t)), precedence, swapped=swapped)
    return Merge(merging.run(), tuple(merging.conflicts))


def alike(*sides: Document) -> Iterator[Document]:
    """The sides with a title where one can be, if one of them has sections."""
    return map(titled, sides) if any(side.scan.headers for side in sides) else iter(sides)


class Outcome(NamedTuple):
    """What becomes of one entry of the base."""

    versions: list[Version]
    reason: Reason | None


class Merging:
    """One merge in progress: ``near`` is the side that is edited, ``far`` the side whose changes are brought in."""

    def __init__(
        self, base: Document, near: Document, far: Document, precedence: Side | None, *, swapped: bool
    ) -> None:
        """``swapped``: ``near`` is theirs."""
        self.base, self.near, self.far = base, near, far
        self.precedence = precedence
        self.swapped = swapped
        self.conflicts: list[Conflict] = []
        self.slots = [Slot(entry, [Version.of(entry)]) for entry in near.entries]
        # What the far side brings: by its index in `far`, the versions to put where it stands there.
        self.arrivals: dict[int, list[Version]] = {}
        # Which slot of `near` an entry of `far` corresponds to, so that arrivals know their neighbours.
        self.slot_of: dict[int, Slot] = {}

    def run(self) -> str:
        """The merged text."""
        self._resolve_base()
        self.resolve_additions()
        self.drop_repeated()
        self._keep_last()
        first = self._place_arrivals()
        return spliced(self.near, self.slots, first, self._titles(), self._title())

    def _resolve_base(self) -> None:
        near_pairs = pair_entries(self.base.entries, self.near.entries)
        far_pairs = pair_entries(self.base.entries, self.far.entries)
        self.added_near = set(range(len(self.near.entries))) - set(near_pairs.values())
        self.added_far = set(range(len(self.far.entries))) - set(far_pairs.values())
        for index, entry in enumerate(self.base.entries):
            here, there = near_pairs.get(index), far_pairs.get(index)
            if here is None and there is None:
                continue
            near = None if here is None else Version.of(self.near.entries[here])
            far = None if there is None else Version.of(self.far.entries[there])
            base = Version.of(entry)
            outcome = self._outcome(base, near, far)
            if outcome.reason:
                self.report(outcome.reason, base, near, far)
            self._settle(here, there, outcome.versions)

    def _settle(self, here: int | None, there: int | None, versions: list[Version]) -> None:
        """Leave in the near entry's slot what keeps its category; the rest arrives where the far side has it."""
        staying: list[Version] = []
        if here is not None:
            slot = self.slots[here]
            staying = [version for version in versions if version.category == slot.entry.category]
            slot.versions = staying
            if there is not None:
                self.slot_of[there] = slot
        leaving = [version for version in versions if version not in staying]
        if leaving and there is not None:
            self.arrivals[there] = leaving
        elif leaving and here is not None:
            self.slots[here].versions += leaving

    def _outcome(self, base: Version, near: Version | None, far: Version | None) -> Outcome:
        if near is None or far is None:
            return self.removal(base, near, far)
        if near.says(base):
            return Outcome([far], None)
        if far.says(base) or far.says(near):
            return Outcome([near], None)
        return self.both_changed(base, near, far)

    def removal(self, base: Version, near: Version | None, far: Version | None) -> Outcome:
        """What becomes of an entry that one side removed: it stays if the other changed it."""
        left = near or far
        if left is None or left.says(base):
            return Outcome([], None)
        winner = self.winner()
        if winner is not None:
            left = near if winner == "near" else far
        return Outcome([] if left is None else [left], "removed")

    def both_changed(self, base: Version, near: Version, far: Version) -> Outcome:
        """What becomes of an entry that both sides changed, each in its way."""
        winner = self.winner()
        if base.body not in (near.body, far.body) and near.body != far.body:
            both = [near, far] if winner is None else [near if winner == "near" else far]
            return Outcome(both, "body")
        body = far.body if near.body == base.body else near.body
        category = far.category if near.category == base.category else near.category
        tags, clash = _merged_tags(base.tags, near.tags, far.tags, prefer_far=winner == "far")
        moved_apart = base.category not in (near.category, far.category) and near.category != far.category
        if moved_apart and winner == "far":
            category = far.category
        reason: Reason | None = "category" if moved_apart else "tags" if clash else None
        return Outcome([made(category, body, tags, near, far)], reason)

    def winner(self) -> Literal["near", "far"] | None:
        """The side that wins conflicts, if one does."""
        if self.precedence is None:
            return None
        return "near" if (self.precedence == "ours") != self.swapped else "far"

    def resolve_additions(self) -> None:
        """What both sides added is one entry; what only the far side added arrives."""
        free: dict[str, list[int]] = {}
        for here in sorted(self.added_near, reverse=True):
            free.setdefault(self.near.entries[here].body, []).append(here)
        for there in sorted(self.added_far):
            far = Version.of(self.far.entries[there])
            if not free.get(far.body):
                self.arrivals[there] = [far]
                continue
            slot = self.slots[free[far.body].pop()]
            self.slot_of[there] = slot
            near = Version.of(slot.entry)
            winner = self.winner()
            tags, clash = _merged_tags({}, near.tags, far.tags, prefer_far=winner == "far")
            slot.versions = [made(near.category, near.body, tags, near, far)]
            if clash or near.category != far.category:
                self.report("tags" if clash else "category", None, near, far)

    def drop_repeated(self) -> None:
        """Leave no text in more places than the side has it in that has it most often."""
        near = Counter(entry.body for entry in self.near.entries)
        far = Counter(entry.body for entry in self.far.entries)
        seen: Counter[str] = Counter()
        for versions in (
            *(slot.versions for slot in self.slots),
            *(self.arrivals[key] for key in sorted(self.arrivals)),
        ):
            for version in versions.copy():
                seen[version.body] += 1
                if seen[version.body] > max(near[version.body], far[version.body]):
                    versions.remove(version)

    def _keep_last(self) -> None:
        """Keep a text that each side has still, where one took out one of two places and the other the other."""
        left = {version.body for slot in self.slots for version in slot.versions}
        left |= {version.body for versions in self.arrivals.values() for version in versions}
        far = {entry.body for entry in self.far.entries}
        base = {entry.body for entry in self.base.entries}
        for slot in self.slots:
            body = slot.entry.body
            if not slot.versions and body in far and body in base and body not in left:
                slot.versions = [Version.of(slot.entry)]
                left.add(body)

    def _place_arrivals(self) -> dict[str, list[Version]]:
        """Put each arrival behind its neighbour of the far side; what has none there comes first in its category."""
        first: dict[str, list[Version]] = {}
        neighbour: dict[str, Slot] = {}
        for index, entry in enumerate(self.far.entries):
            for version in self.arrivals.get(index, ()):
                if version.category in neighbour:
                    neighbour[version.category].behind.append(version)
                else:
                    first.setdefault(version.category, []).append(version)
            slot = self.slot_of.get(index)
            if slot is not None and slot.entry.category == entry.category:
                neighbour[entry.category] = slot
        return first

    def report(self, reason: Reason, base: Version | None, near: Version | None, far: Version | None) -> None:
        """Note a conflict, if it is open."""
        if self.precedence is not None:
            return
        ours, theirs = (far, near) if self.swapped else (near, far)
        self.conflicts.append(Conflict(reason, base, ours, theirs))

    def _title(self) -> str | None:
        """The document's title: the far side's if only that changed it, else the near side's, with a conflict."""
        base, near, far = self.base.title, self.near.title, self.far.title
        if far in (base, near):
            return near
        if near == base:
            return far
        versions = [None if title is None else Version("", title, {}, title) for title in (base, near, far)]
        self.report("title", *versions)
        return far if self.winner() == "far" else near

    def _titles(self) -> dict[str, str]:
        return {section.category: section.title for section in reversed(self.far.sections)}


def made(category: str, body: str, tags: dict[str, TagValue], near: Version, far: Version) -> Version:
    """A version with this content; its text is that of a side that says the same, so its form is kept."""
    for side in (near, far):
        if (side.body, side.tags) == (body, tags):
            return Version(category, body, tags, side.text)
    return Version(category, body, tags, tag_blocks.write(tags, body))


def _merged_tags(
    base: dict[str, TagValue], near: dict[str, TagValue], far: dict[str, TagValue], *, prefer_far: bool
) -> tuple[dict[str, TagValue], bool]:
    """The tags of both sides, and whether they disagree on one; then the near side's counts, or the preferred one's."""
    merged: dict[str, TagValue] = {}
    clash = False
    for key in _in_order([*near, *far]):
        was, here, there = base.get(key), near.get(key), far.get(key)
        if there in (here, was):
            value = here
        elif here == was:
            value = there
        elif key in _LATER_WINS and _is_date(here) and _is_date(there):
            value = max(str(here), str(there))
        else:
            clash = True
            value = there if prefer_far else here
        if value is not None:
            merged[key] = value
    return merged, clash


def _in_order(keys: Sequence[str]) -> Iterator[str]:
    return iter(dict.fromkeys(keys))


def _is_date(value: TagValue | None) -> bool:
    return isinstance(value, str) and _ISO_DATE.fullmatch(value) is not None
