"""What waits for the yes of a person: the queue of proposals, one of them, and what is decided on those ticked.

Each decision is a record of its own. What cannot be decided so is named, and the rest is done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any

from catmem.digest import bytes_digest
from catmem.errors import CatmemError
from catmem.names import category_name, parts_of
from catmem.plugins.page.entries_page import in_field
from catmem.plugins.page.page_view import Page, PageRequest
from catmem.plugins.page.rendering import Paged, paged, reference, with_query
from catmem.plugins.page.writing import TICK, Redirect, SentForm, nothing_ticked, refuse_partly
from catmem.proposals.deciding import Decided
from catmem.proposals.proposal import Proposal, proposal, proposals
from catmem.staleness.review import Due, DueState, Review
from catmem.workspace.root import agent_names
from catmem.workspace.workspace import Workspace

_QUEUE = "/proposals"
_SIZE = 25
_MOST_TEXT, _MOST_CHANGES = 4_000, 10
"""Characters and changes of a proposal that the list shows whole."""


def all_proposals(asked: PageRequest) -> Page:
    """What waits in all files, the oldest first; the query may name a ``profile`` and a ``category``."""
    found, unreadable = proposals(asked.workspace)
    categories = {name: category_name(name) for each in found for name in sorted(each.categories)}
    profiles = {_owner(each): _owner(each) for each in found}
    name, slug = asked.if_there("profile", profiles), asked.if_there("category", categories)
    chosen = [each for each in found if name in {None, _owner(each)} and slug in {None, *each.categories}]
    narrowed = {"profiles": profiles, "profile": name, "categories": categories, "category": slug}
    # Nothing is decided on in the list that it does not show to the letter.
    long = {each.id for each in chosen if _size(each) > _MOST_TEXT or len(each.changes) > _MOST_CHANGES}
    context = {**narrowed, "alone": None, "words": None, "total": len(found), "problems": unreadable, "long": long}
    return _page(asked.workspace, paged(chosen, asked.page, _SIZE), context)


def _size(found: Proposal) -> int:
    return sum(len(side.text) for change in found.changes for side in change if side is not None)


def one_proposal(asked: PageRequest) -> Page:
    """A proposal, also one that was decided. Raises ``UnknownNameError``."""
    found = proposal(asked.workspace, asked.path["id"])
    context = {"alone": found, "words": _words(found), "total": 0, "problems": (), "long": ()}
    return _page(asked.workspace, paged([found], 1, 1), context)


def _page(workspace: Workspace, some: Paged, context: Mapping[str, Any]) -> Page:
    digests = {each.entity: bytes_digest(workspace.store.peek(each.entity)) for each in some.rows}
    return Page("proposals.html", {**context, "paged": some, "watched": list(digests.items())})


def _owner(found: Proposal) -> str:
    return parts_of(found.entity).owner


def _words(found: Proposal) -> str | None:
    """The words of the one entry that a proposal makes, as a field gives them back; ``None`` where it is not one."""
    made = [change.after.body for change in found.changes if change.after is not None]
    return in_field(made[0]) if len(made) == 1 else None


# --- forms -----------------------------------------------------------------------------------------------------------


def approve(sent: SentForm) -> Redirect:
    """Write what is ticked; of one alone in the words of the person, if these are other ones."""
    return _each(sent, "approved")


def reject(sent: SentForm) -> Redirect:
    """Close what is ticked, for the reason that the person gave."""
    return _each(sent, "rejected")


def _each(sent: SentForm, verdict: str) -> Redirect:
    names, failed, done = _ticked(sent), [], []
    if not names:
        raise nothing_ticked("no proposal is ticked")
    for name in names:
        try:
            done.append(_decided(sent, verdict, name))
        except CatmemError as error:
            if len(names) == 1:
                raise
            failed.append(error.message if name in error.message else f"{name}: {error.message}")
    refuse_partly(failed, len(done), verdict)
    # The newest first: of the revisions of one file, that is the one that can be taken back.
    written = [(each.proposal.entity, each.revision) for each in reversed(done)]
    return Redirect(_QUEUE if sent.back.startswith(f"{_QUEUE}/") else sent.back, written)


def _decided(sent: SentForm, verdict: str, name: str) -> Decided:
    if verdict == "rejected":
        return sent.workspace.reject(name, reason=sent.get("reason").strip() or None)
    words = sent.fields.get("content")
    is_own = words is not None and words != _words(proposal(sent.workspace, name))
    return sent.workspace.approve(name, words=words if is_own else None)


def _ticked(sent: SentForm) -> list[str]:
    return [field.removeprefix(TICK) for field in sent.fields if field.startswith(TICK)]


# --- the facts that a person should look at: unverified, stale, expired, dated in the future -------------------------


STATES: dict[DueState, str] = {
    "unverified": "Unverified",
    "expired": "Expired",
    "stale": "Stale",
    "future": "Dated in the future",
}
_QUEUE_SIZE = 40


def queue(asked: PageRequest) -> Page:
    """What is due, in the order of a review; the query may name a ``profile``, a ``state`` and an ``entry``."""
    profiles = agent_names(asked.workspace)
    name, state = asked.choice("profile", profiles), asked.choice("state", STATES)
    review = Review.open(asked.workspace, profiles=[name] if name else ())
    due = review.due()
    elsewhere = review.elsewhere() if name else []
    counts = Counter(each.state for each in [*due, *elsewhere])
    chosen = [each for each in [*due, *elsewhere] if state in {None, each.state}]
    some = paged(chosen, asked.page_of((each.entry for each in chosen), _QUEUE_SIZE), _QUEUE_SIZE)
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


def _grouped(
    review: Review, due: Sequence[Due], elsewhere: Collection[tuple[str, str]]
) -> Iterator[tuple[str, list[dict[str, Any]], dict[str, str]]]:
    """The facts of each profile in their order, with the entities of which several can be ticked, each with its base.

    ``elsewhere`` has the keys of those answered at their sources.
    """

    @cache
    def base(entity: str) -> str:
        try:
            return review.base(entity)
        except CatmemError as error:  # a history that cannot be read hides no fact
            review.unreadable.append(error)
            return ""

    rows: list[dict[str, Any]] = []
    for index, each in enumerate(due):
        # After the last one the person looks at the one before it.
        beside = due[index + 1] if index + 1 < len(due) else due[index - 1] if index else None
        rows.append(
            {
                "due": each,
                "base": base(each.entity),  # empty where no answer can be written
                "next": "" if beside is None else beside.entry.id,
                "follows": list(_followed(review, each)),
                "elsewhere": each.key in elsewhere,
            }
        )
    for name, some in groupby(rows, key=lambda row: parts_of(row["due"].entity).owner):
        facts = list(some)
        answered = Counter((row["due"].entity, row["base"]) for row in facts if row["base"] and not row["elsewhere"])
        many = {entity: base for (entity, base), count in answered.items() if count > 1}
        yield name, facts, many


def _followed(review: Review, due: Due) -> Iterator[tuple[str, str | None]]:
    """The entities that a fact is a copy of, each with the address of the same fact there if it is due there."""
    for entity, is_due in review.sources_of(due).items():
        address = with_query("/page/queue", profile=parts_of(entity).owner, entry=due.entry.id)
        yield entity, f"{address}#{reference(due.entry.id)}" if is_due else None
