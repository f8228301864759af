"""Overwrites in the wild: external changes that took back what the revision before them wrote.

No record says what an external writer had seen, so the texts decide: in all entries that the revision changed, the
external text is as it was before that revision. That is what a program does that read the file before, and put its own
text in place after. An external change that goes on from the revision, or rewords what it says, is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.errors import CatmemError
from catmem.store.contract import EXTERNAL

if TYPE_CHECKING:
    from catmem.store.contract import Revision
    from catmem.workspace.root import Root


def lost_overwrites(workspace: Root, entity: str, after: int | None) -> tuple[int, int]:
    """How many revisions external changes took back since the sequence ``after``, if any; and the newest sequence."""
    newest, lost = 0, 0
    recorded: dict[str, Revision] = {}
    since: list[Revision] = []
    for revision in workspace.store.log(entity):
        newest = max(newest, revision.sequence)
        if after is None:
            break
        recorded[revision.revision] = revision
        if revision.sequence > after and revision.agent == EXTERNAL and revision.parents:
            since.append(revision)
        elif revision.sequence <= after and not any(each.parents[0] not in recorded for each in since):
            break
    for revision in since:
        before = recorded.get(revision.parents[0])
        if before is not None and before.agent != EXTERNAL:
            lost += _took_back(workspace, revision, before)
    return lost, newest


def _took_back(workspace: Root, external: Revision, before: Revision) -> bool:
    try:
        was, wrote, found = (
            _entries(workspace, external.entity, name)
            for name in (before.parents[0] if before.parents else "0", before.revision, external.revision)
        )
    except CatmemError:
        return False  # one of the three is no text, or no longer kept
    changed = was ^ wrote
    return bool(changed) and changed & found == changed & was


def _entries(workspace: Root, entity: str, revision: str) -> frozenset[tuple[str, str]]:
    data = workspace.store.read(entity, revision).data
    return frozenset((entry.category, entry.raw) for entry in workspace.parse(data).entries)
