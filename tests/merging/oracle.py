"""What is wrong with a merge, judged by the edits that were made and never by the texts alone.

The measures, exactly. ``S`` is a side, ``B`` the words of an entry of the base.

*hidden*: an entry that both sides reworded, to different words, or that one reworded and the other removed, and no
conflict that is told names any of its words: those of the base, of ours, of theirs. Not counted is an entry in all new
words in a section whose order that side changed (*adrift*): the same texts come of a removal and an addition. *silent* is a hidden one where no
conflict is told at all.

*untold*: the same for the other conflicts (removed here, tagged or moved there; one tag set to two values; moved to two
categories), but only where it is clear which entry is which.

*false*: a conflict is told that is not allowed. Each side's edits touch places in the base: a reworded, tagged, removed
or moved entry its own; an arrival (by addition or by move) all between the nearest entries of the base around it that
stayed. A conflict is allowed if our edits touch a place and theirs touch the same entry, an adjacent one, or the gap
directly beside it, and the conflict names words that stand for one of the two places. Two arrivals in one gap are none
such, but two additions that share half of their words are. What both did alike touches nothing.

*clear*: between two entries that a side left where and as they were, or whose words say which they are, its changed
entries are as many as those of the base, in their order, or none; then place says which is which. Else the merge may
read another edit into the text than was made, and only what holds for every reading is asked of it.

*lost*: words that a side wrote, or that both kept, are not in the text. *resurrected*: words are in it that a side
reworded or removed, and no conflict names them; or words of the base that neither side has. *doubled*: a text stands more often
than on either side. *invented*: words of no side. *misplaced*, *tags*: a clear entry, of which no conflict is told, is in
another category than was meant, or has other tags. *reordered*: such entries do not stand in the order that a side gave
them, in a section into or in which the other side moved nothing. *misnamed*: a clear conflict is told, but not with
the three versions that there are. *asymmetric*: the sides turned give another text or other conflicts. *precedence*: with
``ours`` or ``theirs`` a conflict is left, the words of the loser stand, those of the winner do not, or an edit that is
in no conflict, or in none that is near it, is not in the text. *error*: the merge raises.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from catmem import merge
from catmem.model.document import parse
from tests.merging.scripts import HEAD, Item, Scene, Side, share

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from catmem.model.merge import Conflict

KINDS = (
    "hidden",
    "untold",
    "false",
    "lost",
    "resurrected",
    "doubled",
    "invented",
    "misplaced",
    "reordered",
    "tags",
    "misnamed",
    "asymmetric",
    "precedence",
    "error",
)
GRAVE = frozenset(KINDS) - {"reordered", "misnamed", "precedence"}
"""What happens in no merge at all. The others are a matter of which of two readings of the same texts is taken, and happen
in about one scene of 4,000: with moved neighbours a conflict may name another addition, or an order may be the other side's."""


SILENT = "no conflict at all is told: "
EITHER: dict[str, str] = {}
"""The tags of words that both sides found by themselves, each with tags of its own."""


class Mistake(NamedTuple):
    """One thing that is wrong; ``text`` says with which entry."""

    kind: str
    text: str


class Told(NamedTuple):
    """A conflict as a door told it: the reason, and the words of the base, of ours and of theirs."""

    reason: str
    base: str | None
    ours: str | None
    theirs: str | None

    @classmethod
    def of(cls, conflict: Conflict) -> Told:
        """A conflict of ``catmem.merge``."""
        versions = (conflict.base, conflict.ours, conflict.theirs)
        return cls(conflict.reason, *(None if version is None else version.body for version in versions))

    @property
    def words(self) -> set[str]:
        """What it names."""
        return {body for body in self[1:] if body is not None}


class Due(NamedTuple):
    """A conflict that there is: the entry of the base, and what the sides made of it."""

    reason: str
    origin: int
    base: str
    ours: str | None
    theirs: str | None
    clear: bool

    @property
    def words(self) -> set[str]:
        """What a conflict may name to tell it."""
        return {body for body in self[2:5] if body is not None}

    @property
    def is_core(self) -> bool:
        """Whether the words themselves are at stake."""
        return self.reason == "body" or (self.reason == "removed" and self.base not in self[3:5])


def category(title: str) -> str:
    """The category of a section of a scene."""
    return title.lower() if title != HEAD else "__uncategorized__"


class Reading:
    """What one side did to the base, by its script: which places it touched, and which entries are clear."""

    def __init__(self, base: Side, side: Side) -> None:
        self.side = side
        self.base = {item.origin: (title, item) for title, _, item in base.items}
        self.now = {item.origin: (title, item) for title, _, item in side.items if item.origin is not None}
        self.touched: dict[tuple[str, int], set[str]] = {}
        """Places, and the words that stand for them. An entry ``n`` of a section is ``2 n + 1``, the gap before it ``2 n``."""
        self.clear: set[int] = set()
        self.adrift: set[int] = set()
        self.unclear = set(self._misleading(base))
        self.clear_additions: set[str] = set()
        self.places = {item.origin: (title, 2 * place + 1) for title, place, item in base.items}
        for title in {*base.sections, *side.sections}:
            self._read(title, base.sections.get(title, []), side.sections.get(title, []))
        self.clear -= self.unclear
        gone = [item.body for origin, (_, item) in self.base.items() if origin not in self.now]
        self.clear_additions -= {
            body for body in self.clear_additions if any(2 * share(body, old) >= 1 for old in gone)
        }
        for origin, (title, item) in self.base.items():
            here = self.now.get(origin)
            if here is None or here[0] != title or here[1][1:4] != item[1:4]:
                self._touch(self.places[origin], {item.body} | ({here[1].body} if here else set()))

    def _misleading(self, base: Side) -> Iterator[int]:
        """Entries whose place or words say something else than the script does.

        One that was removed, and an addition is like it; one that has more of the words of another that changed; one
        with other words, and its neighbours changed their order: then it may as well be what was put elsewhere.
        """
        added = [item.body for _, _, item in self.side.items if item.origin is None]
        changed = {
            origin: item.body
            for origin, (_, item) in self.now.items()
            if item.body != self.base[origin][1].body and not item.known
        }
        shifted = {title for origin, (title, item) in self.now.items() if item.moved and self.base[origin][0] == title}
        for title, _, item in base.items:
            origin = item.origin
            if origin not in self.now:
                if any(2 * share(item.body, body) >= 1 for body in added) or (added and title in shifted):
                    yield origin
            elif origin in changed:
                if title in shifted:
                    self.adrift.add(origin)
                    yield origin
                own = share(item.body, changed[origin])
                for other, (_, rival) in self.base.items():
                    is_gone = other in changed or other not in self.now
                    if other != origin and is_gone and share(rival.body, changed[origin]) > own:
                        yield from (origin, other)

    def _touch(self, place: tuple[str, int], words: set[str]) -> None:
        self.touched.setdefault(place, set()).update(words)

    def _read(self, title: str, before: list[Item], after: list[Item]) -> None:
        numbers = {item.origin: number for number, item in enumerate(before)}
        fixed = [
            place
            for place, item in enumerate(after)
            if item.origin in numbers
            and not item.moved
            and (item.body == before[numbers[item.origin]].body or item.known)
        ]
        ends = [(-1, -1), *((place, numbers[after[place].origin]) for place in fixed), (len(after), len(before))]
        self.clear.update(after[place].origin for place in fixed)
        for (here, there), (next_here, next_there) in pairwise(ends):
            self._read_run(
                title, before[there + 1 : next_there], after[here + 1 : next_here], 2 * there + 2, 2 * next_there
            )

    def _read_run(self, title: str, before: list[Item], after: list[Item], first: int, last: int) -> None:
        """Read what stands between two entries that stayed; ``first`` and ``last`` are the gaps at its ends."""
        same = {origin for origin, (_, item) in self.now.items() if item.body == self.base[origin][1].body}
        old = [item.origin for item in before if item.origin not in same]
        new = [item.origin for item in after if item.origin not in same]
        # Of two that changed places either may have moved: then no place says what an entry in all new words was.
        here = [self.now[item.origin][1] for item in before if item.origin in self.now] + after
        is_moved = any(item.moved for item in here) and any(
            item.origin is not None and item.origin not in same and not item.known for item in after
        )
        is_clear = not is_moved and (not old or not new or old == new)
        for item in (*before, *after):
            if item.origin in same or (is_clear and item.origin is not None):
                self.clear.add(item.origin)
            elif is_clear:
                self.clear_additions.add(item.body)
            elif item.origin is not None:
                self.unclear.add(item.origin)
        words = {item.body for item in after}
        for item in after:
            if item.origin is None or item.moved:
                for place in range(first, last + 1):
                    self._touch((title, place), {item.body})
        if not is_clear:
            for place in range(first + 1, last, 2):
                self._touch((title, place), words | {item.body for item in before})


@dataclass(frozen=True)
class Oracle:
    """What is right for a scene."""

    scene: Scene

    @cached_property
    def sides(self) -> tuple[Reading, Reading]:
        """Both sides, read."""
        return Reading(self.scene.base, self.scene.ours), Reading(self.scene.base, self.scene.theirs)

    @cached_property
    def due(self) -> list[Due]:
        """The conflicts that there are."""
        return list(self._due())

    def _due(self) -> Iterator[Due]:
        ours, theirs = self.sides
        for origin, (title, was) in ours.base.items():
            here, there = ours.now.get(origin), theirs.now.get(origin)
            clear = origin in ours.clear and origin in theirs.clear
            bodies = (here and here[1].body, there and there[1].body)
            if here is None or there is None:
                stays = here or there
                if stays and (stays[0], *stays[1][1:3]) != (title, *was[1:3]):
                    yield Due("removed", origin, was.body, *bodies, clear)
            else:
                if was.body not in bodies and bodies[0] != bodies[1]:
                    yield Due("body", origin, was.body, *bodies, clear)
                    continue
                if merged_tags(was, here[1], there[1]) is None:
                    yield Due("tags", origin, was.body, *bodies, clear)
                if len({title, here[0], there[0]}) == 3:
                    yield Due("category", origin, was.body, *bodies, clear)

    @property
    def words(self) -> set[str]:
        """All that stands anywhere."""
        return {
            item.body for side in (self.scene.base, self.scene.ours, self.scene.theirs) for _, _, item in side.items
        }

    @cached_property
    def touched(self) -> list[dict[tuple[str, int], set[str]]]:
        """What each side touched and the other did not touch in the same way."""
        ours, theirs = self.sides
        alike = {
            ours.places[origin]
            for origin in ours.clear & theirs.clear
            if (here := ours.now.get(origin)) == (there := theirs.now.get(origin))
            or (here and there and (here[0], *here[1][:3]) == (there[0], *there[1][:3]))
        }
        return [{place: words for place, words in side.touched.items() if place not in alike} for side in self.sides]

    def may_conflict(self) -> bool:
        """Whether there is any conflict that would not be false."""
        return any(self._is_allowed(Told("body", body, None, None)) for body in self.words)

    def judge(self, text: str, told: Collection[Told]) -> Iterator[Mistake]:
        """What is wrong with a result of which conflicts are told and stand in the text."""
        yield from self.judge_told(told)
        yield from self.judge_text(text, told)

    def judge_text(self, text: str, told: Collection[Told]) -> Iterator[Mistake]:
        """What is wrong with a text, where these conflicts are told."""
        named = {body for each in told for body in each.words}
        yield from self._judge_bodies(text, named, told)
        yield from self._judge_entries(text, named)

    def judge_told(self, told: Collection[Told]) -> Iterator[Mistake]:
        """Whether the conflicts that are told are those that there are."""
        named = {body for each in told for body in each.words}
        for due in self.due:
            if not due.words & named:
                if due.is_core and not any(due.origin in reading.adrift for reading in self.sides):
                    yield Mistake("hidden", f"{'' if told else SILENT}{due}")
                elif due.clear and not due.is_core:
                    yield Mistake("untold", str(due))
            elif due.clear and due.is_core and not any(each[1:] == due[2:5] for each in told):
                yield Mistake("misnamed", f"{due} is told as {[each for each in told if each.words & due.words]}")
        for each in told:
            if not self._is_allowed(each):
                yield Mistake("false", str(each))

    def _is_allowed(self, told: Told) -> bool:
        if told.reason == "title":
            return True
        if told.base is None and told.ours and told.theirs and 2 * share(told.ours, told.theirs) >= 1:
            return True
        ours, theirs = self.touched
        return any(
            section == other_section and _are_near(place, other) and (words | other_words) & told.words
            for (section, place), words in ours.items()
            for (other_section, other), other_words in theirs.items()
        )

    def _judge_bodies(self, text: str, named: set[str], told: Collection[Told]) -> Iterator[Mistake]:
        stands = bodies(text)
        ours, theirs = (Counter(item.body for _, _, item in reading.side.items) for reading in self.sides)
        base = {item.body: origin for origin, (_, item) in self.sides[0].base.items()}
        due = {one.origin for one in self.due}
        for body in sorted({*ours, *theirs} - set(stands)):
            if body not in base or (body in ours and body in theirs):
                yield Mistake("lost", body)
            elif base[body] in {
                one.origin for one in self.due if one.reason == "removed" and not one.is_core and one.clear
            }:
                yield Mistake("lost", f"{body} (tagged or moved on one side, removed on the other)")
        for body, count in sorted(stands.items()):
            if body not in ours and body not in theirs:
                yield Mistake("resurrected" if body in base else "invented", f"{body} (of neither side)")
            elif body in base and not (body in ours and body in theirs) and body not in named and base[body] not in due:
                yield Mistake("resurrected", body)
            elif count > max(ours[body], theirs[body]):
                yield Mistake("doubled", body)

    def _clear_entries(self, named: set[str]) -> Iterator[tuple[str, Item]]:
        """The entries of which everything is known and no conflict is told: the section, and what each is to be."""
        ours, theirs = self.sides
        for origin, (title, was) in ours.base.items():
            here, there = ours.now.get(origin), theirs.now.get(origin)
            if here is None or there is None or not (origin in ours.clear and origin in theirs.clear):
                continue
            if any(due.origin == origin for due in self.due):
                continue
            body = here[1].body if here[1].body != was.body else there[1].body
            tags = merged_tags(was, here[1], there[1])
            if tags is not None and not {was.body, here[1].body, there[1].body} & named:
                yield here[0] if here[0] != title else there[0], Item(origin, body, tags)
        unclear = (
            {item.body for one in self.sides for _, _, item in one.side.items}
            - ours.clear_additions
            - theirs.clear_additions
        )
        for reading in self.sides:
            for title, _, item in reading.side.items:
                if item.origin is None and item.body not in named | unclear:
                    yield title, item

    def _judge_entries(self, text: str, named: set[str]) -> Iterator[Mistake]:
        entries = {entry.body: entry for entry in parse(text).entries}
        additions = [
            {item.body: title for title, _, item in reading.side.items if item.origin is None} for reading in self.sides
        ]
        clear = dict[str, str]()
        for title, item in self._clear_entries(named):
            entry = entries.get(item.body)
            if entry is None:
                continue
            titles = {title} | {added[item.body] for added in additions if item.body in added}
            if entry.category not in {category(each) for each in titles}:
                yield Mistake("misplaced", f"{item.body} is in {entry.category}, not in {category(title)}")
            elif entry.tags != item.tags and item.tags is not EITHER:
                yield Mistake("tags", f"{item.body} has {entry.tags}, not {item.tags}")
            clear[item.body] = entry.category
        yield from self._judge_order(text, set(clear))

    def _judge_order(self, text: str, clear: set[str]) -> Iterator[Mistake]:
        """In a section where the other side moved nothing, a side's entries stand as that side has them."""
        for reading, other in (self.sides, self.sides[::-1]):
            became = {reading.now[o][1].body: other.now[o][1].body for o in reading.now if o in other.now}
            was = {reading.now[o][1].body: reading.base[o][1].body for o in reading.now}
            if any(item.moved for _, _, item in other.side.items):
                continue
            for title, items in reading.side.sections.items():
                order = [entry.body for entry in parse(text).entries if entry.category == category(title)]
                wanted = [
                    became.get(item.body, item.body) if item.body == was.get(item.body) else item.body for item in items
                ]
                # What both sides added stands where one of them put it.
                both = {item.body for _, _, item in other.side.items if item.origin is None}
                # An entry in all new words may be read as another one, which stands where that side has it.
                both |= {
                    item.body
                    for each in (reading, other)
                    for _, _, item in each.side.items
                    if item.origin is not None and item.body != each.base[item.origin][1].body and not item.known
                }
                wanted = [body for body in wanted if body in clear and body in order and body not in both]
                found = [body for body in order if body in set(wanted)]
                if found != wanted:
                    yield Mistake("reordered", f"{title}: {found}, not {wanted}")

    def judge_decided(
        self, text: str, left: Collection[Told], told: Collection[Told], winner: str
    ) -> Iterator[Mistake]:
        """What is wrong where one side wins; ``told`` are the conflicts of the merge before anybody decided."""
        if left:
            yield Mistake("precedence", f"with {winner} there is left: {list(left)}")
        stands = bodies(text)
        named = {body for each in told for body in each.words}
        for due in self.due:
            if due.is_core and due.clear:
                won, lost = (due.ours, due.theirs) if winner == "ours" else (due.theirs, due.ours)
                if won is not None and won not in stands:
                    yield Mistake("precedence", f"{winner} won, and its words are gone: {due}")
                if (lost is not None and lost in stands) or due.base in stands:
                    yield Mistake("precedence", f"{winner} won, and other words stand: {due}")
        yield from self._judge_bystanders(set(stands), named, winner)
        for mistake in self._judge_bodies(text, named, told):
            body = mistake.text.partition(" (")[0]
            if mistake.kind != "lost" or body not in named:
                yield Mistake("precedence", f"with {winner}: {mistake.kind}: {mistake.text}")

    def _judge_bystanders(self, stands: set[str], named: set[str], winner: str) -> Iterator[Mistake]:
        """What one side's win may not take along: an entry that both have, and what is far from all that it touched."""
        near, far = self.sides if winner == "ours" else self.sides[::-1]
        for origin in near.clear & far.clear & set(near.now) & set(far.now):
            if not {near.now[origin][1].body, far.now[origin][1].body} & stands:
                yield Mistake("precedence", f"{winner} won, and an entry of both is gone: {near.now[origin][1].body}")
        kept = (far.clear & set(far.now)) - {due.origin for due in self.due}
        clear = {far.now[origin][1].body for origin in kept} | far.clear_additions
        mine = (clear & named) - stands - set(bodies(self.scene.base.text))
        for (section, place), words in far.touched.items():
            if not any(section == other and _are_near(place, there) for other, there in near.touched):
                for body in sorted(words & mine):
                    yield Mistake("precedence", f"{winner} won, and what is far from all its edits is gone: {body}")


def _are_near(place: int, other: int) -> bool:
    """One entry, two side by side, or an entry and the gap beside it; not two arrivals in one gap."""
    if place % 2 == other % 2 == 0:
        return False
    return abs(place - other) <= (2 if place % 2 == other % 2 else 1)


def bodies(text: str) -> Counter[str]:
    """How often each body stands in a text."""
    return Counter(entry.body for entry in parse(text).entries)


def merged_tags(was: Item, ours: Item, theirs: Item) -> dict[str, str] | None:
    """The tags that an entry is to have; ``None`` if the sides disagree, ``EITHER`` where nothing says."""
    if was.body != ours.body == theirs.body and ours.tags != theirs.tags:
        return EITHER
    merged: dict[str, str] = {}
    reworded = ours.body != theirs.body
    for key in {*was.tags, *ours.tags, *theirs.tags}:
        before, here, there = was.tags.get(key), ours.tags.get(key), theirs.tags.get(key)
        if key == "verified_date" and reworded:
            value = (ours if ours.body != was.body else theirs).tags.get(key)
        elif there in (here, before):
            value = here
        elif here == before:
            value = there
        elif key == "verified_date" and here and there:
            value = max(here, there)
        else:
            return None
        if value is not None:
            merged[key] = value
    return merged


def mistakes(scene: Scene) -> list[Mistake]:
    """All that is wrong with what ``catmem.merge`` makes of a scene."""
    try:
        return list(_mistakes(scene))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is wrong
        return [Mistake("error", f"{type(error).__name__}: {error}")]


def _mistakes(scene: Scene) -> Iterator[Mistake]:
    base, ours, theirs = scene.texts
    oracle = Oracle(scene)
    merged, turned = merge(base, ours, theirs), merge(base, theirs, ours)
    told = [Told.of(conflict) for conflict in merged.conflicts]
    yield from oracle.judge(merged.text, told)
    mirrored = [Told(each.reason, each.base, each.theirs, each.ours) for each in map(Told.of, turned.conflicts)]
    if turned.text != merged.text or mirrored != told:
        yield Mistake("asymmetric", f"{merged.text!r} {told}, turned {turned.text!r} {mirrored}")
    for winner in ("ours", "theirs"):
        decided = merge(base, ours, theirs, precedence=winner)
        yield from oracle.judge_decided(decided.text, [Told.of(each) for each in decided.conflicts], told, winner)


def check(scene: Scene) -> None:
    """That the texts of a scene say what the scene says, so that the oracle judges what catmem was given."""
    for side in (scene.base, scene.ours, scene.theirs):
        found = [(entry.category, entry.body, entry.tags) for entry in parse(side.text).entries]
        meant = [(category(title), item.body, item.tags) for title, _, item in side.items]
        if found != meant:
            raise AssertionError(f"{side.text!r} reads as {found}, and not as {meant}")


def shown(scene: Scene, found: Iterable[Mistake], tell: Callable[[str], None]) -> None:
    """Print a scene: the base, the scripts of both sides, and what is wrong."""
    tell(f"base:   {scene.texts[0]!r}")
    for name, side in (("ours", scene.ours), ("theirs", scene.theirs)):
        tell(f"{name + ':':7} {side.text!r}")
        for edit in side.edits:
            tell(f"        {edit}")
    merged = merge(*scene.texts)
    tell(f"merged: {merged.text!r}")
    for conflict in merged.conflicts:
        tell(f"        {Told.of(conflict)}")
    for mistake in found:
        tell(f"  {mistake.kind}: {mistake.text}")
