"""Merging all open branches of a root that merge by themselves; what a person has to decide is left as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from catmem.digest import record_dict
from catmem.errors import CatmemError
from catmem.merging.branches import branches_of_all, open_branches
from catmem.merging.merging import Joined, merge, plan_merge
from catmem.workspace.history import refuse_bounded

if TYPE_CHECKING:
    from catmem.merging.decisions import Disagreement, How
    from catmem.workspace.root import Root


@dataclass(frozen=True, slots=True)
class LeftBranch:
    """A branch that was left: it has ``conflicts`` with the head and what was merged before it, or an ``error``."""

    entity: str
    branch: str
    conflicts: tuple[Disagreement, ...] = ()
    error: CatmemError | None = None

    def to_dict(self) -> dict[str, Any]:
        """The branch as JSON-ready data."""
        return record_dict(self)


@dataclass(frozen=True, slots=True)
class JoinedAll:
    """What was merged, one revision an entity, and which branches were left.

    ``unreadable`` are the profiles and histories that could not be looked at.
    """

    merged: tuple[Joined, ...]
    left: tuple[LeftBranch, ...]
    unreadable: tuple[CatmemError, ...]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-ready data, without the whole texts."""
        return record_dict(self)


def merge_all(workspace: Root, *, precedence: How = None, actor: str | None = None, dry_run: bool = False) -> JoinedAll:
    """Merge every open branch of a root that merges by itself, the oldest of an entity first.

    ``precedence`` settles conflicts as for ``merge``. Raises ``ForbiddenError`` and ``ConfigError``.
    """
    if actor is not None:
        refuse_bounded(workspace, actor, "merge branches")
    found, unreadable = branches_of_all(workspace)
    merged: list[Joined] = []
    left: list[LeftBranch] = []
    for entity in dict.fromkeys(branch.entity for branch in found):
        free: list[str] = []
        for branch in reversed(open_branches(workspace, entity)):
            try:
                conflicts = plan_merge(workspace, entity, [*free, branch.revision], precedence=precedence).conflicts
            except CatmemError as error:
                left.append(LeftBranch(entity, branch.revision, error=error))
                continue
            if conflicts:
                left.append(LeftBranch(entity, branch.revision, conflicts))
            else:
                free.append(branch.revision)
        if free:
            try:
                merged.append(merge(workspace, entity, free, precedence=precedence, actor=actor, dry_run=dry_run))
            except CatmemError as error:  # another write came between
                left += [LeftBranch(entity, name, error=error) for name in free]
    return JoinedAll(tuple(merged), tuple(left), unreadable)
