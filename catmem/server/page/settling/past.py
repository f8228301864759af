"""An old revision again, and what others wrote taken into the history: what the forms of the history do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.server.page.views.history import NOW, revision_page
from catmem.server.page.writing import Did, done
from catmem.service import history

if TYPE_CHECKING:
    from catmem.server.page.reading import Page
    from catmem.server.page.refused import Refusal
    from catmem.server.page.writing import Sent


def restore(sent: Sent) -> Did:
    """Write an old revision again, if what is there is still what was shown."""
    written = history.restore(sent.workspace, sent.named, sent.path["revision"], expected=sent.seen, op_id=sent.op_id)
    return done(sent, written, f"/page/history/{written.entity}")


def adopt(sent: Sent) -> Did:
    """Take what is in the file into the history, if it is still what was shown."""
    revision = history.adopt(sent.workspace, sent.named, expected=sent.seen)
    return Did(f"/page/history/{sent.named}", sent.named, revision)


def again(sent: Sent, refusal: Refusal) -> Page:
    """What the form was on: the revision, and what it differs in from what is there by now."""
    store, entity = sent.workspace.store, sent.named
    now, head = store.read(entity), store.head(entity)
    asked, newest = sent.path.get("revision"), NOW if head is None else head.revision
    if asked in {None, newest}:
        # It was on what others wrote. A refused write takes that over all the same: then it is the newest revision.
        return revision_page(sent.workspace, entity, NOW if now.revision is None else newest, refusal=refusal)
    return revision_page(sent.workspace, entity, str(asked), refusal=refusal)
