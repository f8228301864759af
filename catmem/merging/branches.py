"""The branches of an entity: who made them, from where, and what a merge of each would do.

For a person who is to bring a branch together with the head, the two stand beside what both come from, entry by entry.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from catmem.config.profile import refuse_no_root
from catmem.digest import record_dict
from catmem.entities.contents import merge_contents
from catmem.errors import CatmemError, DriftError, EditError, UnreadableError
from catmem.merging.past import MergeHistory
from catmem.model.pairing import pair_entries, pair_sides
from catmem.model.version import Version
from catmem.names import FILE_NAMES
from catmem.store.contract import unknown_revision, who
from catmem.workspace.history import entity_of
from catmem.workspace.root import load_each

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catmem.config.config import DeclaredEntity
    from catmem.entities.contents import MergedContent, Settle
    from catmem.model.document import Document
    from catmem.model.pairing import Links
    from catmem.model.version import Conflict, Reason
    from catmem.store.contract import Revision
    from catmem.workspace.root import Root


State = Literal["merges", "conflicts", "nothing new", "unreadable"]


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch that is not merged yet.

    ``base`` is the newest revision that it has in common with the head (``None``: nothing), ``entries`` the number of
    entries in which it differs from that. ``state`` says what a merge would do: it ``merges`` by itself, it has
    ``conflicts`` (so many), all of it is in the head (``nothing new``), or one of the two is ``unreadable``.
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
    state: State
    person: str | None = None

    @property
    def who(self) -> str:
        """Who made it, for people: the agent, or the name of the person."""
        return who(self.agent, self.person)

    def to_dict(self) -> dict[str, Any]:
        """The branch as JSON-ready data."""
        return record_dict(self)


def branches(workspace: Root, entity: str | None = None) -> list[Branch]:
    """The branches of an entity, or of all, that nothing follows; of each entity the newest first.

    They are for a person: what they say is not cut to what a profile sees. Raises ``UnknownNameError``, and
    ``ConfigError`` where no root is; of all, what is wrong with the first profile or history that cannot be read.
    """
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


def branches_of_all(workspace: Root) -> Branches:
    """The same as ``branches``, where what cannot be read is reported and hides no other. Raises ``ConfigError``."""
    refuse_no_root(workspace.config)
    profiles, unreadable = load_each(workspace)
    found: list[Branch] = []
    files = (f"{profile.name}/{target}" for profile in profiles for target in FILE_NAMES)
    for entity in (*files, *workspace.config.entities):
        try:
            found += _of_entity(workspace, entity)
        except CatmemError as error:
            unreadable.append(error)
    return Branches(found, tuple(unreadable))


def _of_entity(workspace: Root, entity: str) -> list[Branch]:
    found = open_branches(workspace, entity)
    if not found:
        return []
    past = MergeHistory(workspace, entity)
    declared = workspace.config.entities.get(entity)
    return [_branch(past, revision, declared) for revision in found]


def open_branches(workspace: Root, entity: str) -> Sequence[Revision]:
    """The branches of an entity that nothing follows, the newest first; without those that wait as proposals."""
    return [each for each in workspace.store.branches(entity) if each.is_branch and not each.is_proposal]


def _branch(past: MergeHistory, revision: Revision, declared: DeclaredEntity | None) -> Branch:
    entries = conflicts = None
    state: State = "unreadable"
    try:
        if declared is None:
            state, conflicts = _outlook(past, revision.revision)
            entries = differing(past.base(past.head, revision.revision), past.document(revision.revision))
        else:
            state, conflicts = _content_outlook(declared, past, revision.revision)
    except (DriftError, UnreadableError):  # one of them is no text, or no JSON: the state says so
        pass
    bases = past.bases(past.head, revision.revision)
    return Branch(
        entity=past.entity,
        revision=revision.revision,
        parents=revision.parents,
        base=bases[0] if bases else None,
        agent=revision.agent,
        op=revision.op,
        timestamp=revision.timestamp,
        entries=entries,
        conflicts=conflicts,
        state=state,
        person=revision.person,
    )


def _outlook(past: MergeHistory, branch: str) -> tuple[State, int]:
    try:
        merged = past.merge(past.head, branch)
    except EditError:
        return "conflicts", 1  # no text says what was merged, so a person has to bring the two together
    if merged.conflicts:
        return "conflicts", len(merged.conflicts)
    return ("nothing new" if merged.text == past.document(past.head).text else "merges"), 0


def _content_outlook(declared: DeclaredEntity, past: MergeHistory, branch: str) -> tuple[State, int]:
    merged = content_merge(declared, past, past.head, branch)
    if merged.conflicts:
        return "conflicts", len(merged.conflicts)
    return ("nothing new" if merged.data == past.data else "merges"), 0


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


# --- a branch beside the head --------------------------------------------------------------------------------------

Outcome: TypeAlias = Literal["conflict", "head", "branch", "both", "same"]
"""What a merge does with an entry: a person decides; it takes what the head, or the branch, alone changed; what both
changed goes together; both say the same."""


class ComparedEntry(NamedTuple):
    """One entry on three sides; a side that does not have it is ``None``. ``reason`` is that of a conflict."""

    outcome: Outcome
    base: Version | None
    head: Version | None
    branch: Version | None
    reason: Reason | None = None

    @property
    def category(self) -> str:
        """Where the entry stands, or stood."""
        return next((side.category for side in self[1:4] if isinstance(side, Version)), "")

    def to_dict(self) -> dict[str, Any]:
        """The pair as JSON-ready data."""
        sides = {"base": self.base, "head": self.head, "branch": self.branch}
        return {
            "outcome": self.outcome,
            "reason": self.reason,
            "category": self.category,
            **{name: None if side is None else side.text for name, side in sides.items()},
        }


class Beside(NamedTuple):
    """A branch and the head. ``base`` is the newest revision that they have in common, ``None`` for nothing.

    ``pairs`` are the entries in which the three differ, conflicts first; ``untouched`` counts the others.
    ``is_open`` is false for a branch that was merged already. ``possible`` is false where no text says what was merged.
    """

    entity: str
    revision: Revision
    head: str
    base: str | None
    pairs: tuple[ComparedEntry, ...]
    untouched: int
    is_open: bool
    possible: bool

    @property
    def conflicts(self) -> int:
        """How many entries a person has to decide on."""
        return sum(pair.outcome == "conflict" for pair in self.pairs)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON-ready data."""
        return {
            "entity": self.entity,
            "branch": self.revision.revision,
            "head": self.head,
            "base": self.base,
            "open": self.is_open,
            "possible": self.possible,
            "conflicts": self.conflicts,
            "untouched": self.untouched,
            "pairs": [pair.to_dict() for pair in self.pairs],
        }


def beside(workspace: Root, entity: str, branch: str) -> Beside:
    """The branch ``branch`` (``8a``) of an entity beside its head; nothing is written.

    Raises ``UnknownNameError``, ``UnknownRevisionError`` for what is no branch, and ``DriftError`` where one side holds
    what no tool wrote.
    """
    name = entity_of(workspace, entity)
    past = MergeHistory(workspace, name)
    revision = past.record(branch)
    if not revision.is_branch:
        raise unknown_revision(name, branch)
    base, head, theirs = past.base(past.head, branch), past.document(past.head), past.document(branch)
    pairs = list(_pairs(base, head, theirs, past.links(past.head, branch)))
    untouched = sum(pair is None for pair in pairs)
    touched = [pair for pair in pairs if pair is not None]
    conflicts: Sequence[Conflict] = ()
    possible = True
    try:
        conflicts = past.merge(past.head, branch).conflicts
    except EditError:
        possible = False
    bases = past.bases(past.head, branch)
    return Beside(
        entity=name,
        revision=revision,
        head=past.head,
        base=bases[0] if bases else None,
        pairs=tuple(_with_conflicts(touched, conflicts)),
        untouched=untouched,
        is_open=any(each.revision == branch for each in open_branches(workspace, name)),
        possible=possible,
    )


def _pairs(
    base: Document, head: Document, branch: Document, links: tuple[Links | None, Links | None]
) -> Iterator[ComparedEntry | None]:
    """Each entry of the three, in the order of the base and then of each side; ``None`` for one that none touched."""
    was, here, there = Version.of_each(base, head, branch)
    to_head, to_branch, _ = pair_sides(was, here, there, links)
    for index, old in enumerate(was):
        ours = here[to_head[index]] if index in to_head else None
        theirs = there[to_branch[index]] if index in to_branch else None
        yield (
            None
            if _same(old, ours) and _same(old, theirs)
            else ComparedEntry(_outcome(old, ours, theirs), old, ours, theirs)
        )
    kept_here, kept_there = set(to_head.values()), set(to_branch.values())
    added_there = [version for index, version in enumerate(there) if index not in kept_there]
    left = Counter(map(_key, added_there))
    for index, version in enumerate(here):
        if index in kept_here:
            continue
        if left[_key(version)]:
            left[_key(version)] -= 1
            yield ComparedEntry("same", None, version, version)
        else:
            yield ComparedEntry("head", None, version, None)
    for version in added_there:
        if left[_key(version)]:
            left[_key(version)] -= 1
            yield ComparedEntry("branch", None, None, version)


def _outcome(old: Version, ours: Version | None, theirs: Version | None) -> Outcome:
    if _same(ours, theirs):
        return "same"
    if _same(old, theirs):
        return "head"
    return "branch" if _same(old, ours) else "both"


def _with_conflicts(pairs: Sequence[ComparedEntry], conflicts: Sequence[Conflict]) -> list[ComparedEntry]:
    """The pairs with those that a merge finds to be conflicts in front, each as the merge tells it."""
    found = [ComparedEntry("conflict", each.base, each.ours, each.theirs, each.reason) for each in conflicts]
    sides: Counter[tuple[str, object]] = Counter()
    for conflict in found:
        if conflict.base is not None:
            sides["base", _key(conflict.base)] += 1
            continue
        for name, side in (("head", conflict.head), ("branch", conflict.branch)):
            if side is not None:
                sides[name, _key(side)] += 1
    rest: list[ComparedEntry] = []
    for pair in pairs:
        name, side = next(
            (name, side)
            for name, side in (("base", pair.base), ("head", pair.head), ("branch", pair.branch))
            if side is not None
        )
        if sides[name, _key(side)]:
            sides[name, _key(side)] -= 1  # it is among the conflicts
        else:
            rest.append(pair)
    return [*found, *rest]


def _same(one: Version | None, other: Version | None) -> bool:
    return one is other or (one is not None and other is not None and one.says(other))


def _key(version: Version) -> tuple[str, str, str]:
    return version.category, version.body, repr(version.tags)
