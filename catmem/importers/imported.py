"""What was read from another program."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from catmem.policy.staleness import read_date

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

SOURCE_LENGTH = 200
"""Characters of a ``source`` tag at most."""

# Markup may stand in front of a date: a heading, a bullet, emphasis, brackets, a link to a daily note.
_LEADING_DAY = re.compile(r"[\s#>*_`~(\[+-]{0,16}(\d{4}-\d\d-\d\d)(?![\d-])")


@dataclass(frozen=True, slots=True)
class ImportedEntry:
    """One fact. ``place`` says where it stood (a file, perhaps with a line or a row).

    ``kind`` is the other program's word for a category, ``None`` for none. ``tags`` are those that the format has;
    ``fields`` are what else was said of it, which has a place only if the root declares a tag of that name. ``target``
    is ``user`` or ``memory`` where the other program tells the two apart. ``single``: no other entry has its
    ``source``. ``day`` dates an entry that has no ``created`` and no date in its text: that of its file.
    """

    body: str
    place: str
    kind: str | None = None
    tags: Mapping[str, str | list[str]] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    target: str | None = None
    single: bool = False
    day: date | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that has no place here: what it is, what it says, and where it stands."""

    place: str
    what: str
    value: str
    why: str

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready data."""
        return {"place": self.place, "what": self.what, "value": self.value, "why": self.why}


@dataclass(frozen=True, slots=True)
class Imported:
    """The entries, in the order in which they stood, and what has no place."""

    entries: Sequence[ImportedEntry]
    left_out: Sequence[LeftOut] = ()


def source_tag(program: str, place: str) -> str:
    """The ``source`` tag of an entry from ``place``: one line, not too long."""
    return " ".join(f"{program}/{place}".split())[:SOURCE_LENGTH]


def day_of(moment: str) -> str | None:
    """The day of a date or time as text (``2026-05-01T12:00:00Z``), ``YYYY-MM-DD``; ``None`` for anything else."""
    day = moment.strip()[:10]
    rest = moment.strip()[10:11]
    return day if read_date(day) and rest in {"", "T", " "} else None


def leading_day(text: str) -> date | None:
    """The day that a text begins with, ``YYYY-MM-DD`` with or without markup around it."""
    found = _LEADING_DAY.match(text)
    return read_date(found[1]) if found else None


def dated(found: Mapping[str, str], names: Mapping[str, str]) -> tuple[dict[str, str | list[str]], dict[str, str]]:
    """Fields that are dates as tags, by ``names`` (theirs to ours), and the other fields, bad dates included."""
    tags: dict[str, str | list[str]] = {}
    rest: dict[str, str] = {}
    for key, value in found.items():
        day = day_of(value) if key in names else None
        if day is None:
            rest[key] = value
        else:
            tags[names[key]] = day
    return tags, rest
