"""Which entry of one document is which entry of another.

Entries pair first by equal body, within their category before across. What is left of a category pairs between the same
paired neighbours, in file order, if the words of the two overlap by half or more (Jaccard). The rest was added or
removed. The merge stands on this: an entry that was reworded, tagged or moved is still the same entry.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence


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


OVERLAP = 0.5
_REACH = 64
"""How many entries of one gap are looked at for each that is left: a rewrite of everything stays linear."""

_IDEOGRAPHS = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
# Chinese and Japanese write no blanks between words, so there each sign counts as one.
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[^\W{_IDEOGRAPHS}]+")


def pair_entries(old: Sequence[Worded], new: Sequence[Worded]) -> dict[int, int]:
    """The index in ``new`` of each entry of ``old`` that is still there, by its index in ``old``."""
    pairs: dict[int, int] = {}
    old_bodies = [entry.body for entry in old]
    new_bodies = [entry.body for entry in new]
    old_keys = [(entry.category, body) for entry, body in zip(old, old_bodies, strict=True)]
    new_keys = [(entry.category, body) for entry, body in zip(new, new_bodies, strict=True)]
    _pair_equal(old_keys, new_keys, pairs)
    _pair_equal(old_bodies, new_bodies, pairs)
    # Between the same pair in front first, then before the same pair behind: one of the two may be gone.
    for forward in (True, False):
        _pair_reworded(old, new, pairs, forward=forward)
    return pairs


def _pair_equal(old_keys: Sequence[Hashable], new_keys: Sequence[Hashable], pairs: dict[int, int]) -> None:
    taken = set(pairs.values())
    free: dict[Hashable, list[int]] = defaultdict(list)
    for index in range(len(new_keys) - 1, -1, -1):
        if index not in taken:
            free[new_keys[index]].append(index)
    for index, key in enumerate(old_keys):
        if index not in pairs and free.get(key):
            pairs[index] = free[key].pop()


def _pair_reworded(old: Sequence[Worded], new: Sequence[Worded], pairs: dict[int, int], *, forward: bool) -> None:
    partner = {there: here for here, there in pairs.items()}
    old_gaps = _gaps(old, pairs.__contains__, lambda index: index, forward=forward)
    new_gaps = _gaps(new, partner.__contains__, partner.__getitem__, forward=forward)
    for gap, left in old_gaps.items():
        candidates = new_gaps.get(gap, [])
        words = {index: _words(new[index].body) for index in candidates}
        for index in left:
            own = _words(old[index].body)
            for candidate in candidates[:_REACH]:
                if jaccard(own, words[candidate]) >= OVERLAP:
                    pairs[index] = candidate
                    candidates.remove(candidate)
                    break


def _gaps(
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


def _words(body: str) -> frozenset[str]:
    return frozenset(_WORD.findall(body.lower()))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of common words among all words of two texts; 0 where neither has any."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0
