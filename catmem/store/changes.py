"""How the bytes of a file become those of its next revision: as a splice, or as the whole."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias
from zlib import compress, decompressobj
from zlib import error as ZlibError  # noqa: N812 - a class, under the name of one

from catmem.text import equal_ends

_WORTH_PACKING = 1024
"""Bytes; below, packing saves nothing that matters."""


class Splice(NamedTuple):
    """``removed`` bytes at ``offset`` give way to ``inserted``."""

    offset: int
    removed: int
    inserted: bytes

    def apply(self, data: bytes) -> bytes:
        """The bytes after. Raises ``ValueError`` if the splice does not lie within ``data``."""
        end = self.offset + self.removed
        if end > len(data):
            raise ValueError("a splice lies outside of the bytes it changes")
        return b"".join((data[: self.offset], self.inserted, data[end:]))


class WholeText(NamedTuple):
    """All the bytes, packed by zlib; ``size`` is their number unpacked."""

    packed: bytes
    size: int

    def apply(self, data: bytes = b"") -> bytes:
        """The bytes, whatever was there before; never more than ``size``. Raises ``ValueError``."""
        del data
        unpacking = decompressobj()
        try:
            whole = unpacking.decompress(self.packed, self.size + 1)
        except ZlibError as error:
            raise ValueError(f"the packed bytes are damaged: {error}") from error
        if len(whole) != self.size or not unpacking.eof or unpacking.unused_data:
            raise ValueError("the packed bytes are not as many as the record says")
        return whole


ByteChange: TypeAlias = Splice | WholeText


def change(old: bytes, new: bytes) -> ByteChange:
    """The change from ``old`` to ``new`` that takes less room: a rewrite from top to bottom is smaller packed."""
    if old == new:
        return Splice(0, 0, b"")
    found = splice(old, new)
    return whole(new) if len(new) > _WORTH_PACKING and 2 * len(found.inserted) > len(new) else found


def whole(data: bytes) -> WholeText:
    """All of ``data``, packed fast rather than tight."""
    return WholeText(compress(data, 1), len(data))


def splice(old: bytes, new: bytes) -> Splice:
    """The smallest single splice from ``old`` to ``new``."""
    start, end = equal_ends(old, new)
    return Splice(start, len(old) - start - end, new[start : len(new) - end])


def redacted(made: ByteChange, before: tuple[bytes, bytes], after: tuple[bytes, bytes]) -> ByteChange:
    """A change in whose place another is to be: both pairs are the bytes as they were, and as they are to be."""
    if after[0] == after[1] and (isinstance(made, WholeText) or before[0] == before[1]):
        return made
    return whole(after[1]) if isinstance(made, WholeText) else splice(before[1], after[1])
