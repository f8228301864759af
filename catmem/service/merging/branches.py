"""The branches of an entity: who made them, from where, and what a merge of each would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from catmem.errors import CatmemError, DriftError, EditError
from catmem.model.pairing import pair_entries
from catmem.model.version import Version
from catmem.names import FILE_NAMES
from catmem.policy.profile import refuse_no_root
from catmem.service.history import entity_of
from catmem.service.merging.past import Past
from catmem.service.profiles import load_each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.model.document import Document
    from catmem.service.workspace import Workspace
    from catmem.store.contract import Revision

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

    def to_dict(self) -> dict[str, Any]:
        """The branch as JSON-ready data."""
        return {
            "entity": self.entity,
            "revision": self.revision,
            "parents": list(self.parents),
            "base": self.base,
            "agent": self.agent,
            "op": self.op,
            "timestamp": self.timestamp,
            "entries": self.entries,
            "conflicts": self.conflicts,
            "state": self.state,
        }


def branches(workspace: Workspace, entity: str | None = None) -> list[Branch]:
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


def branches_of_all(workspace: Workspace) -> Branches:
    """The same as ``branches``, where what cannot be read is told and hides no other. Raises ``ConfigError``."""
    refuse_no_root(workspace.config)
    profiles, unreadable = load_each(workspace)
    found: list[Branch] = []
    for entity in (f"{profile.name}/{target}" for profile in profiles for target in FILE_NAMES):
        try:
            found += _of_entity(workspace, entity)
        except CatmemError as error:
            unreadable.append(error)
    return Branches(found, tuple(unreadable))


def _of_entity(workspace: Workspace, entity: str) -> list[Branch]:
    found = open_branches(workspace, entity)
    if not found:
        return []
    past = Past(workspace, entity)
    return [_told(past, revision) for revision in found]


def open_branches(workspace: Workspace, entity: str) -> Sequence[Revision]:
    """The branches of an entity that nothing follows, the newest first."""
    return [revision for revision in workspace.store.branches(entity) if revision.is_branch]


def _told(past: Past, revision: Revision) -> Branch:
    entries = conflicts = None
    state: State = "unreadable"
    try:
        state, conflicts = _outlook(past, revision.revision)
        entries = differing(past.base(past.head, revision.revision), past.document(revision.revision))
    except DriftError:  # one of them is no text: the state says so
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
    )


def _outlook(past: Past, branch: str) -> tuple[State, int]:
    try:
        merged = past.merge(past.head, branch)
    except EditError:
        return "conflicts", 1  # no text says what was merged, so a person has to bring the two together
    if merged.conflicts:
        return "conflicts", len(merged.conflicts)
    return ("nothing new" if merged.text == past.document(past.head).text else "merges"), 0


def differing(one: Document, other: Document) -> int:
    """In how many entries two documents differ: changed, added or removed."""
    before, after = Version.of_each(one, other)
    pairs = pair_entries(before, after)
    changed = sum(not before[here].says(after[there]) for here, there in pairs.items())
    return changed + len(before) + len(after) - 2 * len(pairs)
