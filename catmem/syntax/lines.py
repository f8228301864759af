"""The delimiter lines of a text, of which an edit moves all that stand behind it without a look at each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, overload

if TYPE_CHECKING:
    from collections.abc import Iterator

Line: TypeAlias = tuple[int, int]
"""From the newline in front of a ``§`` (-1 or the BOM's offset on the first line) to the end of its blanks."""


class DelimiterLines(Sequence[Line]):
    """Delimiter lines in file order. Plain pairs, because a large file has tens of thousands of them.

    Those behind the last edit keep the offsets that they had, with what is to be added to all: so an edit costs as
    much as there are lines between it and the edit before.
    """

    __slots__ = ("_head", "_shift", "_tail")

    def __init__(self, head: tuple[Line, ...] = (), tail: tuple[Line, ...] = (), shift: int = 0) -> None:
        """``shift`` is added to the offsets of ``tail``."""
        self._head = head
        self._tail = tail
        self._shift = shift

    def __len__(self) -> int:
        """How many lines there are."""
        return len(self._head) + len(self._tail)

    @overload
    def __getitem__(self, index: int) -> Line: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Line, ...]: ...
    def __getitem__(self, index: int | slice) -> Line | tuple[Line, ...]:
        """A line, counted from either end, or several."""
        if isinstance(index, slice):
            return tuple(self[each] for each in range(*index.indices(len(self))))
        if index < 0:
            index += len(self)
        behind = index - len(self._head)
        if behind < 0:
            return self._head[index]
        newline, end = self._tail[behind]
        return newline + self._shift, end + self._shift

    def __iter__(self) -> Iterator[Line]:
        """All lines."""
        yield from self._head
        yield from _moved(self._tail, self._shift)

    def __eq__(self, other: object) -> bool:
        """Whether the lines are the same, however they were edited."""
        return tuple(self) == tuple(other) if isinstance(other, DelimiterLines | tuple) else NotImplemented

    def __hash__(self) -> int:
        """That of the lines."""
        return hash(tuple(self))

    def replaced(self, first: int, last: int, lines: Sequence[Line], shift: int) -> DelimiterLines:
        """The lines with others in the place of those from number ``first`` to ``last``.

        ``shift`` is how far those behind are moved.
        """
        split = len(self._head)
        head = self._head[:first] + _moved(self._tail[: max(first - split, 0)], self._shift)
        tail = _moved(self._head[last:], -self._shift) + self._tail[max(last - split, 0) :]
        return DelimiterLines((*head, *lines), tail, self._shift + shift)


def _moved(lines: tuple[Line, ...], shift: int) -> tuple[Line, ...]:
    return tuple([(newline + shift, end + shift) for newline, end in lines]) if shift else lines
