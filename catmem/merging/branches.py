"""The branches of an entity: who made them, what a merge of each would do, and who wins a conflict.

A side wins, both stay, a ranking of agents decides, or a person does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from catmem.config.config import DeclaredEntity
from catmem.config.json_schema import shown, suggestion
from catmem.config.profile import profile_names
from catmem.entities.contents import ContentConflict, MergedContent, Settle, merge_contents
from catmem.errors import CatmemError, ConfigError, DriftError, EditError, UnreadableError, wrong_type
from catmem.merging.past import MergeHistory, is_so
from catmem.model.document import Document, Version
from catmem.model.merge import Conflict, Side
from catmem.model.pairing import pair_entries
from catmem.staleness.freshness import unverified
from catmem.store.contract import EXTERNAL, PERSON, Revision, unknown_revision, who
from catmem.syntax import tags as tag_blocks
from catmem.workspace.history import entity_of
from catmem.workspace.root import Root, entities_of_each, noted

BranchState = Literal["merges", "conflicts", "nothing new", "unreadable"]


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch that is not merged yet; ``state`` says what a merge would do.

    ``base`` is the newest revision that it has in common with the head (``None``: nothing), ``entries`` the number of
    entries in which it differs from that.
    """

    entity: str
    revision: str
    parents: tuple[str, ...]
    base: str | None
    agent: str
    op: str
    timestamp: str
    entries: int | None
    conflicts: int | None
    state: BranchState
    person: str | None = None

    @property
    def who(self) -> str:
        """Who made it, for people: the agent, or the name of the person."""
        return who(self.agent, self.person)


def branches(workspace: Root, entity: str | None = None) -> list[Branch]:
    """The branches of an entity, or of all, that nothing follows; of each entity the newest first. For a person."""
    if entity is not None:
        return _of_entity(workspace, entity_of(workspace, entity))
    found = branches_of_all(workspace)
    for error in found.unreadable:
        raise error
    return found.branches


class Branches(NamedTuple):
    """The branches of all entities. ``unreadable`` are the profiles and histories that could not be looked at."""

    branches: list[Branch]
    unreadable: tuple[CatmemError, ...]


def branches_of_all(workspace: Root, files: Iterable[str] | None = None) -> Branches:
    """The same, where what cannot be read hides no other; ``files`` are those that have branches, if that is known."""
    names, _, wrong = entities_of_each(workspace)
    found: list[Branch] = []
    unreadable = [*wrong]
    for entity in (*(names if files is None else files), *workspace.config.entities):
        with noted(unreadable):
            found += _of_entity(workspace, entity)
    return Branches(found, tuple(unreadable))


def _of_entity(workspace: Root, entity: str) -> list[Branch]:
    found, declared = open_branches(workspace, entity), workspace.config.entities.get(entity)
    if not found:
        return []
    past = MergeHistory(workspace, entity)
    return [_branch(past, revision, declared) for revision in found]


def open_branches(workspace: Root, entity: str) -> Sequence[Revision]:
    """The branches of an entity that nothing follows, the newest first; without those that wait as proposals."""
    return [each for each in workspace.store.branches(entity) if each.is_branch and not each.is_proposal]


def _branch(past: MergeHistory, revision: Revision, declared: DeclaredEntity | None) -> Branch:
    name, entries, conflicts = revision.revision, None, None
    state: BranchState = "unreadable"
    try:
        state, conflicts = _outlook(past, name, declared)
        entries = None if declared else differing(past.base(past.head, name), past.document(name))
    except (DriftError, EditError, UnreadableError):  # one of them is no text, or no JSON: the state says so
        pass
    return Branch(
        entity=past.entity,
        revision=name,
        parents=revision.parents,
        base=next(iter(past.bases(past.head, name)), None),
        agent=revision.agent,
        op=revision.op,
        timestamp=revision.timestamp,
        entries=entries,
        conflicts=conflicts,
        state=state,
        person=revision.person,
    )


def _outlook(past: MergeHistory, branch: str, declared: DeclaredEntity | None) -> tuple[BranchState, int]:
    try:
        if declared:
            content = content_merge(declared, past, past.head, branch)
            conflicts, is_same = len(content.conflicts), content.data == past.data
        else:
            merged = past.merge(past.head, branch)
            conflicts, is_same = len(merged.conflicts), merged.text == past.document(past.head).text
    except EditError:
        return "conflicts", 1  # no text says what was merged, so a person has to bring the two together
    return "conflicts" if conflicts else "nothing new" if is_same else "merges", conflicts


def content_merge(
    declared: DeclaredEntity, past: MergeHistory, one: str, other: str, settle: Settle = lambda _: None
) -> MergedContent:
    """The merge of two revisions of a declared entity. Raises ``UnreadableError``, and ``DriftError`` for no text."""
    bases = past.bases(one, other)
    # Where they have several origins none of these alone tells what a side changed.
    base = past.document(bases[0]).to_bytes() if len(bases) == 1 else None
    ours, theirs = (past.document(name).to_bytes() for name in (one, other))
    return merge_contents(declared, base, ours, theirs, settle)


def differing(one: Document, other: Document) -> int:
    """In how many entries two documents differ: changed, added or removed."""
    before, after = Version.of_each(one, other)
    pairs = pair_entries(before, after)
    changed = sum(not before[here].says(after[there]) for here, there in pairs.items())
    return changed + len(before) + len(after) - 2 * len(pairs)


def branch_of(workspace: Root, entity: str, branch: str) -> Branch:
    """A branch, open or closed, as it stands to the head. Raises ``UnknownNameError``, ``UnknownRevisionError``."""
    name = entity_of(workspace, entity)
    past = MergeHistory(workspace, name)
    revision = past.record(branch)
    if not revision.is_branch:
        raise unknown_revision(name, branch)
    return _branch(past, revision, workspace.config.entities.get(name))


# --- who wins a conflict ----------------------------------------------------------------------------------------------


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
