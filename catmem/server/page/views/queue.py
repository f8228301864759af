"""The facts that somebody should look at: stale, expired, unverified for long, dated in the future."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from catmem.server.page.reading import Page
from catmem.server.page.shown import paged
from catmem.service.reviewing.review import Review

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catmem.server.page.reading import Asked
    from catmem.service.reviewing.due import Due, DueState

STATES: dict[DueState, str] = {
    "expired": "Expired",
    "stale": "Stale",
    "unverified": "Unverified for long",
    "future": "Dated in the future",
}
_SIZE = 50


def queue(asked: Asked) -> Page:
    """What is due, the oldest of each profile first; the query may name a ``profile`` and a ``state``."""
    profiles = asked.workspace.profiles()
    name, state = asked.choice("profile", profiles), asked.choice("state", STATES)
    # What a round on the command line passed over is due all the same.
    review = Review.open(asked.workspace, profiles=[name] if name else (), restart=True)
    due = review.due()
    counts = Counter(each.state for each in due)
    some = paged([each for each in due if state in {None, each.state}], asked.number("page"), _SIZE)
    return Page(
        "queue.html",
        {
            "profiles": list(profiles),
            "profile": name,
            "states": STATES,
            "state": state,
            "counts": counts,
            "due": len(due),
            "paged": some,
            "groups": _grouped(some.rows),
            "copies": review.copies,
            "problems": review.unreadable,
            "as_of": review.as_of,
        },
    )


def _grouped(due: Iterable[Due]) -> list[tuple[str, list[Due]]]:
    """The facts by profile, each in its turn."""
    groups: list[tuple[str, list[Due]]] = []
    for each in due:
        name = each.entity.partition("/")[0]
        if not groups or groups[-1][0] != name:
            groups.append((name, []))
        groups[-1][1].append(each)
    return groups
