"""Who wins a conflict: a side, both, a ranking of agents, or a person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from catmem.config.json_schema import shown, suggestion
from catmem.config.profile import profile_names
from catmem.entities.contents import ContentConflict
from catmem.errors import ConfigError, wrong_type
from catmem.merging.past import MergeHistory, is_so
from catmem.model.document import Document
from catmem.model.version import Conflict, Side, Version
from catmem.staleness.freshness import unverified
from catmem.store.contract import EXTERNAL, PERSON, Revision
from catmem.syntax import tags as tag_blocks
from catmem.workspace.root import Root

ConflictAnswer: TypeAlias = Side | Literal["both"] | Version | None
"""What becomes of a conflict: a side wins, both stay, this stands instead, or it stays open."""

_BOTH_FIT = frozenset({"body", "removed"})
"""The reasons for which a text can hold both sides; of two tags, categories or titles it holds one, that of ours."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A conflict between the head and the branch ``branch``, with the revisions that made the two sides.

    The ``conflict`` is a ``Conflict``, in a declared entity a ``ContentConflict``. ``taken`` is what became of it.
    """

    conflict: Any
    branch: str
    ours: Revision
    theirs: Revision
    taken: ConflictAnswer = None

    def __json__(self) -> dict[str, Any]:
        """The disagreement as JSON-ready data; ``category`` may be a place: a JSON pointer, or lines."""
        sides = {name: getattr(self.conflict, name) for name in ("base", "ours", "theirs")}
        if isinstance(self.conflict, Conflict):
            reason: str = self.conflict.reason
            where = next((side.category for side in sides.values() if side), "")
            sides = {name: side and side.text for name, side in sides.items()}
        else:
            reason, where = "content", self.conflict.place
        by = {"ours_by": self.ours.agent, "theirs_by": self.theirs.agent}
        taken = {} if self.taken is None else {"taken": self.taken if isinstance(self.taken, str) else "edited"}
        return {"branch": self.branch, "reason": reason, "category": where, **sides, **by, **taken}


Ask: TypeAlias = Callable[[Any], ConflictAnswer]
"""Says what becomes of each conflict."""

HowDecided: TypeAlias = Literal["ours", "theirs", "both"] | Sequence[str] | Ask | None
"""What a caller may say of conflicts: one word for all, the names of agents, the first before all others, a function
that is asked of each, or nothing."""


def asking(workspace: Root, past: MergeHistory, how: HowDecided, *, to_agent: bool) -> Ask:
    """The function that ``how`` stands for. Raises ``ConfigError`` (``unknown_agent``)."""
    if callable(how):
        return how
    if how is None:
        return lambda _: None
    if how in ("ours", "theirs", "both"):  # a list of names is no key
        word: Any = how
        return lambda _: word
    given: Any = how
    names = [given] if isinstance(given, str) else list(given) if isinstance(given, Sequence) else []
    if not names or not all(isinstance(each, str) for each in names):
        raise wrong_type("precedence", how, "a word (ours, theirs, both), names of agents or a function")
    _refuse_unknown(workspace, past, names, to_agent=to_agent)
    rank = {name: place for place, name in reversed(list(enumerate(names)))}
    return lambda found: by_rank(found, rank)


def by_rank(found: Disagreement, rank: dict[str, int]) -> Side | None:
    """The side whose agent comes first; of one agent the later change; of two that are not ranked, none."""
    ours, theirs = found.ours, found.theirs
    if ours.agent == theirs.agent:
        return "ours" if ours.sequence > theirs.sequence else "theirs"
    here, there = (rank.get(each.agent, len(rank)) for each in (ours, theirs))
    if here == there:
        return None
    return "ours" if here < there else "theirs"


def _refuse_unknown(workspace: Root, past: MergeHistory, names: Sequence[str], *, to_agent: bool) -> None:
    known = {*profile_names(workspace.config.profiles_dir), PERSON, EXTERNAL}
    if not set(names) <= known:
        known |= {revision.agent for revision in past.log()}
    for name in names:
        if name not in known:
            raise ConfigError(
                f"there is no agent {shown(name)}: no profile has that name, and no revision of {past.entity} is by it",
                code="unknown_agent",
                # Which profiles there are, is not for all.
                hint="Name agents that the log names." if to_agent else suggestion(name, sorted(known), "agents"),
            )


def settling(
    past: MergeHistory, branch: str, head: str, base: Document, decide: Ask
) -> Callable[[Conflict | ContentConflict], Side | Version | None]:
    """``decide`` in the form in which ``catmem.merge`` asks: of both sides it keeps what it can."""

    def settle(conflict: Conflict | ContentConflict) -> Side | Version | None:
        ours = past.last_change(head, is_so(conflict, "ours", base))
        theirs = past.last_change(branch, is_so(conflict, "theirs", base))
        answer = decide(Disagreement(conflict, branch, ours, theirs))
        if answer == "both":
            return None if isinstance(conflict, Conflict) and conflict.reason in _BOTH_FIT else "ours"
        return answer

    return settle


def in_words(conflict: Conflict, words: str) -> Version:
    """The entry with other words, in the place and with the tags of the head's; those are not verified yet."""
    like = next(version for version in (conflict.ours, conflict.theirs) if version is not None)
    body = words.strip()
    tags = unverified(like.tags)
    return Version(like.category, body, tags, tag_blocks.write(tags, body))
