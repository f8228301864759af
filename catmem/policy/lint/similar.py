"""Entries that say nearly the same, found without comparing each with each.

Two entries are as similar as the share of words that they have in common (Jaccard). Entries that reach a similarity
share at least one of their few rarest words ("prefix filtering"; Chaudhuri, Ganti and Kaushik, 2006), so only those
that do are compared. A word that very many entries hold leads from each to its nearest few alone, those whose other
rare words sort next to its own. So the time grows with the number of entries and no faster, whatever they hold; what
that can miss are some of the pairs among very many entries made from one pattern.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from catmem.policy.lint.facts import SKETCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

_FEW = 50
"""Up to so many entries comparing each with each is quicker than looking for their rare words."""

_NEAREST = 8
"""How many entries of one rare word each entry is compared with."""


class Pair(NamedTuple):
    """The places of two similar entries in the sequence that was searched, ``first`` < ``second``."""

    first: int
    second: int
    similarity: float


def similarity(one: AbstractSet[int], other: AbstractSet[int]) -> float:
    """The share of words in common, 0 to 1, of two entries by their ``EntryFact.words``.

    Exact where both have fewer than ``SKETCH`` distinct words; else an estimate from the smallest hashes of both.
    """
    full = [max(words) for words in (one, other) if len(words) >= SKETCH]
    shared, union = one & other, one | other
    if full:
        # Only as far as a full sample reaches is a hash that it lacks really lacking.
        reach = min(full)
        shared, union = {value for value in shared if value <= reach}, {value for value in union if value <= reach}
    return len(shared) / len(union) if union else 0.0


def similar_pairs(words: Sequence[Sequence[int]], at_least: float) -> list[Pair]:
    """Pairs of entries, by their words, whose similarity is ``at_least``, in the order of the second place.

    At ``at_least`` 0 all would be similar; it counts as a hundredth.
    """
    at_least = max(at_least, 0.01)
    sets = [frozenset(each) for each in words]
    found = [
        Pair(first, second, score)
        for first, second in _candidates(sets, at_least)
        if (score := similarity(sets[first], sets[second])) >= at_least
    ]
    return sorted(found, key=lambda pair: (pair.second, pair.first))


def _candidates(sets: Sequence[frozenset[int]], at_least: float) -> Iterator[tuple[int, int]]:
    """Pairs, smaller place first and each once, that have a rare word and enough of their words in common."""
    compared: set[tuple[int, int]] = set()
    bits = [_bits(words) for words in sets]
    # Each bit in which two differ is a word that only one of them has. So many of these an entry may have with another:
    # the larger of the two, of at most ``1 / at_least`` times its words, has to share ``at_least`` of its own.
    reach = max((1 - at_least) / at_least, 2 * (1 - at_least))
    limits = [int(len(words) * reach) for words in sets]
    few = len(sets) <= _FEW
    for places in [range(len(sets))] if few else _sharing(sets, at_least):
        for index, place in enumerate(places):
            mine, most = bits[place], limits[place]
            for other in places[0 if few else max(0, index - _NEAREST) : index]:
                if (mine ^ bits[other]).bit_count() <= most:
                    pair = (place, other) if place < other else (other, place)
                    if pair not in compared:
                        compared.add(pair)
                        # In any case no fewer than this, however far a full sample reaches.
                        if len(sets[place] & sets[other]) >= at_least * max(len(sets[place]), len(sets[other])):
                            yield pair


_BITS = tuple(1 << place for place in range(64))


def _bits(words: Iterable[int]) -> int:
    """One bit of 64 for each word, perhaps one for several."""
    bits = 0
    for word in words:
        bits |= _BITS[word >> 1 & 63]
    return bits


def _sharing(sets: Sequence[frozenset[int]], at_least: float) -> Iterable[Sequence[int]]:
    """For each word that is among the few rarest of several entries, their places, similar ones side by side."""
    held_by = Counter(chain.from_iterable(sets))
    order = {value: rank for rank, value in enumerate(sorted(sorted(held_by), key=held_by.__getitem__))}
    rarest = [sorted(map(order.__getitem__, words)) for words in sets]
    alone = sum(1 for count in held_by.values() if count == 1)
    sharing: dict[int, list[int]] = {}
    for place in sorted(range(len(sets)), key=rarest.__getitem__):
        ranks = rarest[place]
        for rank in ranks[: len(ranks) - ceil(at_least * len(ranks)) + 1]:
            if rank >= alone:  # the words that one entry alone holds come first
                sharing.setdefault(rank, []).append(place)
    return sharing.values()
