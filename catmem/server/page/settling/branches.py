"""Bringing a branch together with its head, or closing it: what the forms of a branch do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.errors import MergeConflictError
from catmem.server.errors import ServerError
from catmem.server.page.settling.branch_form import Branch, asking, branch_page, result_digest
from catmem.server.page.writing import Did
from catmem.service.merging.merging import plan_merge
from catmem.service.merging.past import NOW
from catmem.store.contract import sees
from catmem.text import counted, plural

if TYPE_CHECKING:
    from catmem.server.page.reading import Page
    from catmem.server.page.refused import Refusal
    from catmem.server.page.writing import Sent

_BRANCHES = "/page/branches"


def preview(sent: Sent) -> Page:
    """What a merge would write that is decided so; nothing is written."""
    return branch_page(_branch(sent), sent.fields)


def merge(sent: Sent) -> Did | Page:
    """Merge a branch as it was decided, if the head is still the one that was shown.

    Where the result was shown and the decisions are others by now, the new result is shown first.
    """
    if "result" in sent.fields and _is_otherwise(sent):
        return branch_page(_branch(sent), sent.fields, otherwise=True)
    try:
        joined = sent.workspace.merge(
            sent.named, [sent.path["branch"]], precedence=asking(sent.fields), expected=sent.seen, op_id=sent.op_id
        )
    except MergeConflictError as error:
        count = len(error.conflicts)
        raise ServerError(
            422,
            f"{counted(count, 'conflict')} {plural(count, 'is', 'are')} not decided yet",
            code="undecided",
            hint="Nothing was written. Choose what becomes of each.",
        ) from error
    return Did(_BRANCHES, joined.entity, joined.revision if joined.plan.merged or joined.repeated else None)


def drop(sent: Sent) -> Did:
    """Close a branch, and take nothing from it; the history keeps what it says."""
    joined = sent.workspace.merge(sent.named, [sent.path["branch"]], drop=True, expected=sent.seen, op_id=sent.op_id)
    return Did(_BRANCHES, joined.entity, joined.revision if joined.plan.merged or joined.repeated else None)


def again(sent: Sent, refusal: Refusal) -> Page:
    """The branch beside what is at the head by now, with what was decided as far as it is the same."""
    return branch_page(_branch(sent), sent.fields, refusal)


def _is_otherwise(sent: Sent) -> bool:
    """Whether a merge on the very head that was shown would write something else than what was shown."""
    plan = plan_merge(sent.workspace, sent.named, [sent.path["branch"]], precedence=asking(sent.fields))
    is_seen = sees(sent.seen, None if plan.head == NOW else plan.head, plan.digest)
    return is_seen and bool(plan.merged) and result_digest(plan) != sent.get("result")


def _branch(sent: Sent) -> Branch:
    return Branch(sent.workspace, sent.named, sent.path["branch"])
