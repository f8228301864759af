"""Bringing a slice of another file up to date in a text of our own: the merge of ``catmem seed``.

It differs from ``merge`` in whose text it is. Ours is edited, and what is not a change of theirs to an entry that we
left as we got it keeps its bytes: an entry that we reworded is ours, and so is one that merely looks like it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.model.merge import Merge, MergeOutcome, Merging, Sides, titled_sides
from catmem.model.pairing import pair_entries
from catmem.model.version import Conflict, Version

if TYPE_CHECKING:
    from catmem.model.document import Document
    from catmem.model.pairing import Links
    from catmem.model.version import Precedence, Reason


def merge_into(
    ours: Document, base: Document, theirs: Document, *, precedence: Precedence = "ours", held: Document | None = None
) -> Merge:
    """Bring their changes since ``base`` into our text."""
    # Where both sides changed an entry `precedence` says whose stays, and the conflict is reported all the same; of two
    # rewordings for which it says `None` both stay. That they only verified an entry which we reworded or removed is
    # none: they verified other words. `base` and `theirs` are parts of a file; what `ours` alone has is ours. `held` is
    # `base` in the words in which we held it last.
    read = list(titled_sides(base, ours, theirs))
    merging = _Bringing(Sides.of(read, links_of(held, *read)), precedence, swapped=False)
    return Merge(merging.run(), tuple(merging.conflicts), merging.doubles())


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
        said = self.decide("body", base, near, far)
        if said.instead is not None:
            return MergeOutcome([said.instead], "body")
        return MergeOutcome([near, far] if said.hand is None else [near if said.hand == "near" else far], "body")

    def resolve_additions(self) -> None:
        """A text that our category has already stays as it is; everything else arrives."""
        free: dict[tuple[str, str], list[int]] = {}
        for here in sorted(self.added_near, reverse=True):
            entry = self.near.entries[here]
            free.setdefault((entry.category, entry.body), []).append(here)
        for there in sorted(self.added_far):
            far = Version.of(self.far.entries[there])
            same = free.get((far.category, far.body))
            if same:
                self.slot_of[there] = self.slots[same.pop()]
            else:
                self.arrivals[there] = [far]

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
