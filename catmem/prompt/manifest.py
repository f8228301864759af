"""What a prompt is made of: each entry of the profile's categories, in or out, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one entry of the profile's categories."""

    target: str
    category: str
    line: int
    id: str
    state: str
    """``fresh``, ``stale``, ``expired`` or ``unverified``."""
    day: date | None
    """The date that decides the state."""
    status: str
    """``in``, ``blocked`` (a line in its place says so) or ``out``."""
    reason: str | None
    """Why an entry is not in as it stands."""
    preview: str
    """The beginning of its body; empty for a blocked entry."""
    budget: str | None = None
    """The budget that keeps it out: ``user``, ``memory`` or ``total``."""

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON-ready data."""
        return {
            "target": self.target,
            "category": self.category,
            "line": self.line,
            "id": self.id,
            "state": self.state,
            "date": None if self.day is None else self.day.isoformat(),
            "status": self.status,
            "reason": self.reason,
            "preview": self.preview,
        }


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a prompt is made of, in its order. Entries of other categories appear as a number only."""

    profile: str
    as_of: date
    style: str
    rows: tuple[Row, ...]
    hidden: Mapping[str, int]
    """How many entries of each target the profile may not see."""
    hidden_uncategorized: Mapping[str, int]
    """How many of those have no category: ``include_uncategorized`` decides on them."""
    sizes: Mapping[str, int]
    """Characters (or what the counter counts) that each target takes in the text."""
    budget: Mapping[str, int]
    warnings: tuple[str, ...] = ()
    """What to know of the files, such as conflict markers of git in one of them."""

    def to_dict(self) -> dict[str, Any]:
        """The manifest as JSON-ready data."""
        return {
            "profile": self.profile,
            "as_of": self.as_of.isoformat(),
            "style": self.style,
            "entries": [row.to_dict() for row in self.rows],
            "hidden": dict(self.hidden),
            "hidden_uncategorized": dict(self.hidden_uncategorized),
            "sizes": dict(self.sizes),
            "budget": dict(self.budget),
            "warnings": list(self.warnings),
        }
