"""The day and the moment, for callers who name none, and how days and moments are written.

Only the file store asks elsewhere: a test sets the clock of its ``System``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from functools import lru_cache

from catmem.errors import wrong_type

_ISO_DATE_LENGTH = len("2026-05-01")


def today() -> date:
    """Today where the person is, who wrote the dates."""
    return date.today()  # noqa: DTZ011 - a day in a memory file has no time zone


def day(as_of: date | None) -> date:
    """The day that a caller names, else today. Raises ``EditError`` (``wrong_type``)."""
    return today() if as_of is None else checked_day(as_of)


def checked_day(as_of: object) -> date:
    """The day that a caller names. Raises ``EditError`` (``wrong_type``), for a moment too: it is no day by itself."""
    if not isinstance(as_of, date) or isinstance(as_of, datetime):
        raise wrong_type("as_of", as_of, "a datetime.date")
    return as_of


def now() -> datetime:
    """The moment, in UTC."""
    return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """A moment as records say it, with microseconds: ``2026-11-21T12:00:00.000000Z``."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def timestamp_in_seconds(moment: datetime) -> str:
    """A moment as envelopes and tokens say it: ``2026-11-21T12:00:00Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_date(value: str | Sequence[str] | None) -> date | None:
    """The date that a tag holds, ``YYYY-MM-DD``; ``None`` for anything else, which is a problem of the document."""
    return _date(value) if isinstance(value, str) and len(value) == _ISO_DATE_LENGTH else None


@lru_cache(maxsize=1024)
def _date(value: str) -> date | None:
    try:
        day = date.fromisoformat(value)
    except ValueError:
        return None
    return day if day.isoformat() == value else None  # not 2026-W47-6, which has the same length
