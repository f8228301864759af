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
    """The revision with what it differs in from what is there by now."""
    # A refused write takes over what is in the file all the same, so the newest revision may be what was not seen.
    name = sent.path.get("revision") or sent.workspace.store.read(sent.named).revision or NOW
    return revision_page(sent.workspace, sent.named, name, refusal=refusal)
