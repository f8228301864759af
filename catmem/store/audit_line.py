"""One line of the audit log: what was asked of an entity, by whom, and how it ended. No text of an entry is in it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

LONGEST_NAME = 200
"""Characters that a line keeps of a name: whoever is refused may have given any text as one."""

_TEXTS = ("ts", "entity_id", "op", "agent", "status")
_TEXTS_OR_NONE = ("prev_rev", "mem_rev", "reason", "head_rev", "note")

STATUSES = ("ok", "unchanged", "repeated", "branch", "merged", "refused", "shadowed", "bypassed")


class Line(NamedTuple):
    """One operation.

    ``ts`` is when it ended, UTC. ``prev_rev`` is the revision (or digest) that it was made on, ``mem_rev`` the revision
    that answers it, ``None`` for a refusal, and ``head_rev`` what stood at the head then, ``None`` if nobody can tell.
    ``status`` is one of ``STATUSES``; ``reason`` the code of the refusal, or the codes, with commas between, of what
    was let pass. ``seconds`` is how long it took. ``note`` is what a person said of a bypass.
    """

    ts: str
    entity_id: str
    op: str
    agent: str
    prev_rev: str | None
    mem_rev: str | None
    status: str
    reason: str | None
    head_rev: str | None
    seconds: float | None = None
    note: str | None = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """The codes, one by one."""
        return tuple(self.reason.split(",")) if self.reason else ()

    def to_dict(self) -> dict[str, Any]:
        """The line as JSON-ready data, its keys always in one order; ``note`` only where there is one."""
        said = self._asdict()
        if self.note is None:
            del said["note"]
        return said

    def to_json(self) -> bytes:
        """The line as it stands in the log, with its newline; ASCII, whatever the names are."""
        return json.dumps(self.to_dict(), separators=(",", ":")).encode() + b"\n"

    @classmethod
    def from_json(cls, data: bytes) -> Line | None:
        """What a line of the log says; ``None`` if it is damaged. Keys that a later version adds are passed over."""
        try:
            said = json.loads(data)
        except (ValueError, RecursionError):
            return None
        if not isinstance(said, dict) or not all(isinstance(said.get(key), str) for key in _TEXTS):
            return None
        if not all(isinstance(said.get(key), str | None) for key in _TEXTS_OR_NONE):
            return None
        seconds = said.get("seconds")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float | None):
            return None
        fields: dict[str, Any] = {field: said.get(field) for field in cls._fields}
        return cls(**fields)


def bounded(name: object) -> str:
    """A name as a line keeps it: as it was given, cut where it is longer than any name can be."""
    text = name if isinstance(name, str) else repr(name)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"
