"""The three-way merge, by entry and by tag: one implementation for drift, seeds, branches and git.

Laws, which property tests hold: ``merge(b, b, x) = x = merge(b, x, b) = merge(b, x, x)``; ``merge(b, x, y)`` and
``merge(b, y, x)`` give the same text; no text stands in more places than on the side that has it most often; words have
no ``verified_date`` but one that a side gave to these very words.

The merged text is one side's text with the other side's changes made to it as text edits, so what neither side touched
keeps its bytes. Which side that is, the texts decide and not their roles: that makes the merge symmetric.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from catmem.errors import wrong_type
from catmem.model.document import Document, TagValue, Version, parse
from catmem.model.pairing import Links, Pairs, is_reordered, pair_entries, pair_sides
from catmem.model.splice import Slot, headed, spliced, titled
from catmem.syntax import tags as tag_blocks

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_VERIFIED = "verified_date"
_EXPIRES = "expires"


Side = Literal["ours", "theirs"]
Reason = Literal["body", "removed", "tags", "category", "title"]

_Winner = Literal["near", "far"]
"""A side by its part in the merge: ``near`` is the text that is edited, ``far`` the one whose changes come into it."""


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


Precedence: TypeAlias = Side | Callable[[Conflict], Side | Version | None]
"""Who wins a conflict: a side, or a function that says it of each.

For a side it may also give what the entry is to say instead, and ``None`` to leave the conflict open. It is asked once
of each, in the order of the base; then of what both sides added, and of the title last.
"""


class Decision(NamedTuple):
    """The decision of one conflict: the side that wins, or a version instead of both; neither leaves it open."""

    winner: _Winner | None = None
    instead: Version | None = None

    @property
    def is_open(self) -> bool:
        """Whether nothing was decided."""
        return self.winner is None and self.instead is None

    def kept(self, near: Version | None, far: Version | None) -> list[Version]:
        """What stays of the two sides: what was given instead, the one that wins, or both."""
        if self.instead is not None:
            return [self.instead]
        sides = {"near": [near], "far": [far], None: [near, far]}[self.winner]
        return [each for each in sides if each is not None]


OPEN = Decision()


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
    precedence: Precedence | None = None,
) -> Merge:
    """Merge two versions of a memory file that come from one base.

    Documents are taken as they were parsed; text is parsed without declared categories. Changes to different entries,
    and to different tags of one entry, merge by themselves; of two days on which the same words were verified the later
    wins. ``precedence`` lets one side win every conflict, and then there are none; as a function it decides each by
    itself, and those of which it says ``None`` stay open.

    Raises ``NotUtf8Error`` and ``TooLargeError``, and ``EditError`` (``not_possible``) if no text says what was merged.
    """
    if not (callable(precedence) or precedence in (None, "ours", "theirs")):
        raise wrong_type("precedence", precedence, "a side ('ours', 'theirs') or a function")
    read = [side if isinstance(side, Document) else parse(side) for side in (base, ours, theirs)]
    return merge_linked(read[0], read[1], read[2], (None, None), precedence=precedence)


def merge_linked(
    base: Document,
    ours: Document,
    theirs: Document,
    links: tuple[Links | None, Links | None],
    *,
    precedence: Precedence | None = None,
) -> Merge:
    """The same merge, where a history knows which entries of the base became which of ours, and of theirs."""
    if theirs.text in {ours.text, base.text}:
        return Merge(ours.text, ())
    if ours.text == base.text:
        return Merge(theirs.text, ())
    read = list(titled_sides(base, ours, theirs))
    if [len(side.entries) for side in read] != [len(side.entries) for side in (base, ours, theirs)]:
        links = (None, None)  # a heading that was an entry is a title now, so the numbers are other ones
    sides = Sides.from_documents(read, links)
    base_versions, *side_versions = sides.versions
    moved = [
        is_reordered(base_versions, versions, pairs)
        for versions, pairs in zip(side_versions, sides.pairs[:2], strict=True)
    ]
    # Edited is the side that alone put entries into another order, else the one whose text sorts first: never by role.
    swapped = moved[1] if moved[0] != moved[1] else theirs.text < ours.text
    merging = Merging(sides.turned() if swapped else sides, precedence, swapped=swapped)
    return Merge(merging.run(), tuple(merging.conflicts))


class Sides(NamedTuple):
    """Three documents, the versions of their entries in that order, and which entry of the base is which of each."""

    base: Document
    near: Document
    far: Document
    versions: tuple[list[Version], ...]
    pairs: Pairs

    @classmethod
    def from_documents(
        cls, documents: Iterable[Document], links: tuple[Links | None, Links | None] = (None, None)
    ) -> Sides:
        """The base, the near and the far document, read and paired."""
        base, near, far = documents
        near, far = headed(near, base, far), headed(far, base, near)
        versions = Version.of_each(base, near, far)
        return cls(base, near, far, versions, pair_sides(versions[0], versions[1], versions[2], links))

    def turned(self) -> Sides:
        """The same with the other side as the near one."""
        base, near, far = self.versions
        one, other, unsure = self.pairs
        return Sides(self.base, self.far, self.near, (base, far, near), Pairs(other, one, unsure))


def titled_sides(*sides: Document) -> Iterator[Document]:
    """The sides with a title where one can be, if one of them has sections."""
    return map(titled, sides) if any(side.scan.headers for side in sides) else iter(sides)


class MergeOutcome(NamedTuple):
    """What becomes of one entry of the base."""

    versions: list[Version]
    reason: Reason | None
    is_open: bool = True


class Merging:
    """One merge in progress: ``near`` is the side that is edited, ``far`` the side whose changes are brought in."""

    def __init__(self, sides: Sides, precedence: Precedence | None, *, swapped: bool) -> None:
        """``swapped``: ``near`` is theirs."""
        self.base, self.near, self.far = sides[:3]
        self.pairs = sides.pairs
        self.precedence = precedence
        self.swapped = swapped
        self.conflicts: list[Conflict] = []
        # What stands instead of both sides, in neither of which its words are.
        self.instead: Counter[str] = Counter()
        self.base_versions, self.near_versions, self.far_versions = sides.versions
        entries = zip(self.near.entries, self.near_versions, strict=True)
        self.slots = [Slot(entry, [version]) for entry, version in entries]
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
        titles = {section.category: section.title for section in reversed(self.far.sections)}
        return spliced(self.near, self.slots, first, titles, self._title())

    def _resolve_base(self) -> None:
        near_pairs, far_pairs, unsure = self.pairs
        self.added_near = set(range(len(self.near_versions))) - set(near_pairs.values())
        self.added_far = set(range(len(self.far_versions))) - set(far_pairs.values())
        for index, base in enumerate(self.base_versions):
            near_index, far_index = near_pairs.get(index), far_pairs.get(index)
            if near_index is None and far_index is None:
                continue
            near = None if near_index is None else self.near_versions[near_index]
            far = None if far_index is None else self.far_versions[far_index]
            outcome = self._outcome(base, near, far)
            is_of_a_side = index in unsure and all(version in (near, far) for version in outcome.versions)
            if is_of_a_side and outcome.reason:
                # What stands there may be an addition. Who wins does not take it away; other words, once given, do.
                outcome = outcome._replace(versions=[each for each in (near, far) if each is not None])
            if outcome.reason:
                self.report(outcome.reason, base, near, far, is_open=outcome.is_open)
            self._settle(near_index, far_index, outcome.versions)

    def _settle(self, near_index: int | None, far_index: int | None, versions: list[Version]) -> None:
        """Leave in the near entry's slot what keeps its category; the rest arrives where the far side has it."""
        staying: list[Version] = []
        if near_index is not None:
            slot = self.slots[near_index]
            staying = [version for version in versions if version.category == slot.entry.category]
            slot.versions = staying
            if far_index is not None:
                self.slot_of[far_index] = slot
        leaving = [version for version in versions if version not in staying]
        if leaving and far_index is not None:
            self.arrivals[far_index] = leaving
        elif leaving and near_index is not None:
            self.slots[near_index].versions += leaving

    def _outcome(self, base: Version, near: Version | None, far: Version | None) -> MergeOutcome:
        if near is None or far is None:
            return self.removal(base, near, far)
        if far.same_as(base) or far.same_as(near):
            return MergeOutcome([near], None)
        if near.same_as(base):
            return MergeOutcome([far], None)
        return self.both_changed(base, near, far)

    def removal(self, base: Version, near: Version | None, far: Version | None) -> MergeOutcome:
        """What becomes of an entry that one side removed: it stays if the other changed it."""
        left = near or far
        if left is None or left.same_as(base):
            return MergeOutcome([], None)
        decision = self.decide("removed", base, near, far)
        return MergeOutcome(decision.kept(near, far), "removed", decision.is_open)

    def both_changed(self, base: Version, near: Version, far: Version) -> MergeOutcome:
        """What becomes of an entry that both sides changed, each in its way."""
        if base.body not in (near.body, far.body) and near.body != far.body:
            decision = self.decide("body", base, near, far)
            return MergeOutcome(decision.kept(near, far), "body", decision.is_open)
        body = far.body if near.body == base.body else near.body
        category = far.category if near.category == base.category else near.category
        tags, clash = merged_tags(base, near, far)
        moved_apart = base.category not in (near.category, far.category) and near.category != far.category
        if not (moved_apart or clash):
            return MergeOutcome([version_with(category, body, tags, near, far)], None)
        reason: Reason = "category" if moved_apart else "tags"
        decision = self.decide(reason, base, near, far)
        if decision.instead is not None:
            return MergeOutcome([decision.instead], reason, is_open=False)
        if decision.winner == "far":
            tags, _ = merged_tags(base, near, far, prefer_far=True)
            category = far.category if moved_apart else category
        return MergeOutcome([version_with(category, body, tags, near, far)], reason, decision.is_open)

    def decide(self, reason: Reason, base: Version | None, near: Version | None, far: Version | None) -> Decision:
        """Who wins a conflict, if anyone does."""
        if self.precedence is None:
            return OPEN
        chosen = (
            self.precedence(self._conflict(reason, base, near, far)) if callable(self.precedence) else self.precedence
        )
        if chosen is None:
            return OPEN
        if isinstance(chosen, Version):
            self.instead[chosen.body] += 1
            return Decision(instead=chosen)
        return Decision("near" if (chosen == "ours") != self.swapped else "far")

    def resolve_additions(self) -> None:
        """What both sides added is one entry; what only the far side added arrives."""
        free: dict[str, list[int]] = {}
        for near_index in sorted(self.added_near, reverse=True):
            free.setdefault(self.near_versions[near_index].body, []).append(near_index)
        for far_index in sorted(self.added_far):
            far = self.far_versions[far_index]
            if not free.get(far.body):
                self.arrivals[far_index] = [far]
                continue
            near_index = free[far.body].pop()
            self.slot_of[far_index] = slot = self.slots[near_index]
            version = self._one_of(self.near_versions[near_index], far)
            if version.category == slot.entry.category:
                slot.versions = [version]
            else:
                slot.versions, self.arrivals[far_index] = [], [version]

    def _one_of(self, near: Version, far: Version) -> Version:
        """The one entry that two additions of the same words are; it stays where the near side has it."""
        tags, clash = merged_tags(None, near, far)
        if not clash and near.category == far.category:
            return version_with(near.category, near.body, tags, near, far)
        reason: Reason = "tags" if clash else "category"
        decision = self.decide(reason, None, near, far)
        self.report(reason, None, near, far, is_open=decision.is_open)
        category = near.category
        if decision.winner == "far":
            tags, _ = merged_tags(None, near, far, prefer_far=True)
            category = far.category
        return decision.instead or version_with(category, near.body, tags, near, far)

    def drop_repeated(self) -> None:
        """Leave no text in more places than the side has it in that has it most often."""
        # Where the sides came to the same words from different entries, what they say otherwise of them is a conflict.
        near = Counter(version.body for version in self.near_versions)
        far = Counter(version.body for version in self.far_versions)
        seen: dict[str, list[tuple[list[Version], Version]]] = {}
        for versions in (
            *(slot.versions for slot in self.slots),
            *(self.arrivals[key] for key in sorted(self.arrivals)),
        ):
            for version in versions.copy():
                same = seen.setdefault(version.body, [])
                if len(same) < max(near[version.body], far[version.body], self.instead[version.body]):
                    same.append((versions, version))
                elif any(version.same_as(other) for _, other in same):
                    versions.remove(version)
                else:
                    same[-1] = self._one_left(*same[-1], versions, version)

    def _one_left(
        self, there: list[Version], first: Version, here: list[Version], second: Version
    ) -> tuple[list[Version], Version]:
        """Leave one of two entries with the same words, each of one side; returns it, and where it stands."""
        near, far = (second, first) if any(second.same_as(each) for each in self.near_versions) else (first, second)
        reason: Reason = "tags" if near.category == far.category else "category"
        decision = self.decide(reason, None, near, far)
        self.report(reason, None, near, far, is_open=decision.is_open)
        if decision.instead is None and (far if decision.winner == "far" else near) is second:
            there.remove(first)
            return here, second
        here.remove(second)
        left = decision.instead or first
        there[there.index(first)] = left
        return there, left

    def _keep_last(self) -> None:
        """Keep a text that each side has still, where one took out one of two places and the other the other."""
        left = {version.body for slot in self.slots for version in slot.versions}
        left |= {version.body for versions in self.arrivals.values() for version in versions}
        far = {version.body for version in self.far_versions}
        base = {version.body for version in self.base_versions}
        for slot, version in zip(self.slots, self.near_versions, strict=True):
            body = version.body
            if not slot.versions and body in far and body in base and body not in left:
                slot.versions = [version]
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

    def report(
        self, reason: Reason, base: Version | None, near: Version | None, far: Version | None, *, is_open: bool
    ) -> None:
        """Note a conflict, if it is open."""
        if is_open:
            self.conflicts.append(self._conflict(reason, base, near, far))

    def _conflict(self, reason: Reason, base: Version | None, near: Version | None, far: Version | None) -> Conflict:
        ours, theirs = (far, near) if self.swapped else (near, far)
        return Conflict(reason, base, ours, theirs)

    def _title(self) -> str | None:
        """The document's title: the far side's if only that changed it, else the near side's, with a conflict."""
        base, near, far = self.base.title, self.near.title, self.far.title
        if far in (base, near):
            return near
        if near == base:
            return far
        versions = [None if title is None else Version("", title, {}, title) for title in (base, near, far)]
        decision = self.decide("title", *versions)
        self.report("title", *versions, is_open=decision.is_open)
        if decision.instead is not None:
            return decision.instead.body
        return far if decision.winner == "far" else near


def version_with(category: str, body: str, tags: dict[str, TagValue], near: Version, far: Version) -> Version:
    """A version with this content; its text is that of a side that says the same, so its form is kept."""
    for side in (near, far):
        if (side.body, side.tags) == (body, tags):
            return Version(category, body, tags, side.text)
    return Version(category, body, tags, tag_blocks.write(tags, body))


def merged_tags(
    base: Version | None, near: Version, far: Version, *, prefer_far: bool = False
) -> tuple[dict[str, TagValue], bool]:
    """The tags of both sides, and whether they disagree on one; then the near side's counts, or the preferred one's.

    What one side set, changed or took away counts, and where both made different things of it they disagree. A new tag
    needs nothing here, unless its value is true of certain words (``_is_of_words``), or one of two values is the better
    from either side, as the later ``verified_date`` is.
    """
    merged: dict[str, TagValue] = {}
    clash = False
    before = {} if base is None else base.tags
    worded = near if base is None or near.body != base.body else far
    one_reworded = near.body != far.body
    for key in {**(worded.tags if one_reworded else {}), **near.tags, **far.tags}:
        was, here, there = before.get(key), near.tags.get(key), far.tags.get(key)
        if one_reworded and _is_of_words(key, was, here, there, worded):
            value = worded.tags.get(key)
        elif there in (here, was):
            value = here
        elif here == was:
            value = there
        elif key == _VERIFIED and _is_date(here) and _is_date(there):
            value = max(str(here), str(there))
        else:
            clash = True
            value = there if prefer_far else here
        if value is not None:
            merged[key] = value
    return merged, clash


def _is_of_words(
    key: str, was: TagValue | None, here: TagValue | None, there: TagValue | None, worded: Version
) -> bool:
    """Whether a tag is as the side says that reworded the entry: the other one verified other words.

    For the same reason that one cannot let them hold longer, by taking ``expires`` away or by a later day.
    """
    return key == _VERIFIED or (key == _EXPIRES and worded.tags.get(key) == was and _is_longer(here, there, was))


def _is_longer(here: TagValue | None, there: TagValue | None, was: TagValue | None) -> bool:
    """Whether, of two days of expiry, the one that is not as it was is later than that, or none."""
    changed = there if here == was else here
    return was is not None and not (_is_date(changed) and str(changed) <= str(was))


def _is_date(value: TagValue | None) -> bool:
    return isinstance(value, str) and _ISO_DATE.fullmatch(value) is not None


# --- the merge of ``catmem seed`` ------------------------------------------------------------------------------------


def merge_into(
    ours: Document, base: Document, theirs: Document, *, precedence: Precedence = "ours", held: Document | None = None
) -> Merge:
    """Bring their changes since ``base`` into our text."""
    # Where both sides changed an entry `precedence` says whose stays, and the conflict is reported all the same; of two
    # rewordings for which it says `None` both stay. That they only verified an entry which we reworded or removed is
    # none: they verified other words. `base` and `theirs` are parts of a file; what `ours` alone has is ours. `held` is
    # `base` in the words in which we held it last.
    read = list(titled_sides(base, ours, theirs))
    merging = _Bringing(Sides.from_documents(read, links_of(held, *read)), precedence, swapped=False)
    return Merge(merging.run(), tuple(merging.conflicts))


def links_of(held: Document | None, base: Document, ours: Document, theirs: Document) -> tuple[Links, None]:
    """Which of our entries those of ``base`` are that we hold in words of our own, unless theirs says these by now."""
    pairs = {} if held is None else pair_entries(held.entries, ours.entries)
    said = {each.body for each in (*base.entries, *theirs.entries)}
    return {index: place for index, place in pairs.items() if ours.entries[place].body not in said}, None


class _Bringing(Merging):
    """One such merge: ``near`` is ours."""

    def removal(self, base: Version, near: Version | None, far: Version | None) -> MergeOutcome:
        if near is None and far is not None and only_verified(base, far):
            return MergeOutcome([], None)
        return super().removal(base, near, far)

    def both_changed(self, base: Version, near: Version, far: Version) -> MergeOutcome:
        if near.body in {base.body, far.body}:
            return super().both_changed(base, near, far)
        if only_verified(base, far):
            return MergeOutcome([near], None)
        return MergeOutcome(self.decide("body", base, near, far).kept(near, far), "body")

    def resolve_additions(self) -> None:
        """A text that our category has already stays as it is; everything else arrives."""
        free: dict[tuple[str, str], list[int]] = {}
        for near_index in sorted(self.added_near, reverse=True):
            entry = self.near.entries[near_index]
            free.setdefault((entry.category, entry.body), []).append(near_index)
        for far_index in sorted(self.added_far):
            far = self.far_versions[far_index]
            same = free.get((far.category, far.body))
            if same:
                self.slot_of[far_index] = self.slots[same.pop()]
            else:
                self.arrivals[far_index] = [far]

    def drop_repeated(self) -> None:
        """What they reworded into a text that our category has already does not make it stand there twice."""
        kept = {
            (slot.entry.category, slot.entry.body)
            for slot in self.slots
            if slot.versions and slot.versions[0].text == slot.entry.text
        }
        for versions, own in (
            *((slot.versions, slot.entry.text) for slot in self.slots),
            *((versions, None) for versions in self.arrivals.values()),
        ):
            first = 1 if versions and versions[0].text == own else 0
            versions[first:] = [each for each in versions[first:] if (each.category, each.body) not in kept]

    def report(
        self, reason: Reason, base: Version | None, near: Version | None, far: Version | None, *, is_open: bool
    ) -> None:
        del is_open  # precedence is only for what stays until a person has looked at it
        self.conflicts.append(Conflict(reason, base, near, far))


def only_verified(base: Version, far: Version) -> bool:
    """Whether they changed nothing of an entry but the day of its verification."""
    without = [{key: value for key, value in each.tags.items() if key != "verified_date"} for each in (base, far)]
    return (base.category, base.body, without[0]) == (far.category, far.body, without[1])
