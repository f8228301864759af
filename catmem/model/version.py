"""What one side of a merge says of an entry; where the two sides disagree, and who says which of them wins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from catmem.digest import content_digest
from catmem.model.document import Document, Entry, TagValue, first_of_each
from catmem.syntax import tags as tag_blocks
from catmem.text import DEFAULT_LIMITS


class Version(NamedTuple):
    """An entry apart from its place; ``text`` is its text with its tag block, escapes undone."""

    category: str
    body: str
    tags: dict[str, TagValue]
    text: str

    @classmethod
    def from_entry(cls, entry: Entry) -> Version:
        """The version that an entry is."""
        return cls(entry.category, entry.body, entry.tags, entry.text)

    @classmethod
    def read(cls, category: str, text: str) -> Version:
        """The version that a text with its tag block is, escapes undone."""
        pairs, body = tag_blocks.read(text, DEFAULT_LIMITS.tag_block_chars)
        return cls(category, body, first_of_each(pairs), text)

    @classmethod
    def of_each(cls, *documents: Document) -> tuple[list[Version], ...]:
        """The versions that the entries of each document are."""
        return tuple([cls.from_entry(entry) for entry in document.entries] for document in documents)

    @property
    def id(self) -> str:
        """The id of an entry that says this."""
        return content_digest([self.body, self.tags])

    @property
    def key(self) -> tuple[str, str]:
        """Where it stands, and the id."""
        return self.category, self.id

    def says(self, other: Version) -> bool:
        """Whether the two are the same in category, body and tags."""
        return self[:3] == other[:3]


Side = Literal["ours", "theirs"]
Reason = Literal["body", "removed", "tags", "category", "title"]

Hand = Literal["near", "far"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Where the two sides disagree; a side that removed the entry is ``None``, and so is the base of two additions.

    ``reason`` is ``body`` (both reworded it), ``removed`` (one reworded, tagged or moved what the other removed),
    ``tags``, ``category``, or ``title`` (of the document). Of the first, the merged text holds both versions; of the
    others it holds one.
    """

    reason: Reason
    base: Version | None
    ours: Version | None
    theirs: Version | None


Precedence: TypeAlias = Side | Callable[[Conflict], Side | Version | None]
"""Who wins a conflict: a side, or a function that says it of each.

For a side it may also give what the entry is to say instead, and ``None`` to leave the conflict open. It is asked once
of each, in the order of the base; then of what both sides added, and of the title last.
"""


class Decision(NamedTuple):
    """What was said of one conflict: the side that wins, or a version instead of both; neither leaves it open."""

    hand: Hand | None = None
    instead: Version | None = None

    @property
    def is_open(self) -> bool:
        """Whether nothing was said."""
        return self.hand is None and self.instead is None

    def among(self, near: Version | None, far: Version | None) -> list[Version]:
        """What stays of the two sides: what was given instead, the one that wins, or both."""
        if self.instead is not None:
            return [self.instead]
        sides = {"near": [near], "far": [far], None: [near, far]}[self.hand]
        return [each for each in sides if each is not None]


OPEN = Decision()
