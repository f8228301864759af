"""What stands between the bytes of an entity and its rows. The store knows no Markdown; the service knows no SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class TableRow(NamedTuple):
    """What one entry shows in ``user_memories``.

    ``tags`` is a JSON object. ``mark`` is a digest by which the codec knows the entry again after a change of the
    row; a client leaves it alone.
    """

    category: str
    title: str | None
    tier: int | None
    content: str
    tags: str
    created_at: str | None
    mark: str


class FoundRow(NamedTuple):
    """A row as it was found: any client may have written it, so a column may hold what is none of its kind."""

    id: int
    position: int
    category: object
    title: object
    tier: object
    content: object
    tags: object
    created_at: object
    mark: object


class Changed(NamedTuple):
    """The rows of new bytes as a change of the ``total`` old ones: from ``first`` on, ``gone`` give way to ``rows``."""

    total: int
    first: int
    gone: Sequence[TableRow]
    rows: Sequence[TableRow]


class EditedRows(NamedTuple):
    """The bytes that rows make of a head, and what is wrong with rows that were left out, by their ids."""

    data: bytes
    bad: Sequence[tuple[int, str]]


class Codec(Protocol):
    """Bytes to rows and back."""

    def rows(self, entity: str, data: bytes) -> Sequence[TableRow]:
        """The rows of an entity, in order; none for bytes that cannot be shown in rows."""

    def changed(self, entity: str, old: bytes, new: bytes) -> Changed:
        """What changes in the rows."""

    def edited(self, entity: str, head: bytes, rows: Sequence[FoundRow]) -> EditedRows:
        """What rows with an external change make of the head: bytes that no row touches stay as they are."""
