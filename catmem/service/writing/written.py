"""What a write did, or would do: the one answer that every adapter shows in its way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from catmem.names import FILE_NAMES

if TYPE_CHECKING:
    from catmem.model.document import Entry
    from catmem.policy.manifest import Row
    from catmem.service.writing.budget import Usage
    from catmem.store.contract import OnDrift, OnStale

_FILES = {**FILE_NAMES, "total": "both files together"}
_MOST = 10
"""Entries that an answer names at most."""


class How(TypedDict, total=False):
    """How a write is made; each may be left out.

    ``expected`` is what the caller saw last, a revision (``7`` or ``"7"``) or a ``sha256:…`` digest: if that is no
    longer what is there, the write is refused. ``actor`` is the profile that acts, ``None`` a person. ``dry_run``
    writes nothing. ``on_drift`` is what to do when somebody else changed the file (``adopt``, ``refuse``, ``merge``).
    ``on_stale`` is what becomes of a write that was made on an older revision: refused (``refuse``), or kept beside the
    head as a ``branch``. ``op_id`` makes a retry safe: the same operations under the same one are made once.
    """

    expected: str | int | None
    actor: str | None
    dry_run: bool
    on_drift: OnDrift | None
    on_stale: OnStale | None
    op_id: str | None


@dataclass(frozen=True, slots=True)
class Crowded:
    """Entries that a write has a prompt leave out for its budget.

    ``budget`` is ``user``, ``memory`` or ``total``, and ``limit`` its characters; ``size`` is what the prompt would
    take of them with nothing left out. ``entries`` are those that the write leaves out anew, ``left_out`` counts all
    that budgets keep out. ``written``: what was just written is among them.
    """

    profile: str
    budget: str
    limit: int
    size: int
    entries: tuple[Row, ...]
    left_out: int
    written: bool

    def to_dict(self) -> dict[str, Any]:
        """The whole as JSON-ready data. No more than the prompt itself tells: entries that its profile sees."""
        return {
            "profile": self.profile,
            "budget": self.budget,
            "limit": self.limit,
            "size": self.size,
            "over_by": self.size - self.limit,
            "left_out": self.left_out,
            "written": self.written,
            "entries": [
                {"target": row.target, "category": row.category, "id": row.id, "preview": row.preview}
                for row in self.entries[:_MOST]
            ],
        }

    def over(self) -> str:
        """How far the prompt is over its budget, and how many entries that costs: the end of a sentence."""
        over = f"{self.size - self.limit:,} characters over the budget of {self.limit:,} for {_FILES[self.budget]}"
        stay = "stays" if self.left_out == 1 else "stay"
        entries = f"{self.left_out:,} {'entry' if self.left_out == 1 else 'entries'}"
        too = ", what was written too" if self.written and self.left_out > 1 else ""
        return f"{over}; {entries} {stay} out{too}."


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did, or would do.

    ``before`` and ``after`` are whole texts, hidden categories included: they are for people, and ``digest`` is for
    whoever writes next; ``to_dict`` leaves it out for an actor who is ``bounded``. ``entries`` were made or touched,
    as they are in ``after``; a removed one is as it was. After a dry run ``revision`` is that of what is there
    (``None``: not recorded yet), and ``digest`` that of what would be. ``notes`` say what was there already and what
    else there is to know, ``warnings`` what will not be in a prompt, or that git's conflict markers are. ``adopted``
    is the revision as which the store took in first what others had written to the file; the last of the notes says
    so. ``repeated``: this is the first answer to an ``op_id`` again, and what is there now may be newer. ``branch``:
    it was made on an older revision (``before``), and is kept beside the head, or would be; the last of the notes
    says so. ``crowded``: entries that the prompt of the profile has to leave out for it.
    """

    entity: str
    revision: str | None
    digest: str
    changed: bool
    before: str
    after: str
    entries: tuple[Entry, ...]
    usage: Usage
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    adopted: str | None = None
    bounded: bool = False
    repeated: bool = False
    branch: bool = False
    crowded: Crowded | None = None

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-ready data, without the whole texts."""
        return {
            "entity": self.entity,
            "revision": self.revision,
            "digest": None if self.bounded else self.digest,
            "changed": self.changed,
            "branch": self.branch,
            "entries": [
                {"category": entry.category, "body": entry.body, "tags": entry.tags, "id": entry.id}
                for entry in self.entries
            ],
            "usage": {"size": self.usage.size, "limit": self.usage.limit},
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "prompt": None if self.crowded is None else self.crowded.to_dict(),
        }
