"""Texts without case and accents, character for character, so that an offset means the same in both."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

ACCENTS = "\u0300-\u036f"
"""The accents of Latin, Greek and Cyrillic, as a range in a pattern. Marks of other scripts make another letter."""

_FIRST_ACCENT, _LAST_ACCENT = ACCENTS[0], ACCENTS[-1]
_ASCII = bytes(range(128))
_FEW = 24
"""Letters up to which a search and replace of each is quicker than a look at every character."""


def fold(text: str) -> str:
    """The text in small letters without accents, of the same length; what cannot be folded one to one stays.

    So ``É`` is ``e``, but ``ß`` and an accent that is a character of its own stay as they are. Takes lone surrogates.
    """
    if text.isascii():
        return text.lower()
    data = text.encode("utf-8", "surrogatepass")
    # Only bytes below 128 change here, so every character stays one character.
    folded = data.lower().decode("utf-8", "surrogatepass")
    others = set(data.translate(None, _ASCII).decode("utf-8", "surrogatepass"))
    changed = {each: letter for each in others if (letter := _folded(each)) != each}
    if len(changed) > _FEW:
        return folded.translate({ord(each): letter for each, letter in changed.items()})
    for each, letter in changed.items():
        folded = folded.replace(each, letter)
    return folded


def fold_query(text: str) -> str:
    """What somebody looks for, folded as texts are, with accents that stand alone joined to their letters first."""
    folded = fold(unicodedata.normalize("NFC", text))
    return "".join(each for each in folded if not is_accent(each))


def is_accent(character: str) -> bool:
    """Whether a character is an accent that stands alone, behind its letter."""
    return _FIRST_ACCENT <= character <= _LAST_ACCENT


def has_accents(text: str) -> bool:
    """Whether a text has accents that stand alone."""
    return not text.isascii() and any(is_accent(each) for each in set(_beyond_ascii(text)))


def _beyond_ascii(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")


@lru_cache(maxsize=4096)
def _folded(character: str) -> str:
    """One character, folded to one character."""
    letters = [each for each in unicodedata.normalize("NFKD", character) if not is_accent(each)]
    bare = letters[0] if len(letters) == 1 else character
    small = next((each for each in (bare.casefold(), bare.lower()) if len(each) == 1), bare)
    return small if small == character or small.isascii() else _folded(small)
