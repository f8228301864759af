"""The gate: the one place where a write of a root reaches its store.

Whoever writes makes an ``Attempt``, which ends as a revision or as a refusal.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.errors import CatmemError
    from catmem.service.workspace import Workspace
    from catmem.store.contract import Change, Snapshot, Update


@dataclass(slots=True)
class Attempt:
    """One write that somebody wants to make. ``prev`` is the revision or digest that it is made on, if one was said."""

    workspace: Workspace
    entity: str
    op: str
    agent: str
    prev: str | None = None

    def refuse(self, error: CatmemError) -> None:
        """Raise a refusal where refusals of its kind are enforced; elsewhere the attempt goes on."""
        raise error

    def commit(self, expected: str | None, update: Update, change: Change) -> Snapshot:
        """Commit to the root's store; see ``Store.commit``."""
        return self.workspace.store.commit(self.entity, expected, update, change)


@contextmanager
def attempt(workspace: Workspace, entity: str, *, op: str, agent: str, prev: str | None = None) -> Iterator[Attempt]:
    """An attempt, from the first check to its end: what is raised inside is its refusal."""
    yield Attempt(workspace, entity, op, agent, prev)


def commit(workspace: Workspace, entity: str, expected: str | None, update: Update, change: Change) -> Snapshot:
    """An attempt that is nothing but a commit; see ``Store.commit``."""
    with attempt(workspace, entity, op=change.op, agent=change.agent, prev=expected) as trying:
        return trying.commit(expected, update, change)
