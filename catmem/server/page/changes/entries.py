"""What a person does with one entry: it holds, it says something else, it no longer holds, it goes; a new one; Undo.

The answers of a review (``reviewing.operations``) and the operations of the command line, as one write each. An entry
is meant as it was shown, so that the same form is the same write however often it is sent.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from catmem import clock
from catmem.server.page.addresses import with_query
from catmem.server.page.changes.draft import Draft, operations_for
from catmem.server.page.recent_changes import before, can_be_undone, record_of
from catmem.server.page.refused import seen_text
from catmem.server.page.shown import reference
from catmem.server.page.writing import Did, Sent, bad_form, done, put
from catmem.service.due import expiring, keeping, removing
from catmem.service.history import restore
from catmem.store.contract import stale, unknown_revision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catmem.model.document import Entry
    from catmem.service.due import Answering
    from catmem.service.writing.operation import Operation

_FILES = "/page/files/"
_PLACE = re.compile(r"e-[0-9a-z]{1,16}")


def verify(sent: Sent) -> Did:
    """The entry still holds."""
    return _answered(sent, keeping(meant(sent), clock.today()))


def expire(sent: Sent) -> Did:
    """The entry no longer holds: it expired yesterday."""
    return _answered(sent, expiring(meant(sent), clock.today()))


def remove(sent: Sent) -> Did:
    """The entry goes out of the file."""
    return _answered(sent, removing(meant(sent)))


def edit(sent: Sent) -> Did:
    """The entry as the form has it: words, category, and the tags that a person sets."""
    entry = meant(sent)
    return _put(sent, operations_for(entry, Draft.sent(sent.fields), clock.today()))


def add(sent: Sent) -> Did:
    """A new entry."""
    return _put(sent, [Draft.sent(sent.fields).addition()])


def undo(sent: Sent) -> Did:
    """The text before the revision that the form names becomes a revision of its own, if nothing came after it."""
    entity, revision = sent.named, sent.seen
    record = record_of(sent.workspace, entity, revision)
    if record is None:
        raise unknown_revision(entity, revision[:20])
    if not can_be_undone(record):
        raise bad_form(f"revision {revision} did more than change the text, so a text alone does not take it back")
    return done(sent, restore(sent.workspace, entity, before(record), expected=revision, op_id=sent.op_id))


def meant(sent: Sent) -> Entry:
    """The entry that a form is on, as it was shown.

    Raises ``StaleError`` where nobody knows any more what that was, and ``ServerError`` for a form that names none.
    """
    entity, expected = sent.named, sent.seen
    data = seen_text(sent.workspace, entity, expected)
    if data is None:
        now = sent.workspace.store.read(entity)
        raise stale(entity, expected, now.revision or now.digest)
    where = sent.get("where")
    same = [each for each in sent.workspace.parse(data).entries if each.id == sent.get("entry")]
    if not same:
        raise bad_form("the form is on an entry that the file did not have")
    return next((each for each in same if each.category == where), same[0])


def _answered(sent: Sent, answering: Answering) -> Did:
    return _put(sent, [] if answering.operation is None else [answering.operation])


def _put(sent: Sent, operations: Sequence[Operation]) -> Did:
    if not operations:
        return Did(_way_back(sent, None), sent.named, None)
    written = put(sent, [operation.to_dict() for operation in operations])
    # Several operations on one entry touch one; a removed one is nowhere to be shown.
    entry = None if operations[-1].action == "remove" or not written.entries else written.entries[-1]
    return done(sent, written, _way_back(sent, entry))


def _way_back(sent: Sent, entry: Entry | None) -> str:
    """The page that the form was sent from: at the entry that comes next there, or else at this one."""
    following = sent.get("next")
    if _PLACE.fullmatch(following):
        return f"{sent.back}#{following}"
    if urlsplit(sent.back).path.startswith(_FILES):
        address = with_query(sent.back, entry=None if entry is None else entry.id)
        return address if entry is None else f"{address}#{reference(entry.id)}"
    return sent.back
