"""A branch with what a person has decided of its conflicts so far: the page, and what its form says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote_plus

from catmem.digest import bytes_digest
from catmem.errors import DriftError, EditError
from catmem.server.page.changes.draft import in_field
from catmem.server.page.reading import Page
from catmem.server.page.shown import Diff, diff_of, paged
from catmem.service.history import entity_of
from catmem.service.merging.branches import beside, open_branches
from catmem.service.merging.decisions import CHOICES, OWN, answer_to, in_words, key_of
from catmem.service.merging.merging import plan_merge
from catmem.service.merging.past import NOW

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catmem.server.page.refused import Refusal
    from catmem.service.merging.branches import Outcome
    from catmem.service.merging.decisions import Answer, Ask, Disagreement
    from catmem.service.merging.merging import MergePlan
    from catmem.service.workspace import Workspace

_SIZE = 40
MOST = 200
"""Conflicts that a form has at most."""
_ROOM = 600_000
"""Bytes, as a form is sent, that text fields begin with at most. A browser sends them all, whatever was chosen, and a
request may have a mebibyte: so the other fields begin empty, and the rest of it is for what a person writes."""

_ORDER: tuple[Outcome, ...] = ("branch", "both", "same", "head")
"""What a merge changes stands before what it leaves."""

REASONS = {
    "body": "Both sides reworded this entry.",
    "removed": "One side changed this entry, and the other removed it.",
    "tags": "The sides gave this entry different tags.",
    "category": "The sides moved this entry to different categories.",
    "title": "The sides gave the document different titles.",
}


class Branch(NamedTuple):
    """Which branch is looked at, and the page of its entries."""

    workspace: Workspace
    entity: str
    branch: str
    page: int = 1


class Choice(NamedTuple):
    """Something that may be chosen of a conflict."""

    value: str
    label: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """A conflict with what was chosen of it. ``words`` are those of the text field, ``kept`` the tags that they get.

    ``begins``: they are those of a side, to begin with. ``typed``: the person wrote them for a conflict in this place
    that said something else.
    """

    found: Disagreement
    key: str
    choices: tuple[Choice, ...]
    words: str
    kept: tuple[str, ...]
    has_words: bool
    begins: bool
    typed: bool

    @property
    def is_open(self) -> bool:
        """Whether nothing was chosen."""
        return not any(choice.chosen for choice in self.choices)


@dataclass(frozen=True, slots=True)
class Preview:
    """What a merge would write, and the digest of all that."""

    diff: Diff
    warnings: tuple[str, ...]
    digest: str


def branch_page(
    asked: Branch, said: Mapping[str, str] | None = None, refusal: Refusal | None = None, *, otherwise: bool = False
) -> Page:
    """A branch, the head and what both come from, entry by entry.

    ``said`` are the fields of the form: what was chosen of each conflict; ``refusal`` tells why they were not written.
    ``otherwise``: they were changed since the result was shown. Raises ``UnknownNameError``, ``UnknownRevisionError``,
    and ``EditError`` (``bad_answer``) for what cannot be chosen.
    """
    workspace, given = asked.workspace, said or {}
    try:
        found = beside(workspace, asked.entity, asked.branch)
        plan, possible = _plan(asked)
        if plan.head != found.head:  # somebody wrote between the two looks
            found = beside(workspace, asked.entity, asked.branch)
    except DriftError as error:
        return _unread(asked, error, refusal)
    decisions = _decisions(plan.conflicts[:MOST], given)
    undecided = sum(each.is_open for each in decisions)
    owner, _, target = found.entity.partition("/")
    others = [pair for pair in found.pairs if pair.outcome != "conflict"]
    is_ready = found.is_open and possible and not undecided
    return Page(
        "branch.html",
        {
            "beside": found,
            "name": owner,
            "target": target,
            "base": plan.digest if plan.head == NOW else plan.head,
            "possible": possible,
            "decisions": decisions,
            "undecided": undecided,
            "too_many": len(plan.conflicts) > MOST,
            "reasons": REASONS,
            "paged": paged(sorted(others, key=lambda pair: _ORDER.index(pair.outcome)), asked.page, _SIZE),
            "preview": _preview(asked, given, is_refused=refusal is not None) if is_ready else None,
            "refusal": refusal,
            "otherwise": otherwise,
            "said": said is not None,
            "left": _left_over(given, decisions),
            "watched": [(found.entity, plan.digest)],
        },
    )


def _unread(asked: Branch, error: DriftError, refusal: Refusal | None) -> Page:
    """The page of a branch that cannot be brought together with the head: one of them holds what no tool wrote."""
    entity = entity_of(asked.workspace, asked.entity)
    owner, _, target = entity.partition("/")
    is_open = any(each.revision == asked.branch for each in open_branches(asked.workspace, entity))
    now = asked.workspace.store.read(entity)
    return Page(
        "branch_unread.html",
        {
            "entity": entity,
            "name": owner,
            "target": target,
            "branch": asked.branch,
            "base": (now.revision or now.digest) if is_open else None,
            "error": error,
            "refusal": refusal,
            "watched": [(entity, now.digest)],
        },
    )


def result_digest(plan: MergePlan) -> str:
    """What a merge would write, as a form says that it was shown."""
    return bytes_digest(plan.after.encode())


def asking(said: Mapping[str, str]) -> Ask:
    """What a form says of conflicts, as a merge asks for it; what was not chosen stays open.

    Asking raises ``EditError`` (``bad_answer``) for what cannot be chosen of a conflict.
    """

    def ask(found: Disagreement) -> Answer:
        conflict, key = found.conflict, key_of(found.conflict)
        choice, words = said.get(f"choice-{key}"), said.get(f"words-{key}", "")
        start = conflict.theirs or conflict.ours
        if start is not None and words == in_field(start.body):
            words = start.body  # nobody touched it
        return None if choice is None else answer_to(conflict, choice, words)

    return ask


def _plan(asked: Branch) -> tuple[MergePlan, bool]:
    """The merge as it is before anything is decided, and whether a text can say what it makes."""
    try:
        return plan_merge(asked.workspace, asked.entity, [asked.branch]), True
    except EditError as error:
        if error.code != "not_possible":
            raise
        return plan_merge(asked.workspace, asked.entity, [asked.branch], drop=True), False


def _preview(asked: Branch, said: Mapping[str, str], *, is_refused: bool) -> Preview | None:
    """What a merge would write; ``None`` where it was refused for what was decided."""
    try:
        plan = plan_merge(asked.workspace, asked.entity, [asked.branch], precedence=asking(said))
    except EditError:
        if not is_refused:
            raise
        return None
    return Preview(diff_of(plan.before, plan.after), plan.warnings, result_digest(plan))


def _decisions(found: Sequence[Disagreement], said: Mapping[str, str]) -> list[Decision]:
    """Each conflict, with the words of its branch to begin with as long as there is room for them in one form."""
    decisions = [_decision(each, said) for each in found]
    room = _ROOM - sum(_size(each.words) for each in decisions if each.has_words and not each.begins)
    for place, decision in enumerate(decisions):
        if decision.begins:
            room -= _size(decision.words)
            if room < 0:
                decisions[place] = replace(decision, words="", begins=False)
    return decisions


def _size(words: str) -> int:
    """How many bytes a text is in a form that is sent: a line end is two characters, and one byte can be three."""
    return len(quote_plus(words.replace("\n", "\r\n")))


def _decision(found: Disagreement, said: Mapping[str, str]) -> Decision:
    conflict, key = found.conflict, key_of(found.conflict)
    chosen = said.get(f"choice-{key}")
    start = conflict.theirs or conflict.ours
    words, typed = said.get(f"words-{key}"), False
    if words is None:
        # The head says something else by now: the words are kept, and nothing is chosen.
        words = next((said[name] for name in _typed(said) if name.startswith(f"words-{key.place}-")), None)
        typed = words is not None
    own = OWN in CHOICES[conflict.reason]
    return Decision(
        found=found,
        key=str(key),
        choices=tuple(Choice(each, _label(found, each), each == chosen) for each in CHOICES[conflict.reason]),
        words=words if words is not None else "" if start is None else start.body,
        kept=tuple(in_words(conflict, "words").tags) if own else (),
        has_words=own,
        begins=own and words is None,
        typed=typed and own,
    )


def _label(found: Disagreement, choice: str) -> str:
    conflict = found.conflict
    if choice == "ours":
        return "Leave it removed, as the head has it" if conflict.ours is None else "Keep what the head says"
    if choice == "theirs":
        return "Remove it, as the branch does" if conflict.theirs is None else "Take what the branch says"
    return {"both": "Keep both, one after the other", OWN: "Write it anew"}[choice]


def _typed(said: Mapping[str, str]) -> list[str]:
    """The text fields that were sent with the choice of an own text."""
    return [
        name
        for name in said
        if name.startswith("words-") and said.get(f"choice-{name.removeprefix('words-')}") == OWN and said[name].strip()
    ]


def _left_over(said: Mapping[str, str], decisions: Sequence[Decision]) -> list[str]:
    """Texts that a person wrote for conflicts that there are no more: so that they are not lost."""
    places = {each.key.partition("-")[0] for each in decisions if each.has_words}
    return [said[name] for name in _typed(said) if name.split("-")[1] not in places]
