"""Take back what was just written: the text before it becomes a revision of its own."""

from __future__ import annotations

from dataclasses import replace

from catmem.server.page.told import can_be_undone
from catmem.server.page.writing import Did, Sent, bad_form, done
from catmem.service.history import restore
from catmem.store.memory import unknown_revision


def undo(sent: Sent) -> Did:
    """Restore what was there before the revision that the form names, if nothing came after it."""
    entity, revision = sent.named, sent.seen
    record = next((each for each in sent.workspace.store.log(entity) if each.revision == revision), None)
    if record is None:
        raise unknown_revision(entity, revision[:20])
    if not can_be_undone(record):
        raise bad_form(f"revision {revision} did more than change the text, so a text alone does not take it back")
    before = (record.parents or ("0",))[0]
    did = done(sent, restore(sent.workspace, entity, before, expected=revision, op_id=sent.op_id))
    return replace(did, by="redo" if sent.get("again") == "true" else "undo")
