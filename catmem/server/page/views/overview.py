"""All profiles at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.server.page.reading import Page

if TYPE_CHECKING:
    from catmem.server.page.reading import Asked


def overview(asked: Asked) -> Page:
    """Each profile with what it holds, what is due, and what waits."""
    seen = asked.overviews.read()
    return Page("overview.html", {"overview": seen, "due": sum(seen.due.values())})
