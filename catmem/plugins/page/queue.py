"""The facts that a person should look at: unverified, stale, expired, dated in the future."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from catmem.errors import CatmemError
from catmem.plugins.page.formats import paged, reference, with_query
from catmem.plugins.page.page_view import Page
from catmem.staleness.review import Review
from catmem.workspace.root import agent_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from catmem.plugins.page.page_view import PageRequest
    from catmem.staleness.due import Due, DueState

STATES: dict[DueState, str] = {
    "unverified": "Unverified",
    "expired": "Expired",
    "stale": "Stale",
    "future": "Dated in the future",
}
_SIZE = 40


class Waiting(NamedTuple):
    """A fact that waits for an answer.

    ``base`` is the revision that it was read from, or a digest; empty where no answer can be written.
    ``next`` is the id of the one that comes after it. ``follows`` are the entities that it is a copy of,
    each with the address of the same fact there if it is due there; ``elsewhere`` says that it is answered there.
    """

    due: Due
    base: str
    next: str
    follows: tuple[tuple[str, str | None], ...]
    elsewhere: bool


class QueueGroup(NamedTuple):
    """Facts of one profile that follow each other.

    ``many`` are the entities of which several can be ticked, each with its base.
    """

    name: str
    facts: list[Waiting]
    many: dict[str, str]


def queue(asked: PageRequest) -> Page:
    """What is due, in the order of a review; the query may name a ``profile``, a ``state`` and an ``entry``.

    For one profile also its copies that are answered at their sources, with the way there.
    """
    profiles = agent_names(asked.workspace)
    name, state = asked.choice("profile", profiles), asked.choice("state", STATES)
    # What a round on the command line passed over is due all the same.
    review = Review.open(asked.workspace, profiles=[name] if name else (), restart=True)
    due = review.due()
    elsewhere = review.elsewhere() if name else []
    counts = Counter(each.state for each in [*due, *elsewhere])
    chosen = [each for each in [*due, *elsewhere] if state in {None, each.state}]
    some = paged(chosen, asked.page_of((each.entry for each in chosen), _SIZE), _SIZE)
    groups = list(_grouped(review, some.rows, {each.key for each in elsewhere}))
    return Page(
        "queue.html",
        {
            "profiles": {each: each for each in profiles},
            "named": asked.query.get("entry"),
            "profile": name,
            "states": STATES,
            "state": state,
            "counts": counts,
            "due": len(due),
            "elsewhere": len(elsewhere),
            "paged": some,
            "groups": groups,
            "copies": review.copies,
            "problems": review.unreadable,
            "as_of": review.as_of,
        },
    )


def _grouped(review: Review, due: Sequence[Due], elsewhere: Collection[tuple[str, str]]) -> Iterator[QueueGroup]:
    """The facts in their order.

    ``elsewhere`` has the keys of those answered at their sources.
    """

    @cache
    def base(entity: str) -> str:
        try:
            return review.base(entity)
        except CatmemError as error:  # a history that cannot be read hides no fact
            review.unreadable.append(error)
            return ""

    rows: list[Waiting] = []
    for index, each in enumerate(due):
        # After the last one the person looks at the one before it.
        beside = due[index + 1] if index + 1 < len(due) else due[index - 1] if index else None
        following = "" if beside is None else beside.entry.id
        rows.append(Waiting(each, base(each.entity), following, tuple(_followed(review, each)), each.key in elsewhere))
    for name, some in groupby(rows, key=lambda row: row.due.entity.partition("/")[0]):
        facts = list(some)
        answered = Counter((each.due.entity, each.base) for each in facts if each.base and not each.elsewhere)
        yield QueueGroup(name, facts, {entity: base for (entity, base), count in answered.items() if count > 1})


def _followed(review: Review, due: Due) -> Iterator[tuple[str, str | None]]:
    for entity, is_due in review.sources_of(due).items():
        address = with_query("/page/queue", profile=entity.partition("/")[0], entry=due.entry.id)
        yield entity, f"{address}#{reference(due.entry.id)}" if is_due else None
