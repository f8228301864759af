"""What was made of some bytes lately, at hand for whoever has the very same bytes again."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")

_ALWAYS = 4
"""Things that are kept however large their bytes are."""
_MOST = 32
_MOST_BYTES = 1 << 20
"""Bytes of all that is kept beyond ``_ALWAYS``: what is made of them takes several times as much."""


class Recent(Generic[T]):
    """Things by their bytes. For several threads: of two that keep something at once, one may go unkept.

    A few large ones, or those of a few dozen small entities, whose writers take turns.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        """None yet."""
        self._known: tuple[tuple[bytes, T], ...] = ()

    def find(self, data: str | bytes) -> T | None:
        """What was made of these bytes, if it is at hand."""
        for known, made in self._known:
            if known == data:
                return made
        return None

    def keep(self, data: bytes, made: T) -> None:
        """Have something at hand, before all others."""
        kept = ((data, made), *self._known[: _MOST - 1])
        size = sum(len(each) for each, _ in kept)
        while len(kept) > _ALWAYS and size > _MOST_BYTES:
            size -= len(kept[-1][0])
            kept = kept[:-1]
        self._known = kept
