"""Many words looked for in one text: with ahocorasick-rs (``catmem[fast]``) in one pass, else in one pass a word."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from catmem.threats.finding import places

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ahocorasick_rs import BytesAhoCorasick

    Places = Mapping[str, Sequence[int]]


class Words:
    """Words of ASCII, to be found in texts of one byte a character."""

    def __init__(self, words: Iterable[str]) -> None:
        """Nothing is built before the first search."""
        self._words = {word: word.encode("ascii") for word in words}
        self._names = tuple(self._words)

    @cached_property
    def _automaton(self) -> BytesAhoCorasick | None:
        try:
            from ahocorasick_rs import BytesAhoCorasick, Implementation
        except ImportError:  # the extra is not installed
            return None
        return BytesAhoCorasick(list(self._words.values()), implementation=Implementation.DFA)

    def places(self, text: bytes) -> dict[str, list[int]]:
        """Each word that stands in the text, with all its places in order."""
        if self._automaton is None:
            return {name: list(places(word, text)) for name, word in self._words.items() if word in text}
        found: dict[str, list[int]] = {}
        for number, start, _ in self._automaton.find_matches_as_indexes(text, overlapping=True):
            found.setdefault(self._names[number], []).append(start)
        return found
