"""Entries and sizes as the memory tool's answers show them: bounded, and without hostile text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.policy.staleness import freshness, stale_after_days
from catmem.service.showing import entry_dict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from catmem.model.document import Entry
    from catmem.policy.config import Config
    from catmem.policy.profile import Profile
    from catmem.service.searching.search import Hit
    from catmem.service.writing.written import FileUsage

MOST_ENTRIES = 50
MOST_CHARACTERS = 8_000
"""Of all entries of one answer, as JSON."""

_LONGEST_BODY = 2_000
_FRAME = 100
"""Characters that an entry has in an answer at least, beside its body."""

_json = json.JSONEncoder(ensure_ascii=False).encode


class Sight(NamedTuple):
    """Whose measures say how old an entry is, and on which day."""

    profile: Profile
    config: Config
    as_of: date


def shown_entries(
    entries: Sequence[Entry], sight: Sight | None = None, offset: int = 0
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Entries from the one at ``offset`` on as JSON-ready data, as many as an answer takes.

    And what the answer says of those after them that are left out, if any. With ``sight`` each entry tells its state
    and the date of that, and ``entries`` are what a list counts. A long body is cut, and says so.
    """
    shown: list[dict[str, Any]] = []
    total = 0
    for entry in entries[offset : offset + MOST_ENTRIES]:
        data = _entry(entry, sight)
        total += len(_json(data))
        if shown and total > MOST_CHARACTERS:
            break
        shown.append(data)
    left_out = len(entries) - offset - len(shown)
    if left_out <= 0:
        return shown, {}
    how = "list shows them" if sight is None else f"list with offset {offset + len(shown)} shows them"
    return shown, {"entries_left_out": left_out, "entries_note": f"{left_out} more are not shown here; {how}."}


def may_fit(entries: Iterable[Entry]) -> int:
    """How many of the entries an answer takes at most: all that ``shown_hits`` shows are among them."""
    count = size = 0
    for entry in entries:
        size += _FRAME + min(len(entry.body), _LONGEST_BODY)
        if count and size > MOST_CHARACTERS:
            break
        count += 1
    return count


def shown_hits(found: Sequence[Hit], total: int, offset: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What a search found, ``total`` in all, from the one at ``offset`` on, as ``shown_entries`` shows it.

    Each tells its target, and its state by all clocks. The search has left out what a prompt would withhold.
    """
    shown: list[dict[str, Any]] = []
    size = 0
    for each in found:
        day = each.freshness.day
        dated = {"state": each.freshness.state, "date": day.isoformat() if day else None}
        data = {"target": each.target, **_cut(entry_dict(each.entry, to_agent=False)), **dated}
        size += len(_json(data))
        if shown and size > MOST_CHARACTERS:
            break
        shown.append(data)
    left_out = total - offset - len(shown)
    if left_out <= 0:
        return shown, {}
    note = f"{left_out} more are not shown here; search with offset {offset + len(shown)} shows them."
    return shown, {"entries_left_out": left_out, "entries_note": note}


def _entry(entry: Entry, sight: Sight | None) -> dict[str, Any]:
    data = _cut(entry_dict(entry, to_agent=True))
    if sight is not None:
        tags = entry.tags
        limit = stale_after_days(entry.category, tags, sight.profile, sight.config)
        found = freshness(tags, as_of=sight.as_of, stale_after=limit)
        data |= {"state": found.state, "date": found.day.isoformat() if found.day else None}
    return data


def _cut(data: dict[str, Any]) -> dict[str, Any]:
    """The data of an entry, with a body and tags that leave room for others."""
    if len(data["body"]) > _LONGEST_BODY:
        data |= {"body": data["body"][:_LONGEST_BODY], "cut": True}
    if len(_json(data["tags"])) > _LONGEST_BODY:
        data |= {"tags": {}, "cut": True}
    return data


def usage_dict(usage: FileUsage) -> dict[str, Any]:
    """``{"size": 1074, "limit": 1375, "text": "1,074/1,375 characters"}``."""
    return {"size": usage.size, "limit": usage.limit, "text": str(usage)}
