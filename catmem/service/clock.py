"""The day, for callers who name none: the only place where catmem asks for it."""

from __future__ import annotations

from datetime import date


def today() -> date:
    """Today where the person is, who wrote the dates."""
    return date.today()  # noqa: DTZ011 - a day in a memory file has no time zone
