"""An entry as a caller is shown it: its place, how old it is, what the threat scan finds in it; and as JSON-ready data.

Answers are bounded, and those for an agent are without what a prompt would withhold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from catmem.jsonable import jsonable
from catmem.staleness.freshness import Freshness
from catmem.threats import Threat, scan_each

if TYPE_CHECKING:
    from catmem.model.document import Entry, TagValue
    from catmem.model.version import Version

PREVIEW = 80
"""Characters of an entry that a message quotes."""

_MORE = "…"


@dataclass(frozen=True, slots=True)
class SeenEntry:
    """An entry that a caller is shown. ``entity`` is such as ``trinity/user``; ``line`` counts from 1."""

    entity: str
    line: int
    entry: Entry
    freshness: Freshness
    __json__ = "target category=entry.category line id=entry.id *freshness threats tags=entry.tags body=entry.body"

    @property
    def target(self) -> str:
        """``user`` or ``memory``."""
        return self.entity.rpartition("/")[2]

    @property
    def threats(self) -> tuple[str, ...]:
        """The rules of the threat scan for which a prompt withholds the entry. People may see it, agents should not."""
        return rules_in([self.entry.body])


# --- what an answer says of an entry -------------------------------------------------------------------------------


def findings_in(texts: Sequence[str]) -> list[Threat]:
    """What the threat scan finds in any of the texts."""
    return [finding for found in scan_each(texts) for finding in found]


def rules_in(texts: Sequence[str]) -> tuple[str, ...]:
    """The rules of the threat scan that find something in any of the texts."""
    return tuple(sorted({finding.rule for finding in findings_in(texts)}))


def value_texts(values: Iterable[TagValue | None]) -> list[str]:
    """The texts of values of tags, those in lists one by one."""
    return [text for value in values for text in ([value] if isinstance(value, str) else value or [])]


def tag_texts(tags: Mapping[str, TagValue | None]) -> list[str]:
    """The names and values of tags, and each value behind its name: that says what it is."""
    pairs = [(key, text) for key, value in tags.items() for text in value_texts([value])]
    return [*tags, *(text for _, text in pairs), *(f"{key}: {text}" for key, text in pairs)]


def texts_of(entry: Entry | Version) -> list[str]:
    """All that an entry would show of itself: its body, and its tags."""
    return [entry.body, *tag_texts(entry.tags)]


def entry_dict(entry: Entry, *, to_agent: bool) -> dict[str, Any]:
    """An entry as JSON-ready data: category, body, tags, id."""
    shown: dict[str, Any] = jsonable(entry)
    threats = rules_in(texts_of(entry)) if to_agent else ()
    if threats:
        shown |= {"body": _blocked(threats), "tags": {}, "threats": list(threats)}
    return shown


def _blocked(threats: Sequence[str]) -> str:
    from catmem.prompt.styles import blocked_line

    return blocked_line(", ".join(threats))


def preview(entry: Entry, *, to_agent: bool, length: int = PREVIEW) -> str:
    """The beginning of an entry's body on one line."""
    threats = rules_in(texts_of(entry)) if to_agent else ()
    body = _blocked(threats) if threats else entry.body
    line = " ".join(body[: 4 * length].split())
    return line if len(line) <= length else line[: length - 1] + _MORE
