"""Entries as an answer to somebody shows them: bounded, and for an agent without what a prompt would withhold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catmem.policy.threats import BuiltinScanner, scan_each

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from catmem.model.document import Entry, TagValue
    from catmem.policy.threats import Finding

PREVIEW = 80
"""Characters of an entry that a message quotes."""

_MORE = "…"


def findings_in(texts: Sequence[str]) -> list[Finding]:
    """What the threat scan finds in any of the texts."""
    return [finding for found in scan_each(BuiltinScanner(), texts) for finding in found]


def value_texts(values: Iterable[TagValue | None]) -> list[str]:
    """The texts of values of tags, those in lists one by one."""
    return [text for value in values for text in ([value] if isinstance(value, str) else value or [])]


def entry_dict(entry: Entry, *, to_agent: bool) -> dict[str, Any]:
    """An entry as JSON-ready data: category, body, tags, id.

    ``to_agent``: a text in which the scan finds something is replaced by a line that names the rules, and ``threats``
    lists them; the id still names the entry, so that it can be replaced or removed.
    """
    body, tags = entry.body, entry.tags
    shown: dict[str, Any] = {"category": entry.category, "body": body, "tags": tags, "id": entry.id}
    if to_agent:
        threats = sorted({finding.rule for finding in findings_in([body, *tags, *value_texts(tags.values())])})
        if threats:
            from catmem.policy.styles import blocked_line

            shown |= {"body": blocked_line(", ".join(threats)), "tags": {}, "threats": threats}
    return shown


def preview(entry: Entry, *, to_agent: bool, length: int = PREVIEW) -> str:
    """The beginning of an entry's body on one line."""
    body: str = entry_dict(entry, to_agent=to_agent)["body"]
    line = " ".join(body[: 4 * length].split())
    return line if len(line) <= length else line[: length - 1] + _MORE
