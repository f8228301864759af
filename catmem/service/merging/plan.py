"""What a merge of branches would do, and what it did, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from catmem.service.merging.deciding import Answer, Disagreement
    from catmem.service.writing.budget import Usage


@dataclass(frozen=True, slots=True)
class MergePlan:
    """What a merge would do to an entity. ``before`` and ``after`` are whole texts.

    ``merged`` are the branches that it brings in, or closes if it is a ``drop``; ``conflicts`` those that nobody has
    decided yet, ``settled`` the others, each with what was said. With open conflicts nothing is written.
    """

    entity: str
    head: str
    digest: str
    merged: tuple[str, ...]
    before: str
    after: str
    conflicts: tuple[Disagreement, ...] = ()
    settled: tuple[tuple[Disagreement, Answer], ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    drop: bool = False
    named: tuple[str, ...] = ()
    """The branches that were asked for, none for all."""


@dataclass(frozen=True, slots=True)
class Joined:
    """What a merge did, or in a dry run would do.

    ``revision`` and ``digest`` are those of the file afterwards; in a dry run the revision is that of what is there
    (``None``: not recorded yet). ``changed`` says whether a byte of the file did. ``repeated``: an ``op_id`` was seen
    before, and this is what became of it; ``plan`` is what would be to do by now.
    """

    plan: MergePlan
    revision: str | None
    digest: str
    usage: Usage
    notes: tuple[str, ...]
    adopted: str | None = None
    repeated: bool = False

    @property
    def entity(self) -> str:
        """Whose branches these were."""
        return self.plan.entity

    @property
    def changed(self) -> bool:
        """Whether the text is another one now."""
        return self.plan.before != self.plan.after

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-ready data, without the whole texts."""
        return {
            "entity": self.entity,
            "revision": self.revision,
            "digest": self.digest,
            "changed": self.changed,
            "merged": list(self.plan.merged),
            "dropped": self.plan.drop,
            "conflicts": [found.to_dict() for found in self.plan.conflicts],
            "settled": [{**found.to_dict(), "taken": _taken(answer)} for found, answer in self.plan.settled],
            "usage": {"size": self.usage.size, "limit": self.usage.limit},
            "notes": list(self.notes),
            "warnings": list(self.plan.warnings),
        }


def _taken(answer: Answer) -> str:
    """What was said of a conflict, in a word."""
    return answer if isinstance(answer, str) else "edited"
