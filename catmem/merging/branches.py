"""The branches of an entity: who made them, from where, and what a merge of each would do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from catmem.config.config import DeclaredEntity
from catmem.entities.contents import MergedContent, Settle, merge_contents
from catmem.errors import CatmemError, DriftError, EditError, UnreadableError
from catmem.merging.past import MergeHistory
from catmem.model.document import Document
from catmem.model.pairing import pair_entries
from catmem.model.version import Version
from catmem.store.contract import Revision, unknown_revision, who
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
