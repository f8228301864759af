"""What was just done, as the store tells it: an address only names the revision, and whether Undo made it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from catmem.errors import CatmemError
from catmem.server.page.outcome import became, remarks, verb
from catmem.server.page.shown import beginning
from catmem.server.page.told import can_be_undone, closed, did
from catmem.service.history import entity_of
from catmem.text import unmerged_warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from catmem.service.workspace import Workspace
    from catmem.store.contract import Revision

    Find: TypeAlias = Callable[[str], Revision | None]


class Lately(NamedTuple):
    """A revision, and what it did in words. ``record`` is ``None`` where nothing had to be done.

    ``before`` is the revision that Undo goes back to, ``None`` where it cannot: something came after it, it stands
    beside the head, the file says what it said before, or it is no change that can be taken back whole. ``undone``:
    Undo made it, and doing that again is Redo. ``about`` is the beginning of the entry that it was on, empty where
    there are several; ``remarks`` are what to know of that entry. ``closed`` are the branches that it closed.
    ``others`` were written by the same form.
    """

    record: Revision | None
    did: str = ""
    before: str | None = None
    undone: bool = False
    about: str = ""
    remarks: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    others: tuple[Lately, ...] = ()

    @property
    def is_seed(self) -> bool:
        """Whether a seed wrote it."""
        return self.record is not None and self.record.op == "seed"


NOTHING_TO_DO = "nothing"
"""What ``did`` says in a query where all was as it should be already."""

MARK = "~"
"""Stands before ``undo`` or ``redo`` in the name of a revision that one of them made."""

MOST = 20
"""Revisions that one form is told to have written."""

_NOTHING = "0"


def done_lately(workspace: Workspace, named: str | None) -> Lately | None:
    """What ``ENTITY@REVISION`` did, or several with blanks between; ``None`` for what is no revision that there is."""
    if named is None:
        return None
    if named == NOTHING_TO_DO:
        return Lately(None)
    found = [told for each in named.split(" ")[:MOST] if (told := _told(workspace, each)) is not None]
    return found[0]._replace(others=tuple(found[1:])) if found else None


def _told(workspace: Workspace, named: str) -> Lately | None:
    entity, _, name = named.partition("@")
    revision, _, by = name.partition(MARK)
    try:
        entity = entity_of(workspace, entity)
        head, find = workspace.store.head(entity), _finder(workspace.store.log(entity))
        record = find(revision)
        if record is None:
            return None
        before = _before(record)
        was = find(before)
        subject = _subject(find, record, by)
        unmerged = unmerged_warnings(entity, workspace.store.peek(entity).decode(errors="replace"))
    except CatmemError:
        return None  # the page itself tells what cannot be read
    is_head = head is not None and head.revision == revision
    is_same = was is not None and was.digest == record.digest
    said, about, noted = _about(workspace, subject or record)
    if subject is not None:
        said, noted = f"{'Took back' if by == 'undo' else 'Did again'}: {said[:1].lower()}{said[1:]}", ()
    noted += tuple(f"{warning}." for warning in unmerged)
    return Lately(
        record,
        said,
        before if is_head and not is_same and can_be_undone(record) else None,
        subject is not None and by == "undo",
        about,
        noted,
        closed(record),
    )


def _finder(log: Iterator[Revision]) -> Find:
    """Looks revisions up by name, the newer one first; parents come later in a log, so it is read no further."""
    known: dict[str, Revision] = {}

    def find(name: str) -> Revision | None:
        if name == _NOTHING:
            return None
        while name not in known:
            each = next(log, None)
            if each is None:
                return None
            known[each.revision] = each
        return known[name]

    return find


def _before(record: Revision) -> str:
    return record.parents[0] if record.parents else _NOTHING


def _taken_back(find: Find, record: Revision | None) -> Revision | None:
    """The revision before this one, if this one brought back what was there before that."""
    below = None if record is None or record.op != "restore" else find(_before(record))
    return below if below is not None and record and record.note.get("restored") == _before(below) else None


def _subject(find: Find, record: Revision, by: str) -> Revision | None:
    """What was taken back, or done again; ``None`` for a revision that neither Undo nor Redo can have made."""
    if by not in {"undo", "redo"}:
        return None
    found = _taken_back(find, record)
    if by == "redo":
        found = _taken_back(find, found)
    # Taken back, done again, taken back once more: it is still about what was done at first.
    while found is not None and (first := _taken_back(find, _taken_back(find, found))) is not None:
        found = first
    return found


def _about(workspace: Workspace, record: Revision) -> tuple[str, str, tuple[str, ...]]:
    """What a revision did in words, the beginning of the one entry that it was on, and what to know of that."""
    said = did(record)
    try:
        one = became(workspace, record, _before(record))
        if one is None:
            return said, "", ()
        return verb(one, record) or said, beginning(one.body), remarks(workspace, record.entity, one)
    except CatmemError:
        return said, "", ()  # bytes that no tool can read any more
