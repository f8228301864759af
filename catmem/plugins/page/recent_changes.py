"""What was just done, in words, with the way back.

An address names the revision alone: all else is as the store tells it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from catmem import clock
from catmem.clock import read_date
from catmem.config.access import visible_categories
from catmem.errors import CatmemError
from catmem.model.document import Document, Entry
from catmem.model.pairing import pair_entries
from catmem.names import category_name
from catmem.plugins.page.formats import beginning, day
from catmem.plugins.sorting.proposals import ACTIONS
from catmem.staleness.freshness import DATED_BY, expired_on
from catmem.staleness.lineage import found_by
from catmem.store.contract import DECISION, PROPOSAL, Revision
from catmem.text import counted, unmerged_warnings
from catmem.workspace.changed_entries import did, only_action
from catmem.workspace.formatting import unread_of
from catmem.workspace.history import closed, entity_of, parent_of, undo_fault
from catmem.workspace.seen_entry import rules_in
from catmem.workspace.workspace import Workspace

# --- a revision ------------------------------------------------------------------------------------------------------


def proposal_of(revision: Revision) -> str | None:
    """The id of the proposal that a revision is, or that it ended."""
    note = revision.note
    found = note[DECISION]["proposal"] if DECISION in note else note.get(PROPOSAL, {}).get("id")
    return None if found is None else str(found)


def can_be_undone(revision: Revision) -> bool:
    """Whether the page offers to go back to what was there before a revision: for a write of entries, or of a text."""
    return undo_fault(revision) is None and (revision.op in {"restore", "sort"} or "actions" in revision.note)


# --- what was just done ----------------------------------------------------------------------------------------------


class RecentChange(NamedTuple):
    """A revision, and what it did in words. ``record`` is ``None`` where nothing had to be done.

    ``before`` is the revision that Undo goes back to, ``None`` where it cannot: something came after it, or it is no
    change that can be taken back whole. ``about`` is the beginning of the entry that it was on, empty where there are
    several; ``remarks`` are what to know of that entry. ``closed`` are the branches that it closed. ``proposal`` is
    what it made, decided or took back. ``others`` were written by the same form.
    """

    record: Revision | None
    did: str = ""
    before: str | None = None
    about: str = ""
    remarks: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    proposal: str | None = None
    others: tuple[RecentChange, ...] = ()

    @property
    def is_seed(self) -> bool:
        """Whether a seed wrote it."""
        return self.record is not None and self.record.op == "seed"


NOTHING_TO_DO = "nothing"
"""What ``did`` says in a query where all was as it should be already."""

MOST = 25
"""Revisions that one form is said to have written."""


def recent_change(workspace: Workspace, named: str | None) -> RecentChange | None:
    """What ``ENTITY@REVISION`` did, or several with blanks between; ``None`` for what is no revision that there is."""
    if named is None:
        return None
    if named == NOTHING_TO_DO:
        return RecentChange(None)
    found = [change for each in named.split(" ")[:MOST] if (change := _recent_change(workspace, each)) is not None]
    return found[0]._replace(others=tuple(found[1:])) if found else None


def _recent_change(workspace: Workspace, named: str) -> RecentChange | None:
    entity, _, revision = named.partition("@")
    try:
        entity = entity_of(workspace, entity)
        head = workspace.store.head(entity)
        record = record_of(workspace, entity, revision)
        unmerged = unmerged_warnings(entity, workspace.store.peek(entity).decode(errors="replace"))
    except CatmemError:
        return None  # the page itself tells what cannot be read
    if record is None:
        return None
    said, about, remarks = did(record), "", [f"{warning}." for warning in unmerged]
    try:
        one = _became(workspace, record)
        if one is not None:
            verb = None if DECISION in record.note else _verb(one, record)
            said, about = verb or said, beginning(one.body)
            remarks[:0] = _remarks(workspace, entity, one)
        elif record.op == "sort":
            remarks[:0] = _remarks_on_sort(workspace, record)
        elif (several := len(record.note.get("actions", ()))) > 1:
            about = counted(several, "entry", "entries")
    except CatmemError:
        pass  # bytes that no tool can read any more
    is_head = head is not None and head.revision == revision
    undone = parent_of(record) if is_head and can_be_undone(record) else None
    ended = () if DECISION in record.note else closed(record)
    before = record_of(workspace, entity, parent_of(record)) if record.op == "restore" else None
    proposed = proposal_of(before or record)
    return RecentChange(record, said, undone, about, tuple(remarks), ended, proposed)


def record_of(workspace: Workspace, entity: str, revision: str) -> Revision | None:
    """What the store recorded of a revision; ``None`` for one that is not there."""
    return next((each for each in workspace.store.log(entity) if each.revision == revision), None)


def _remarks_on_sort(workspace: Workspace, record: Revision) -> Iterator[str]:
    """What a person should know of a sort: what an undo leaves, who reads what, and how a secret is erased."""
    for name in record.note.get("declared", ()):
        yield f"{name} is new in catmem.yaml; an undo leaves it there."
    for name in unread_of(workspace, record.entity, [each for each in record.note["sorted"] if each not in ACTIONS]):
        yield f"No specialist reads {name} in this file."
    for entry_id in record.note.get("secrets", ()):
        erased = f"catmem purge {record.entity} {entry_id} --yes"
        kept = (
            "The history still has the secret, and so have copies outside, such as the file that 'init --start' read."
        )
        yield f"{kept} Replace it where it was issued, then erase it: {erased}"


# --- the one entry that it was on ------------------------------------------------------------------------------------


class ChangedEntry(NamedTuple):
    """An entry before and after a revision; ``None`` for one that was not there. ``document`` is the text after it."""

    was: Entry | None
    entry: Entry | None
    document: Document

    @property
    def body(self) -> str:
        """Its words: the new ones, or those of a removed one."""
        found = self.entry or self.was
        return "" if found is None else found.body


def _became(workspace: Workspace, record: Revision) -> ChangedEntry | None:
    """What became of the one entry that a revision was on; ``None`` where it was on several, or on none."""
    last = only_action(record)
    if last is None:
        return None
    first: Mapping[str, Any] = record.note["actions"][0]
    store = workspace.store
    after = workspace.parse(store.read(record.entity, record.revision).data)
    old = workspace.parse(store.read(record.entity, parent_of(record)).data)
    if last.get("action") == "remove":
        return ChangedEntry(found_by(old, last), None, after)
    entry = found_by(after, last)
    if entry is None:
        return None
    is_new = first.get("action") == "add"
    return ChangedEntry(None if is_new else found_by(old, first) or _partner(old, after, entry), entry, after)


def _verb(one: ChangedEntry, record: Revision) -> str | None:
    """What happened to it, where its tags tell more than the operation does."""
    was, entry = one.was, one.entry
    if was is None or entry is None or (was.body, was.category) != (entry.body, entry.category):
        return None
    if was.tags.get("verified_date") != entry.tags.get("verified_date") and "verified_date" in entry.tags:
        return f"Verified in {category_name(entry.category)}"
    changed = was.tags.get("expires") != entry.tags.get("expires")
    if changed and expired_on(entry.tags, clock.today()) and len(record.note["actions"]) == 1:
        return f"Expired in {category_name(entry.category)}"
    return None


def _remarks(workspace: Workspace, entity: str, one: ChangedEntry) -> Iterator[str]:
    """What a person should know of it now: dates that were put right or have gone by, and who does not see it."""
    entry = one.entry
    if entry is None:
        return
    owner, _, target = entity.partition("/")
    profile, config = workspace.profile(owner), workspace.config
    was = {} if one.was is None else one.was.tags
    if "expires" in was and "expires" not in entry.tags:
        date = read_date(was.get("expires"))
        yield f"Its expires ({day(date) if date else was['expires']}) was dropped."
    for key in DATED_BY:
        date, now = read_date(was.get(key)), read_date(entry.tags.get(key))
        if date is not None and now is not None and now < date and date > clock.today():
            yield f"Its {key} was {day(date)}, in the future, and is {day(now)} now."
    if not visible_categories([entry.category], target, profile, config.taxonomy):
        yield f"{owner} does not read {category_name(entry.category)}, so its prompt does not show this."
    elif expired_on(entry.tags, clock.today()):
        shows = "do not show it" if profile.prompt.expired == "drop" else "call it expired"
        expired = day(read_date(entry.tags.get("expires")))
        yield f"It expired on {expired}: prompts {shows}, and it stays in Review until it is verified or removed."
    rules = rules_in([entry.body])
    if rules:
        yield f"Prompts withhold it: {', '.join(rules)}."


def _partner(old: Document, after: Document, entry: Entry) -> Entry | None:
    place = next(index for index, each in enumerate(after.entries) if each is entry)
    pairs = {new: index for index, new in pair_entries(old.entries, after.entries).items()}
    return old.entries[pairs[place]] if place in pairs else None
