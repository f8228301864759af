"""Where the two sides of a merge disagree, and who says which of them wins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from catmem.model.version import Version

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


OPEN = Decision()
