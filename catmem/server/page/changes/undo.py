"""Take back what was just written: the text before it becomes a revision of its own."""

from __future__ import annotations

from catmem.server.page.writing import Did, Sent, done
from catmem.service.history import restore
from catmem.store.memory import unknown_revision


def undo(sent: Sent) -> Did:
    """Restore what was there before the revision that the form names, if nothing came after it."""
    entity, revision = sent.named, sent.seen
    record = next((each for each in sent.workspace.store.log(entity) if each.revision == revision), None)
    if record is None:
        raise unknown_revision(entity, revision[:20])
    before = (record.parents or ("0",))[0]
    return done(sent, restore(sent.workspace, entity, before, expected=revision, op_id=sent.op_id))
