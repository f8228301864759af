"""Many words looked for in one text at once: each of its bytes is read one time, however many words there are."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ahocorasick_rs import BytesAhoCorasick

    Places = Mapping[str, Sequence[int]]


class Words:
    """Words of ASCII, to be found in texts of one byte a character."""

    def __init__(self, words: Iterable[str]) -> None:
        """Nothing is built before the first search."""
        self._words = tuple(dict.fromkeys(words))

    @cached_property
    def _automaton(self) -> BytesAhoCorasick:
        from ahocorasick_rs import BytesAhoCorasick, Implementation

        return BytesAhoCorasick([word.encode("ascii") for word in self._words], implementation=Implementation.DFA)

    def places(self, text: bytes) -> dict[str, list[int]]:
        """Each word that stands in the text, with all its places in order."""
        found: dict[str, list[int]] = {}
        for number, start, _ in self._automaton.find_matches_as_indexes(text, overlapping=True):
            found.setdefault(self._words[number], []).append(start)
        return found
