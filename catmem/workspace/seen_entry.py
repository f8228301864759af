"""An entry as a caller is shown it: its place, how old it is, what the threat scan finds in it; and as JSON-ready data.

Answers are bounded, and those for an agent are without what a prompt would withhold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from catmem.jsonable import jsonable
from catmem.model.document import Entry, TagValue, Version
from catmem.names import parts_of
from catmem.staleness.freshness import Freshness
from catmem.threats import SECRETS, Threat, scan_each

PREVIEW = 80
"""Characters of an entry that a message quotes."""


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
        return parts_of(self.entity).target

    @property
    def threats(self) -> tuple[str, ...]:
        """The rules of the threat scan for which a prompt withholds the entry. People may see it, agents should not."""
        return rules_in([self.entry.body])


def findings_in(texts: Sequence[str]) -> list[Threat]:
    """What the threat scan finds in any of the texts."""
    return [finding for found in scan_each(texts) for finding in found]


def rules_in(texts: Sequence[str]) -> tuple[str, ...]:
    """The rules of the threat scan that find something in any of the texts."""
    return rules_in_each([texts])[0]


def rules_in_each(groups: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The same for each group of texts, from one look at all of them."""
    found = iter(scan_each([text for texts in groups for text in texts]))
    return [tuple(sorted({finding.rule for _ in texts for finding in next(found)})) for texts in groups]


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


def entry_dicts(entries: Sequence[Entry], *, to_agent: bool) -> list[dict[str, Any]]:
    """Entries as JSON-ready data, each category, body, tags, id; for an agent with ``threats`` in place of a body."""
    shown: list[dict[str, Any]] = jsonable(entries)
    for row, threats in zip(shown, rules_in_each(list(map(texts_of, entries))) if to_agent else (), strict=False):
        if threats:
            row |= {"body": _blocked(threats), "tags": {}, "threats": list(threats)}
    return shown


def entry_dict(entry: Entry, *, to_agent: bool) -> dict[str, Any]:
    """The same for one."""
    return entry_dicts([entry], to_agent=to_agent)[0]


def _blocked(threats: Sequence[str]) -> str:
    from catmem.prompt.styles import blocked_line

    return blocked_line(", ".join(threats))


def preview(entry: Entry, *, to_agent: bool, length: int = PREVIEW) -> str:
    """The beginning of an entry's body on one line; of one with a secret what the scan found, to a person too."""
    threats = [rule for rule in rules_in(texts_of(entry)) if to_agent or rule in SECRETS]
    body = _blocked(threats) if threats else entry.body
    line = " ".join(body[: 4 * length].split())
    return line if len(line) <= length else line[: length - 1] + "…"
