"""Entries that say nearly the same, found without comparing each with each.

Two entries are as similar as the share of words that they have in common (Jaccard). Entries that reach a similarity
share at least one of their few rarest words ("prefix filtering"; Chaudhuri, Ganti and Kaushik, 2006), so an index from
words to entries leads to all of them. Of very many entries that hold one word each is compared with its nearest alone,
those whose other rare words sort next to its own, so the time grows with the number of entries and no faster.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter, defaultdict
from itertools import chain
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FEW = 50
"""Among so many entries none that holds the same rare word is passed over."""

_NEAREST = 8
"""With how many entries that hold the same rare word each is compared, where there are more."""

# Letters and digits, with what joins them in names, numbers and addresses between: don't, 3.11, 10.0.0.1, e-mail.
_WORD = re.compile(r"[^\W_]++(?>(?:[.'\u2019:@/-][^\W_]++)*)")
# Scripts that put no blanks between words: Thai to Myanmar, Khmer, kana, Han.
_NO_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]++")


class Pair(NamedTuple):
    """The places of two similar entries in the sequence that was searched, ``first`` < ``second``."""

    first: int
    second: int
    similarity: float


def distinct_words(text: str) -> tuple[str, ...]:
    """The words of a text in small letters, each once, in order; of scripts without blanks each two neighbours."""
    text = text.lower()
    if text.isascii():
        words: list[str] = _WORD.findall(text)
    else:
        words = [part for word in _WORD.findall(unicodedata.normalize("NFKC", text)) for part in _parts(word)]
    # Interned, since the entries of a root share most of their words.
    return tuple(dict.fromkeys(map(sys.intern, words)))


def _parts(word: str) -> Iterator[str]:
    """The word; of a run without blanks between its words each two neighbours."""
    if word.isascii() or not _NO_BLANKS.search(word):
        yield word
        return
    for run in _NO_BLANKS.findall(word):
        yield from (run[index : index + 2] for index in range(max(1, len(run) - 1)))
    yield from filter(None, _NO_BLANKS.split(word))


def similar_pairs(words: Sequence[Sequence[str]], at_least: float) -> list[Pair]:
    """Pairs of entries, by their distinct words, whose similarity is ``at_least``, in the order of the second place.

    At ``at_least`` 0 all would be similar; it counts as a hundredth.
    """
    at_least = max(at_least, 0.01)
    sets = [frozenset(each) for each in words]
    found: list[Pair] = []
    for one, others in _sharing(sets, at_least):
        mine = sets[one]
        for other in others:
            shared = len(mine & sets[other])
            share = shared / (len(mine) + len(sets[other]) - shared)
            if share >= at_least:
                found.append(Pair(one, other, share) if one < other else Pair(other, one, share))
    return sorted(found, key=lambda pair: (pair.second, pair.first))


def _sharing(sets: Sequence[frozenset[str]], at_least: float) -> Iterator[tuple[int, set[int]]]:
    """Each place with those before it, in an order of their own, that share one of its rarest words."""
    held_by = Counter(chain.from_iterable(sets))
    shared = sorted((count, word) for word, count in held_by.items() if count > 1)
    order = {word: rank for rank, (_, word) in enumerate(shared)}
    ranks = [sorted(order[word] for word in words if word in order) for words in sets]
    holders: defaultdict[int, list[int]] = defaultdict(list)
    most = len(sets) if len(sets) <= _FEW else _NEAREST
    for place in sorted(range(len(sets)), key=ranks.__getitem__):
        # The words that one entry alone holds are its rarest, and lead nowhere.
        rarest = len(sets[place]) - ceil(at_least * len(sets[place])) + 1
        alone = len(sets[place]) - len(ranks[place])
        near: set[int] = set()
        for rank in ranks[place][: max(rarest - alone, 0)]:
            near.update(holders[rank][-most:])
            holders[rank].append(place)
        yield place, near
