"""What one side of a merge says of an entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from catmem.model.document import Entry, TagValue


class Version(NamedTuple):
    """An entry apart from its place; ``text`` is its text with its tag block, escapes undone."""

    category: str
    body: str
    tags: dict[str, TagValue]
    text: str

    @classmethod
    def of(cls, entry: Entry) -> Version:
        """The version that an entry is."""
        return cls(entry.category, entry.body, entry.tags, entry.text)

    def says(self, other: Version) -> bool:
        """Whether the two are the same in category, body and tags."""
        return self[:3] == other[:3]
