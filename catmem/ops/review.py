"""Operations on facts that are due: review."""

from collections.abc import Sequence
from typing import Annotated, Literal

from catmem.jsonable import jsonable
from catmem.ops.shared import AsOf, Category, refuse_undeclared
from catmem.ops.table import Call, Outcome, P, UsageError, operation
from catmem.staleness.review import Answered
from catmem.text import counted


@operation(
    "review",
    examples=(
        "catmem review",
        "catmem review -p trinity --state stale",
        "catmem review --list --format json",
        "catmem review --answers answers.txt",
    ),
)
def review(
    call: Call,
    *,
    profiles: Annotated[
        Sequence[str],
        P(
            "Only the memory of this profile; may be given several times. By default all.",
            "-p --profile",
            metavar="NAME",
        ),
    ] = (),
    category: Category = None,
    states: Annotated[
        Sequence[Literal["stale", "expired", "unverified", "future"]],
        P("Only facts that are this; may be given several times. future: dated in the future.", "--state"),
    ] = (),
    only_list: Annotated[bool, P("List what is due, and ask nothing.", "--list")] = False,
    answers: Annotated[
        str | None,
        P(
            "Read the answers from FILE, one a line, - for standard input. By default from standard input.",
            metavar="FILE",
        ),
    ] = None,
    undo: Annotated[bool, P("Take the last answer back, that of an earlier run too, and ask nothing.")] = False,
    restart: Annotated[bool, P("Begin a new round: ask again about what was skipped in this one.")] = False,
    as_of: AsOf = None,
) -> Outcome:
    """Walk the facts that are due, one by one: keep, edit, expire, remove or skip each.

    Due is what is expired, dated in the future, without a date, or stale, in this order, and of each the facts that
    agents used most. Each answer is written at once. A review that was stopped goes on where it was.

    The answers: k keeps and verifies, e WORDS gives it other words, x says that it no longer holds, r removes it, s
    skips it in this round, u takes the last answer back, q quits, ? explains. At a terminal one key is enough, and e
    ends with Enter; from a pipe or a file each answer is a line.

    Exit status 1: some are left without an answer.
    """
    from catmem.proposals.proposal import proposals
    from catmem.staleness.lineage import notes_of
    from catmem.staleness.review import Review

    if only_list + undo + restart > 1:
        raise UsageError("--list, --undo and --restart exclude each other.")
    if answers is not None and (only_list or undo):
        raise UsageError("--answers is for a review that asks; --list and --undo ask nothing.")
    refuse_undeclared(call, category)
    review = Review.open(call.root, profiles=profiles, category=category, states=states, as_of=as_of)
    if restart:
        review.round.begin_anew()
    given: list[Answered] = []
    left = 0
    if only_list:
        call.show(review)
    elif undo:
        call.show(review.undo())
    else:
        given, left = call.dialogue("review")(review, answers).run()
    said = {
        "as_of": review.as_of.isoformat(),
        "due": [jsonable(due) for due in review.due()],
        "passed_over": review.passed_over,
        "answers": [
            {"answer": each.answer, "entity": each.entity, "revision": each.revision, "notes": list(each.notes)}
            for each in given
        ],
    }
    if not (only_list or undo or left):
        review.finish()
    for note in (*([review.round.note] if review.round.note else []), *notes_of(call.root)):
        call.tell(f"note: {note}")
    waiting = len(proposals(call.root).proposals)
    if waiting and not call.for_program:
        waits = f"{counted(waiting, 'proposal')} of agents"
        call.tell(f"{waits}: 'catmem proposals --interactive' goes through what waits.")
    return Outcome(None, said, review.unreadable, 0 if review.unreadable else int(bool(left)))
