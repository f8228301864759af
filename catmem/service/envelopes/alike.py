"""How much two texts have in common: for writers who ask to be warned before they replace the wrong thing."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ALIKE = 0.6
"""The share of common words below which a new text has little in common with the old one."""

_WORD = re.compile(r"\w+")


def overlap(now: Iterable[str], new: Iterable[str]) -> float:
    """The Jaccard overlap of the words of some texts, without regard to case and form; 1 where there are none yet."""
    old_words, new_words = _words(now), _words(new)
    union = old_words | new_words
    return len(old_words & new_words) / len(union) if old_words and union else 1.0


def _words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(word for text in texts for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
