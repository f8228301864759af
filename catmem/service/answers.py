"""Entries and sizes as the memory tool's answers show them: bounded, and without hostile text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.policy.staleness import freshness, stale_after_days
from catmem.service.showing import entry_dict

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from catmem.model.document import Entry
    from catmem.policy.config import Config
    from catmem.policy.profile import Profile
    from catmem.service.budget import Usage

MOST_ENTRIES = 50
MOST_CHARACTERS = 8_000
"""Of all entries of one answer, as JSON."""

_LONGEST_BODY = 2_000


class Sight(NamedTuple):
    """Whose measures say how old an entry is, and on which day."""

    profile: Profile
    config: Config
    as_of: date


def shown_entries(entries: Iterable[Entry], sight: Sight | None = None) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Entries as JSON-ready data, as many as an answer takes; and what the answer says of those left out, if any.

    With ``sight`` each tells its state and the date of that. A long body is cut, and says so.
    """
    shown: list[dict[str, Any]] = []
    total, left_out = 0, 0
    for entry in entries:
        if left_out or len(shown) == MOST_ENTRIES:
            left_out += 1
            continue
        data = _entry(entry, sight)
        size = len(json.dumps(data, ensure_ascii=False))
        if total + size > MOST_CHARACTERS:
            left_out += 1
            continue
        total += size
        shown.append(data)
    if not left_out:
        return shown, {}
    return shown, {
        "entries_left_out": left_out,
        "entries_note": f"{left_out} more are not shown here; list a category to see those of it.",
    }


def _entry(entry: Entry, sight: Sight | None) -> dict[str, Any]:
    data = entry_dict(entry, to_agent=True)
    if len(data["body"]) > _LONGEST_BODY:
        data |= {"body": data["body"][:_LONGEST_BODY], "cut": True}
    if len(json.dumps(data["tags"], ensure_ascii=False)) > _LONGEST_BODY:
        data |= {"tags": {}, "cut": True}
    if sight is not None:
        tags = entry.tags
        limit = stale_after_days(entry.category, tags, sight.profile, sight.config)
        found = freshness(tags, as_of=sight.as_of, stale_after=limit)
        data |= {"state": found.state, "date": found.day.isoformat() if found.day else None}
    return data


def usage_dict(usage: Usage) -> dict[str, Any]:
    """``{"size": 1074, "limit": 1375, "text": "1,074/1,375 characters"}``."""
    return {"size": usage.size, "limit": usage.limit, "text": str(usage)}
