"""What was just done, in words, with the way back.

An address names the revision alone: all else is as the store tells it, and what a write remarked as it was answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from catmem.errors import CatmemError
from catmem.plugins.page.rendering import beginning, proposal_of
from catmem.plugins.sorting.sort_lines import ACTIONS
from catmem.store.contract import DECISION, Revision
from catmem.text import counted, unmerged_warnings
from catmem.workspace.formatting import unread_of
from catmem.workspace.history import closed, did, entity_of, parent_of, undo_fault, words_of
from catmem.workspace.workspace import Workspace


def can_be_undone(revision: Revision) -> bool:
    """Whether the page offers to go back to what was there before a revision: for a write of entries, or of a text."""
    return undo_fault(revision) is None and (revision.op in {"restore", "sort"} or "actions" in revision.note)


def record_of(workspace: Workspace, entity: str, revision: str) -> Revision | None:
    """What the store recorded of a revision; ``None`` for one that is not there."""
    return next((each for each in workspace.store.log(entity) if each.revision == revision), None)


@dataclass(frozen=True, slots=True)
class RecentChange:
    """A revision, and what it did in words. ``record`` is ``None`` where nothing had to be done.

    ``before`` is the revision that Undo goes back to, ``None`` where it cannot: something came after it, or it is no
    change that can be taken back whole. ``about`` is the beginning of the entry that it was on, empty where there are
    several; ``remarks`` are what to know of it. ``closed`` are the branches that it closed. ``proposal`` is what it
    made, decided or took back.
    """

    record: Revision | None
    did: str = ""
    before: str | None = None
    about: str = ""
    remarks: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    proposal: str | None = None


NOTHING_TO_DO = "nothing"
"""What ``did`` says in a query where all was as it should be already."""

MOST = 25
"""Revisions that one form is said to have written."""


def recent_changes(workspace: Workspace, named: str | None, remarks: Mapping[str, Sequence[str]]) -> list[RecentChange]:
    """What ``ENTITY@REVISION`` did, or several with blanks between; nothing of what is no revision that there is."""
    if named == NOTHING_TO_DO:
        return [RecentChange(None)]
    found = (_recent_change(workspace, each, remarks.get(each, ())) for each in (named or "").split(" ")[:MOST])
    return [each for each in found if each is not None]


def _recent_change(workspace: Workspace, named: str, remarks: Sequence[str]) -> RecentChange | None:
    entity, _, revision = named.partition("@")
    store = workspace.store
    try:
        entity = entity_of(workspace, entity)
        head, record = store.head(entity), record_of(workspace, entity, revision)
        text = store.peek(entity).decode(errors="replace")
    except CatmemError:
        return None  # the page itself tells what cannot be read
    if record is None:
        return None
    about = beginning(words_of(workspace, store, [record]).get(revision, ""))
    several = len(record.note.get("actions", ()))
    before = record_of(workspace, entity, parent_of(record)) if record.op == "restore" else None
    known = [f"{each[:1].upper()}{each[1:].rstrip('.')}." for each in remarks]
    known += [*_remarks_on_sort(workspace, record), *(f"{each}." for each in unmerged_warnings(entity, text))]
    return RecentChange(
        record,
        did(record),
        parent_of(record) if head is not None and head.revision == revision and can_be_undone(record) else None,
        about or (counted(several, "entry", "entries") if several > 1 else ""),
        tuple(dict.fromkeys(known)),
        () if DECISION in record.note else closed(record),
        proposal_of(before or record),
    )


def _remarks_on_sort(workspace: Workspace, record: Revision) -> Iterator[str]:
    """What a person should know of a sort: what an undo leaves, who reads what, and how a secret is erased."""
    if record.op != "sort":
        return
    for name in record.note.get("declared", ()):
        yield f"{name} is new in catmem.yaml; an undo leaves it there."
    for name in unread_of(workspace, record.entity, [each for each in record.note["sorted"] if each not in ACTIONS]):
        yield f"No specialist reads {name} in this file."
    for entry_id in record.note.get("secrets", ()):
        yield (
            "The history still has the secret, and so have copies outside, such as the file that 'init --start' read. "
            "Replace it where it was issued, then erase it: "
            f"catmem purge {record.entity} {entry_id} --yes"
        )
