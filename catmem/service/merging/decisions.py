"""Decisions on conflicts that were made beforehand, by somebody who saw them all: which may be made, and of what.

A conflict is named by what it says (``key_of``). So a decision is for the very conflict that was seen: where the head
has moved on, another conflict in the same place has another name, and nobody has decided it yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from catmem.digest import content_digest
from catmem.errors import EditError
from catmem.model.version import Version
from catmem.syntax import tags as tag_blocks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from catmem.model.conflict import Conflict, Reason
    from catmem.service.merging.deciding import Answer

OWN = "own"
"""The choice of words of one's own."""

CHOICES: Mapping[Reason, tuple[str, ...]] = {
    "body": ("ours", "theirs", "both", OWN),
    "removed": ("ours", "theirs", OWN),
    "tags": ("ours", "theirs", OWN),
    "category": ("ours", "theirs", OWN),
    "title": ("ours", "theirs"),
}
"""What may be chosen of each kind of conflict: of most a text holds one side only, and a title has no entry."""


class Key(NamedTuple):
    """The name of a conflict. ``place`` is what both sides come from and what the branch says, ``head`` the rest."""

    place: str
    head: str

    def __str__(self) -> str:
        """The two as one word."""
        return f"{self.place}-{self.head}"


def key_of(conflict: Conflict) -> Key:
    """The name of a conflict: the same each time that the same sides disagree in the same way."""
    return Key(
        _digest(conflict.base, conflict.theirs),
        _digest(conflict.ours, conflict.reason),
    )


def answer_to(conflict: Conflict, choice: str, words: str = "") -> Answer:
    """The answer that a choice stands for; ``words`` are those of ``own``.

    Raises ``EditError`` (``bad_answer``) for what cannot be chosen of this conflict, and for words that are none.
    """
    if choice not in CHOICES[conflict.reason]:
        raise EditError(
            "that is no answer to this conflict",
            code="bad_answer",
            hint=f"Nothing was written. Choose one of {', '.join(CHOICES[conflict.reason])}.",
        )
    if choice != OWN:
        side: Answer = choice  # type: ignore[assignment]  # one of CHOICES
        return side
    if not words.strip():
        raise EditError(
            "the text of your own is empty",
            code="bad_answer",
            hint="Nothing was written. Write what the entry is to say, or choose a side.",
        )
    return in_words(conflict, words)


def in_words(conflict: Conflict, words: str) -> Version:
    """The entry with other words, in the place and with the tags of the head's; nobody has verified those yet."""
    like = next(version for version in (conflict.ours, conflict.theirs) if version is not None)
    body = words.strip()
    tags = {key: value for key, value in like.tags.items() if key != "verified_date"}
    return Version(like.category, body, tags, tag_blocks.write(tags, body))


def _digest(*parts: Version | str | None) -> str:
    told = [[part.category, part.text] if isinstance(part, Version) else part for part in parts]
    return content_digest(told).partition(":")[2][:20]
