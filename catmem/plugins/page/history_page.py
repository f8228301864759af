"""What was: the revisions of a file and its branches, an old one again, and what others wrote taken over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from catmem.digest import bytes_digest
from catmem.errors import DriftError, EditError, MergeConflictError, RequestError
from catmem.merging.branches import Ask, ConflictAnswer, Disagreement, branch_of, branches_of_all, in_words
from catmem.merging.merging import MergeRequest, plan_merge
from catmem.model.merge import Conflict, Reason
from catmem.plugins.page.entries_page import in_field
from catmem.plugins.page.page_view import FormRefusal, Page, PageRequest, Redirect, SentForm, done, of_entity, record_of
from catmem.plugins.page.rendering import beginning, diff_of, text_of
from catmem.seeding.slices import conflict_id
from catmem.store.contract import Revision, unknown_revision
from catmem.text import counted, plural
from catmem.workspace.history import adopt as adopt_now
from catmem.workspace.history import parent_of, words_of
from catmem.workspace.history import restore as restore_revision

_SIZE = 50
_WORDS = 60
"""Characters of an entry beside what was done with it."""
NOTHING = "0"
"""The revision of a file that was never written."""
CHOSEN = "compare"
"""The address of the revision that the query names."""
NOW = "now"
"""The address of what is there and in no revision yet."""


def history(asked: PageRequest) -> Page:
    workspace, entity = asked.workspace, asked.named
    first = (asked.page - 1) * _SIZE
    digest, newest = bytes_digest(workspace.store.peek(entity)), workspace.store.head(entity)
    # One more than is shown: the change of size is counted from the revision before.
    found = list(islice(workspace.store.log(entity), first, first + _SIZE + 1))
    sizes, some = {each.revision: each.size for each in found}, found[:_SIZE]
    words = words_of(workspace, workspace.store, some)
    return Page(
        "history.html",
        {
            **of_entity(entity),
            "rows": [
                {
                    "revision": each,
                    "about": beginning(words.get(each.revision, ""), _WORDS),
                    "change": _change(each, sizes),
                }
                for each in some
            ],
            "compared": _compared(some),
            "page": asked.page,
            "more": len(found) > _SIZE,
            "outside": first == 0 and newest is not None and newest.digest != digest,
            "watched": [(entity, digest)],
        },
    )


def _compared(records: Sequence[Revision]) -> tuple[str, str]:
    """The two revisions that most want to compare: the newest ones, of the main line as far as there are so many."""
    newest = sorted(records, key=lambda each: each.is_branch)[:2]
    return newest[-1].revision if newest else NOTHING, newest[0].revision if newest else NOTHING


def _change(revision: Revision, sizes: Mapping[str, int]) -> int | None:
    size = sizes.get(revision.parents[0]) if revision.parents else 0
    return None if size is None else revision.size - size


def revision(asked: PageRequest) -> Page:
    """What a revision changed; with ``since`` in the query, what changed from that one to it."""
    workspace, entity, name, since = asked.workspace, asked.named, asked.path["revision"], asked.query.get("since")
    if name == CHOSEN:
        name = asked.query.get("to", NOW)
    store = workspace.store
    newest, record = store.head(entity), None if name == NOW else record_of(workspace, entity, name)
    if record is None and name != NOW:
        raise unknown_revision(entity, name[:20])
    since = since or (parent_of(record) if record else newest.revision if newest else NOTHING)
    old = b"" if since == NOTHING else store.read(entity, since).data
    now = store.read(entity)
    new = now.data if record is None else store.read(entity, name).data
    base = now.revision or now.digest
    is_other = record is not None and not record.is_branch and record.digest != now.digest
    return Page(
        "revision.html",
        {
            **of_entity(entity),
            "revision": name,
            "record": record,
            "since": since,
            "nothing": NOTHING,
            "diff": diff_of(text_of(old), text_of(new)),
            "newest": newest,
            "way_back": diff_of(text_of(now.data), text_of(new)) if is_other else None,
            "base": base,
            "outside": base if record is None and now.revision is None else None,
            "watched": [(entity, now.digest)],
        },
    )


# --- forms -----------------------------------------------------------------------------------------------------------


def restore(sent: SentForm) -> Redirect:
    """Write an old revision again, if what is there is still what was shown."""
    name = sent.path["revision"]
    written = restore_revision(sent.workspace, sent.named, name, expected=sent.seen, op_id=sent.op_id)
    return done(sent, written, f"/page/history/{written.entity}")


def adopt(sent: SentForm) -> Redirect:
    """Take what is in the file into the history, if it is still what was shown."""
    entity = sent.named
    return Redirect(
        f"/page/history/{entity}", [(entity, adopt_now(sent.workspace, entity, expected=sent.seen, seen=True))]
    )


MOST = 50
"""Conflicts that a form has at most."""

OWN = "own"
"""The choice of words of one's own."""

CHOICES: Mapping[Reason, tuple[str, ...]] = {
    "body": ("ours", "theirs", "both", OWN),
    "removed": ("ours", "theirs", OWN),
    "tags": ("ours", "theirs", OWN),
    "category": ("ours", "theirs", OWN),
    "title": ("ours", "theirs"),
}
"""What may be chosen of each kind of conflict: of most a text holds one side only, and a title has no entry."""


def all_branches(asked: PageRequest) -> Page:
    found, unreadable = branches_of_all(asked.workspace)
    return Page("branches.html", {"branches": found, "unreadable": unreadable})


def one_branch(asked: PageRequest, said: Mapping[str, str] | None = None, refusal: FormRefusal | None = None) -> Page:
    """A branch beside the head: each conflict with what both come from, and what a merge writes."""
    workspace, entity, branch, given = asked.workspace, asked.named, asked.path["branch"], said or {}
    found, blocked = branch_of(workspace, entity, branch), None
    try:
        plan = plan_merge(workspace, MergeRequest(entity, [branch]))
    except (DriftError, EditError) as error:
        if not isinstance(error, DriftError) and error.code != "not_possible":
            raise
        blocked, plan = error, plan_merge(workspace, MergeRequest(entity, [branch], drop=True))
    disagreements = [each for each in plan.conflicts[:MOST] if isinstance(each.conflict, Conflict)]
    decisions = [_decision(each, given) for each in disagreements]
    undecided = sum(each["is_open"] for each in decisions)
    is_open = bool(plan.merged)
    is_ready = is_open and blocked is None and not undecided
    return Page(
        "branch.html",
        {
            **of_entity(entity),
            "branch": found,
            "is_open": is_open,
            "head": plan.revision,
            "base": plan.revision or plan.seen,
            "blocked": blocked,
            "decisions": decisions,
            "undecided": undecided,
            "too_many": len(plan.conflicts) > MOST,
            "preview": _preview(asked, given, is_refused=refusal is not None) if is_ready else None,
            "refusal": refusal,
            "said": said is not None,
            "left": _left_over(given, decisions),
            "watched": [(entity, plan.seen)],
        },
    )


def _preview(asked: PageRequest, said: Mapping[str, str], *, is_refused: bool) -> dict[str, Any] | None:
    """What a merge would write; ``None`` where it was refused for what was decided."""
    try:
        plan = plan_merge(asked.workspace, MergeRequest(asked.named, [asked.path["branch"]], _asking(said)))
    except EditError:
        if not is_refused:
            raise
        return None
    return {"diff": diff_of(plan.before, plan.after), "warnings": plan.warnings}


def _asking(said: Mapping[str, str]) -> Ask:
    """What a form says of conflicts, as a merge asks for it; what was not chosen stays open."""

    def ask(found: Disagreement) -> ConflictAnswer:
        conflict, key = found.conflict, _key_of(found)
        choice, words = said.get(f"choice-{key}"), said.get(f"words-{key}", "")
        if choice is None:
            return None
        if choice not in CHOICES[conflict.reason]:
            raise _bad_answer("that is no answer to this conflict", "Choose one of those that are named.")
        if choice != OWN:
            side: ConflictAnswer = choice  # type: ignore[assignment]  # one of CHOICES
            return side
        if not words.strip():
            raise _bad_answer("the text of your own is empty", "Write what the entry is to say, or choose a side.")
        start = conflict.theirs or conflict.ours
        return in_words(conflict, start.body if words == in_field(start.body) else words)  # perhaps it was not touched

    return ask


def _bad_answer(message: str, hint: str) -> EditError:
    return EditError(message, code="bad_answer", hint=f"Nothing was written. {hint}")


def _key_of(found: Disagreement) -> str:
    return conflict_id(found.branch, found.conflict)


def _decision(found: Disagreement, said: Mapping[str, str]) -> dict[str, Any]:
    """A conflict with what a form says of it; its text field begins with the words of a side."""
    conflict, key = found.conflict, _key_of(found)
    chosen, start, choices = said.get(f"choice-{key}"), conflict.theirs or conflict.ours, CHOICES[conflict.reason]
    own = OWN in choices
    return {
        "found": found,
        "key": key,
        "choices": choices,
        "chosen": chosen,
        "is_open": chosen not in choices,
        "words": said.get(f"words-{key}", "" if start is None else start.body),
        "kept": list(in_words(conflict, "words").tags) if own else [],
        "has_words": own,
    }


def _left_over(said: Mapping[str, str], decisions: Sequence[Mapping[str, Any]]) -> list[str]:
    """Texts that a person wrote for conflicts that there are no more: so that they are not lost."""
    fields = {f"words-{each['key']}" for each in decisions if each["has_words"]}
    chosen = [f"words-{name.removeprefix('choice-')}" for name, value in said.items() if value == OWN]
    return [said[name] for name in chosen if name not in fields and said.get(name, "").strip()]


# --- forms -----------------------------------------------------------------------------------------------------------


def preview_merge(sent: SentForm) -> Page:
    """What a merge would write that is decided so; nothing is written."""
    return one_branch(sent, sent.fields)


def merge_branch(sent: SentForm) -> Redirect:
    """Merge a branch as it was decided, if the head is still the one that was shown."""
    try:
        return _merged(sent, precedence=_asking(sent.fields))
    except MergeConflictError as error:
        count = len(error.conflicts)
        raise RequestError(
            f"{counted(count, 'conflict')} {plural(count, 'is', 'are')} not decided yet",
            code="undecided",
            hint="Nothing was written. Choose what becomes of each.",
        ) from error


def drop_branch(sent: SentForm) -> Redirect:
    """Close a branch, and take nothing from it; the history keeps what it says."""
    return _merged(sent, drop=True)


def branch_again(sent: SentForm, refusal: FormRefusal) -> Page:
    """The branch beside what is at the head by now, with what was decided as far as it is the same."""
    return one_branch(sent, sent.fields, refusal)


def _merged(sent: SentForm, *, precedence: Ask | None = None, drop: bool = False) -> Redirect:
    branch = [sent.path["branch"]]
    joined = sent.workspace.merge(
        sent.named, branch, precedence=precedence, drop=drop, expected=sent.seen, op_id=sent.op_id
    )
    return Redirect("/page/branches", [(joined.entity, joined.revision if joined.merged or joined.repeated else None)])
