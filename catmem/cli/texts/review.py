"""What is due, and what a review did, as people read it."""

from __future__ import annotations

from catmem.cli.output import columns, emit, first_line, say
from catmem.ops.table import Call
from catmem.staleness.review import Answered, Review

_WIDTH = 72
DONE = {
    "keep": "kept and verified",
    "edit": "changed and verified",
    "expire": "expired",
    "remove": "removed",
    "skip": "skipped",
}


def _due(review: Review, _: Call) -> None:
    due = review.due()
    rows = ((f"{each.entity}:{each.line}", each.entry.category, each.why, each.entry.body) for each in due)
    emit(columns((*place, first_line(body, _WIDTH)) for *place, body in rows))
    if not due:
        say("Nothing is due.")
    say_passed(review)


def say_passed(review: Review) -> None:
    """Say how many due facts this round does not ask about: answered in it, or copies, which their source answers."""
    if review.passed_over:
        was = "was" if review.passed_over == 1 else "were"
        say(f"{review.passed_over:,} more {was} answered or skipped in this round; --restart asks again.")
    copies = len(review.elsewhere())
    if copies:
        say(f"{copies:,} more {are(copies)} seeded from another profile, and asked about there.")


def are(count: int) -> str:
    """The verb for so many."""
    return "is" if count == 1 else "are"


def taken_back(undone: Answered, call: Call | None = None) -> None:
    """Say which answer was taken back."""
    del call
    say(f"taken back in {undone.entity}{revision(undone)}: {DONE.get(undone.answer, undone.answer)}")


def revision(answered: Answered) -> str:
    """The revision that an answer made, if it made one."""
    return "" if answered.revision is None else f" (revision {answered.revision})"


TEXTS = {Review: _due, Answered: taken_back}
