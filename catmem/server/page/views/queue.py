"""The facts that somebody should look at: stale, expired, unverified for long, dated in the future."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from catmem.errors import CatmemError
from catmem.policy.profile import profile_names
from catmem.server.page.reading import Page
from catmem.server.page.shown import paged, reference
from catmem.service.reviewing.review import Review

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.server.page.reading import Asked
    from catmem.service.reviewing.due import Due, DueState

STATES: dict[DueState, str] = {
    "expired": "Expired",
    "stale": "Stale",
    "unverified": "Unverified for long",
    "future": "Dated in the future",
}
_SIZE = 50


class Waiting(NamedTuple):
    """A fact that waits for an answer.

    ``base`` is the revision that it was read from, or a digest; empty where no answer can be written.
    ``next`` is the id of the place of the one that comes after it.
    """

    due: Due
    base: str
    next: str


def queue(asked: Asked) -> Page:
    """What is due, the oldest of each profile first; the query may name a ``profile`` and a ``state``."""
    profiles = profile_names(asked.workspace.config.profiles_dir)
    name, state = asked.choice("profile", profiles), asked.choice("state", STATES)
    # What a round on the command line passed over is due all the same.
    review = Review.open(asked.workspace, profiles=[name] if name else (), restart=True)
    due = review.due()
    counts = Counter(each.state for each in due)
    some = paged([each for each in due if state in {None, each.state}], asked.number("page"), _SIZE)
    groups = _grouped(review, some.rows)
    return Page(
        "queue.html",
        {
            "profiles": profiles,
            "profile": name,
            "states": STATES,
            "state": state,
            "counts": counts,
            "due": len(due),
            "paged": some,
            "groups": groups,
            "copies": review.copies,
            "problems": review.unreadable,
            "as_of": review.as_of,
        },
    )


def _grouped(review: Review, due: Sequence[Due]) -> list[tuple[str, list[Waiting]]]:
    """The facts by profile, each in its turn."""
    groups: list[tuple[str, list[Waiting]]] = []
    bases: dict[str, str] = {}
    for index, each in enumerate(due):
        name = each.entity.partition("/")[0]
        if not groups or groups[-1][0] != name:
            groups.append((name, []))
        if each.entity not in bases:
            bases[each.entity] = _base(review, each.entity)
        # After the last one the person looks at the one before it.
        beside = due[index + 1] if index + 1 < len(due) else due[index - 1] if index else None
        following = "" if beside is None else reference(beside.entry.id)
        groups[-1][1].append(Waiting(each, bases[each.entity], following))
    return groups


def _base(review: Review, entity: str) -> str:
    """What a form on a fact of this file says of it. A history that cannot be read hides no fact."""
    try:
        return review.base(entity)
    except CatmemError as error:
        review.unreadable.append(error)
        return ""
