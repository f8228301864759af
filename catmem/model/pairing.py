"""Which entry of one document is which entry of another.

Of two documents, entries pair first by equal body, within their category before across. What is left of a category
pairs between the same paired neighbours if the texts are alike: half of all their words are common to both, or three
quarters of the words of the shorter one stand in the other. The rest was added or removed.

That is not enough for a merge, where a short entry may keep no word. So a merge looks at both sides at once
(``pair_sides``), as ``diff3`` does: an entry that is gone here, and gone or reworded there, pairs with what stands in
its place here. Such a pair only ever tells a conflict; it carries no tag from one entry to another.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple, Protocol, TypeAlias


class Worded(Protocol):
    """An entry, as far as pairing looks at it."""

    @property
    def category(self) -> str:
        """Where it stands."""
        ...

    @property
    def body(self) -> str:
        """Its text without tags."""
        ...


_IN_COMMON = 1 / 2
"""The share of all words of two texts (Jaccard) from which on they are alike, so that tags go from one to the other."""
_CONTAINED = 3 / 4
"""The share of the shorter text's words in the longer one from which on they are alike, however long that is."""

_REACH = 32
"""How many places of a gap are looked at to each side: a rewrite of everything stays linear."""
_COMMON = 16
"""A word that more entries hold than these does not lead from one entry to another."""
_RAREST = 8
"""So many of the rarest words of an entry lead to others that are like it."""
_HALF = 1 / 2
"""The share of the shorter text's words in the longer one from which on they may be one in the same place."""
_SEVERAL = 3
"""So many words two texts share at least that are taken for one although one is much longer, or stands elsewhere."""

_IDEOGRAPHS = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_ASCII_WORD = re.compile(r"\w+", re.ASCII)


@cache
def _word() -> re.Pattern[str]:
    # Chinese and Japanese write no blanks between words, so there each sign counts as one. So large a set takes
    # milliseconds to compile, and a short command that meets none does without.
    return re.compile(rf"[{_IDEOGRAPHS}]|[^\W{_IDEOGRAPHS}]+")


Links: TypeAlias = "Mapping[int, int | None]"
"""Which entry of the base is which of a side, as its history knows; ``None`` for one that was removed."""


def pair_entries(old: Sequence[Worded], new: Sequence[Worded]) -> dict[int, int]:
    """The index in ``new`` of each entry of ``old`` that is still there, by its index in ``old``."""
    pairs = equal_entries(old, new)
    _pair_alike(old, new, pairs, frozenset())
    return pairs


def equal_entries(old: Sequence[Worded], new: Sequence[Worded], known: Links | None = None) -> dict[int, int]:
    """The pairs that are known, and those of entries whose bodies are equal, within their category before across."""
    # An equal body in another category may be a copy: it is none of the old entry where that was reworded in its place.
    pairs = {index: other for index, other in (known or {}).items() if other is not None}
    old_bodies = [entry.body for entry in old]
    new_bodies = [entry.body for entry in new]
    old_keys = [(entry.category, body) for entry, body in zip(old, old_bodies, strict=True)]
    new_keys = [(entry.category, body) for entry, body in zip(new, new_bodies, strict=True)]
    _pair_same_key(old_keys, new_keys, pairs)
    _pair_same_key(old_bodies, new_bodies, pairs, _reworded_in_place(old, new, pairs))
    return pairs


class Pairs(NamedTuple):
    """Which entry of the base is which of each side of a merge.

    ``unsure`` are entries of the base that neither side has any more, of which what stands in their place may be a new
    wording, or an addition.
    """

    one: dict[int, int]
    other: dict[int, int]
    unsure: set[int]


def pair_sides(
    base: Sequence[Worded],
    one: Sequence[Worded],
    other: Sequence[Worded],
    links: tuple[Links | None, Links | None] = (None, None),
) -> Pairs:
    """Which entry of the ``base`` is which of each side of a merge; ``links`` is what is known of that."""
    sides = one, other
    pairs = Pairs(equal_entries(base, one, links[0]), equal_entries(base, other, links[1]), set())
    shared = {entry.body for entry in one} & {entry.body for entry in other}
    _pair_same_edits(base, sides, pairs, shared)
    for side, own, known in zip(sides, pairs[:2], links, strict=True):
        _pair_alike(base, side, own, {index for index, place in (known or {}).items() if place is None})
    _pair_disputed(base, sides, pairs, links, shared)
    return pairs


def _pair_same_edits(
    base: Sequence[Worded],
    sides: tuple[Sequence[Worded], Sequence[Worded]],
    pairs: Pairs,
    shared: set[str],
) -> None:
    """Pair what both sides put in the same place of one entry, in the same words."""
    one, other = (
        {
            index: place
            for gap in _gaps(base, side, own)
            if len(gap.old) == len(gap.new)
            for index, place in zip(gap.old, gap.new, strict=True)
            if side[place].body in shared
        }
        for side, own in zip(sides, pairs[:2], strict=True)
    )
    taken: set[tuple[int, int]] = set()
    for index in sorted(one.keys() & other.keys()):
        here, there = (0, one[index]), (1, other[index])
        if sides[0][one[index]].body == sides[1][other[index]].body and taken.isdisjoint((here, there)):
            pairs.one[index], pairs.other[index] = one[index], other[index]
            taken |= {here, there}


def _pair_disputed(
    base: Sequence[Worded],
    sides: tuple[Sequence[Worded], Sequence[Worded]],
    pairs: Pairs,
    links: tuple[Links | None, Links | None],
    shared: set[str],
) -> None:
    """Pair the entries that one side has no more, and that the other has reworded or has no more either."""
    # With what stands in their place, or in like words elsewhere. At last, `unsure`, what neither side has pairs by the
    # order of what stands there: or its conflict would not be reported. What both sides say is never two wordings.
    both = pairs.one, pairs.other
    for is_sure in (True, False):
        missing = [{index for index in range(len(base)) if index not in own} for own in both]
        for place, side in enumerate(sides):
            own, there, other = both[place], both[1 - place], sides[1 - place]
            left = {index for index in missing[place] if index not in (links[place] or {})}
            wanted = left & missing[1 - place]
            if is_sure:
                wanted |= {index for index in left - wanted if other[there[index]].body != base[index].body}
            if not wanted:
                continue
            words = _BodyWords(base, side)
            for gap in _gaps(base, side, own):
                near = [each for each in _near(gap) if each[0] in wanted and side[each[1]].body not in shared]
                if is_sure:
                    _pair_in_place(gap, near, own, words)
                else:
                    _pair_best([(far, -words.score(index, new), index, new) for index, new, far in near], own)
            if is_sure:
                _pair_elsewhere(words, own, wanted)
            else:
                pairs.unsure.update(wanted & own.keys())


# --- equal texts ---------------------------------------------------------------------------------------------------


def _pair_same_key(
    old_keys: Sequence[Hashable], new_keys: Sequence[Hashable], pairs: dict[int, int], but: Collection[int] = ()
) -> None:
    taken = set(pairs.values())
    free: dict[Hashable, list[int]] = defaultdict(list)
    for index in range(len(new_keys) - 1, -1, -1):
        if index not in taken:
            free[new_keys[index]].append(index)
    for index, key in enumerate(old_keys):
        if index not in pairs and index not in but and free.get(key):
            pairs[index] = free[key].pop()


def _reworded_in_place(old: Sequence[Worded], new: Sequence[Worded], pairs: Mapping[int, int]) -> set[int]:
    """The old entries that stand elsewhere in the same words, where their own place has new words that are alike."""
    old_bodies, new_bodies = {entry.body for entry in old}, {entry.body for entry in new}
    if not any(index not in pairs and entry.body in new_bodies for index, entry in enumerate(old)):
        return set()
    words = _BodyWords(old, new)
    return {
        index
        for gap in _gaps(old, new, pairs)
        for index, other, _ in _near(gap)
        if old[index].body in new_bodies and new[other].body not in old_bodies and words.are_alike(index, other)
    }


# --- places --------------------------------------------------------------------------------------------------------


class _Gap(NamedTuple):
    """Unpaired entries of both documents between the same pairs of one category, each in file order."""

    old: list[int]
    new: list[int]


def _gaps(old: Sequence[Worded], new: Sequence[Worded], pairs: Mapping[int, int]) -> Iterator[_Gap]:
    """The gaps behind the same pair; then, with what was paired meanwhile, those in front of the same pair."""
    for forward in (True, False):
        partner = {there: here for here, there in pairs.items()}
        left = _edges(old, pairs.__contains__, lambda index: index, forward=forward)
        right = _edges(new, partner.__contains__, partner.__getitem__, forward=forward)
        yield from [_Gap(left[edge], right[edge]) for edge in left if edge in right]


def is_reordered(old: Sequence[Worded], new: Sequence[Worded], pairs: Mapping[int, int]) -> bool:
    """Whether entries that stayed in their category stand in another order there."""
    last: dict[str, int] = {}
    for index, other in sorted(pairs.items()):
        category = old[index].category
        if new[other].category == category:
            if other < last.get(category, -1):
                return True
            last[category] = other
    return False


def _edges(
    entries: Sequence[Worded], paired: Callable[[int], bool], name: Callable[[int], int], *, forward: bool
) -> dict[tuple[str, int | None], list[int]]:
    """The unpaired entries of each gap, in file order; a gap is named by its category and the pair at its edge."""
    edges: dict[str, int] = {}
    gaps: dict[tuple[str, int | None], list[int]] = defaultdict(list)
    order: Iterable[int] = range(len(entries)) if forward else range(len(entries) - 1, -1, -1)
    for index in order:
        category = entries[index].category
        if paired(index):
            edges[category] = name(index)
        else:
            gaps[category, edges.get(category)].append(index)
    if not forward:
        for indexes in gaps.values():
            indexes.reverse()
    return gaps


def _pair_alike(old: Sequence[Worded], new: Sequence[Worded], pairs: dict[int, int], gone: Collection[int]) -> None:
    """Pair the entries of each gap that are alike, the most alike first; those that are known to be gone have none."""
    # Where a gap does not have as many entries as it had, and a text is just as much like two others, neither is sure.
    words = _BodyWords(old, new)
    for gap in _gaps(old, new, pairs):
        found = [
            (-words.score(index, other), far, index, other)
            for index, other, far in _near(gap)
            if index not in gone and words.are_alike(index, other)
        ]
        _pair_best(found if len(gap.old) == len(gap.new) else _without_ties(found), pairs)


def _without_ties(found: list[_Rated]) -> list[_Rated]:
    """The pairs of which neither entry is in another one that is just as good."""
    left = Counter((score, index) for score, _, index, _ in found)
    right = Counter((score, other) for score, _, _, other in found)
    return [each for each in found if left[each[0], each[2]] == right[each[0], each[3]] == 1]


def _pair_in_place(gap: _Gap, near: list[tuple[int, int, float]], pairs: dict[int, int], words: _BodyWords) -> None:
    """Pair entries of a gap where one gave way to one, or where half of the shorter one's words are in the other."""
    rated = [(-words.score(index, other), far, index, other) for index, other, far in near]
    if not len(gap.old) == 1 == len(rated):
        rated = [each for each in rated if contained(words.of_old(each[2]), words.of_new(each[3])) >= _HALF]
        rated = _without_ties(rated)
    _pair_best(rated, pairs)


def _near(gap: _Gap) -> Iterator[tuple[int, int, float]]:
    """Entries of a gap that stand near the same place of it, and how far from it."""
    stretch = len(gap.new) / len(gap.old)
    for rank, index in enumerate(gap.old):
        middle = rank * stretch
        start = max(0, int(middle) - _REACH)
        for place, other in enumerate(gap.new[start : int(middle) + _REACH], start):
            yield index, other, abs(middle - place)


_Rated: TypeAlias = tuple[float, float, int, int]
"""How unlike and how far from each other two entries are, and their numbers."""


def _pair_best(found: Iterable[_Rated], pairs: dict[int, int], taken: Collection[int] = ()) -> None:
    """Pair the first of each entry, least numbers first, but for those that are taken."""
    taken = set(taken)
    for _, _, index, other in sorted(found):
        if index not in pairs and other not in taken:
            pairs[index] = other
            taken.add(other)


# --- words ---------------------------------------------------------------------------------------------------------


class _BodyWords:
    """The words of the entries of two documents, each found when it is asked for."""

    def __init__(self, old: Sequence[Worded], new: Sequence[Worded]) -> None:
        self.old, self.new = old, new
        self.of_old = cache(lambda index: words_of(old[index].body))
        self.of_new = cache(lambda index: words_of(new[index].body))

    def are_alike(self, index: int, other: int) -> bool:
        return alike(self.of_old(index), self.of_new(other))

    def score(self, index: int, other: int) -> float:
        one, another = self.of_old(index), self.of_new(other)
        return jaccard(one, another) + contained(one, another)


def _pair_elsewhere(words: _BodyWords, pairs: dict[int, int], wanted: set[int]) -> None:
    """Pair what was reworded and put elsewhere, by the few words that only few entries hold."""
    taken = set(pairs.values())
    holders: dict[str, list[int]] = defaultdict(list)
    for other in range(len(words.new)):
        if other not in taken:
            for word in words.of_new(other):
                holders[word].append(other)
    found: list[_Rated] = []
    for index in sorted(wanted - pairs.keys()):
        own = words.of_old(index)
        held = sorted((len(holders[word]), word) for word in own if len(holders.get(word, ())) in range(1, _COMMON + 1))
        near = {other for _, word in held[:_RAREST] for other in holders[word]}
        found += [
            (-words.score(index, other), 0, index, other)
            for other in near
            if words.are_alike(index, other) and len(own & words.of_new(other)) >= _SEVERAL
        ]
    _pair_best(found, pairs, taken)


def words_of(body: str) -> frozenset[str]:
    """The words of a text, in small letters; of Chinese and Japanese its signs."""
    low = body.lower()
    return frozenset((_ASCII_WORD if low.isascii() else _word()).findall(low))


def alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two texts, by their words, say nearly the same."""
    return jaccard(one, other) >= _IN_COMMON or (contained(one, other) >= _CONTAINED and len(one & other) >= _SEVERAL)


def nearly_same(one: str, other: str) -> bool:
    """Whether two texts look like one fact in two wordings: half of all words in common."""
    return jaccard(words_of(one), words_of(other)) >= _IN_COMMON


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of common words among all words of two texts; 0 where neither has any."""
    common = len(one & other)
    union = len(one) + len(other) - common
    return common / union if union else 0.0


def contained(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of the words of the shorter text that stand in the other; 0 where it has none."""
    shorter = min(len(one), len(other))
    return len(one & other) / shorter if shorter else 0.0
