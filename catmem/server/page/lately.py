"""What was just done, as the store tells it: an address only names the revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from catmem.errors import CatmemError
from catmem.server.page.told import did
from catmem.service.history import entity_of
from catmem.service.showing import findings_in

if TYPE_CHECKING:
    from catmem.service.workspace import Workspace
    from catmem.store.contract import Revision


class Lately(NamedTuple):
    """A revision, and what it did in words. ``record`` is ``None`` where nothing had to be done.

    ``before`` is the revision that Undo goes back to, ``None`` where it cannot: something came after it, it stands
    beside the head, or the file says what it said before. ``about`` is the beginning of the entry that it was on, empty
    where there are several; ``withheld`` are the rules for which prompts withhold that. ``others`` were written by the
    same form.
    """

    record: Revision | None
    did: str = ""
    before: str | None = None
    about: str = ""
    withheld: tuple[str, ...] = ()
    others: tuple[Lately, ...] = ()


NOTHING_TO_DO = "nothing"
"""What ``did`` says in a query where all was as it should be already."""

_LENGTH = 80
_STEPS = 2
"""Operations that a form makes on one entry: it is moved, and reworded."""

MOST = 20
"""Revisions that one form is told to have written."""


def done_lately(workspace: Workspace, named: str | None) -> Lately | None:
    """What ``ENTITY@REVISION`` did, or several with blanks between; ``None`` for what is no revision that there is."""
    if named is None:
        return None
    if named == NOTHING_TO_DO:
        return Lately(None)
    found = [told for each in named.split(" ")[:MOST] if (told := _told(workspace, each)) is not None]
    return found[0]._replace(others=tuple(found[1:])) if found else None


def _told(workspace: Workspace, named: str) -> Lately | None:
    entity, _, revision = named.partition("@")
    try:
        entity = entity_of(workspace, entity)
        head, log = workspace.store.head(entity), workspace.store.log(entity)
        record = next((each for each in log if each.revision == revision), None)
        if record is None:
            return None
        before = (record.parents or ("0",))[0]
        was = next((each for each in log if each.revision == before), None)  # parents come later
    except CatmemError:
        return None  # the page itself tells what cannot be read
    is_head = head is not None and head.revision == revision
    is_same = was is not None and was.digest == record.digest
    about, withheld = _about(workspace, record, before)
    return Lately(record, did(record), before if is_head and not is_same else None, about, withheld)


def _about(workspace: Workspace, record: Revision, before: str) -> tuple[str, tuple[str, ...]]:
    """The beginning of the one entry that a revision was on, and why prompts withhold it."""
    actions = record.note.get("actions", ())
    if not 0 < len(actions) <= _STEPS:
        return "", ()
    last = actions[-1]
    is_gone = last.get("action") == "remove"
    try:
        document = workspace.parse(workspace.store.read(record.entity, before if is_gone else record.revision).data)
    except CatmemError:
        return "", ()  # bytes that no tool can read any more
    entry = next((each for each in document.entries if each.id == last.get("id")), None)
    if entry is None or (len(actions) > 1 and actions[0].get("action") != "move"):
        return "", ()
    withheld = () if is_gone else tuple(sorted({each.rule for each in findings_in([entry.body])}))
    return _beginning(entry.body), withheld


def _beginning(body: str) -> str:
    line = body.strip().partition("\n")[0]
    return line if len(line) <= _LENGTH else f"{line[:_LENGTH].rstrip()}…"
