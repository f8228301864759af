"""How long a memory file is, how long it may be, and what could leave when it is too long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.errors import OverBudgetError
from catmem.policy.budget import limit_of, size_of
from catmem.policy.staleness import freshness, stale_after_days
from catmem.service.showing import preview

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from catmem.model.document import Entry
    from catmem.policy.config import Config
    from catmem.policy.profile import Profile

__all__ = ["Usage", "could_go", "limit_of", "over_budget", "size_of"]

_NAMED = 20
_FIRST_TO_GO = ("expired", "stale", "unverified", "fresh")


class Usage(NamedTuple):
    """Characters (code points) of a file, and how many it may have; ``None`` is no limit."""

    size: int
    limit: int | None

    def __str__(self) -> str:
        """``1,074/1,375 characters``."""
        return f"{self.size:,}{'' if self.limit is None else f'/{self.limit:,}'} characters"


def over_budget(entity: str, before: int, size: int, limit: int, named: Sequence[dict[str, Any]]) -> OverBudgetError:
    """The refusal of a write after which a file would be over its limit; ``named`` are entries that could go."""
    return OverBudgetError(
        f"{entity} would have {size:,} characters, {size - limit:,} over its limit of {limit:,}; it has {before:,} now",
        size=size,
        limit=limit,
        could_go=named,
        hint="Nothing was written. Shorten or remove other entries first, or do both in one batch: the limit is "
        "checked on the result.",
    )


def could_go(
    entries: Sequence[Entry], owner: Profile, config: Config, as_of: date, *, to_agent: bool
) -> list[dict[str, Any]]:
    """The entries that might leave, as JSON-ready data: expired, stale, unverified, then the oldest; at most 20."""
    rated = []
    for index, entry in enumerate(entries):
        tags = entry.tags
        limit = stale_after_days(entry.category, tags, owner, config)
        found = freshness(tags, as_of=as_of, stale_after=limit)
        day = found.day.isoformat() if found.day else ""
        rated.append((_FIRST_TO_GO.index(found.state), day, index, found.state, entry))
    return [
        {
            "id": entry.id,
            "category": entry.category,
            "state": state,
            "date": day or None,
            "text": preview(entry, to_agent=to_agent),
            "size": len(entry.raw),
        }
        for _, day, _, state, entry in sorted(rated, key=lambda row: row[:3])[:_NAMED]
    ]
