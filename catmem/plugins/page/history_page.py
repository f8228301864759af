"""What was: the revisions of a file, what each of them changed, an old one again, and what others wrote taken over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from catmem.digest import bytes_digest
from catmem.plugins.page.page_view import Page, PageRequest, of_entity, record_of
from catmem.plugins.page.rendering import beginning, diff_of, text_of
from catmem.plugins.page.writing import Redirect, SentForm, done
from catmem.store.contract import Revision, unknown_revision
from catmem.workspace.history import adopt as adopt_now
from catmem.workspace.history import parent_of, words_of
from catmem.workspace.history import restore as restore_revision

_SIZE = 50
_WORDS = 60
"""Characters of an entry beside what was done with it."""
NOTHING = "0"
"""The revision of a file that was never written."""
CHOSEN = "compare"
"""The address of the revision that the query names."""
NOW = "now"
"""The address of what is there and in no revision yet."""


def history(asked: PageRequest) -> Page:
    """The revisions of a file, the newest first."""
    workspace, entity = asked.workspace, asked.named
    first = (asked.page - 1) * _SIZE
    digest, newest = bytes_digest(workspace.store.peek(entity)), workspace.store.head(entity)
    # One more than is shown: the change of size is counted from the revision before.
    found = list(islice(workspace.store.log(entity), first, first + _SIZE + 1))
    sizes, some = {each.revision: each.size for each in found}, found[:_SIZE]
    words = words_of(workspace, workspace.store, some)
    return Page(
        "history.html",
        {
            **of_entity(entity),
            "rows": [
                {
                    "revision": each,
                    "about": beginning(words.get(each.revision, ""), _WORDS),
                    "change": _change(each, sizes),
                }
                for each in some
            ],
            "compared": _compared(some),
            "page": asked.page,
            "more": len(found) > _SIZE,
            "outside": first == 0 and newest is not None and newest.digest != digest,
            "watched": [(entity, digest)],
        },
    )


def _compared(records: Sequence[Revision]) -> tuple[str, str]:
    """The two revisions that most want to compare: the newest ones, of the main line as far as there are so many."""
    newest = sorted(records, key=lambda each: each.is_branch)[:2]
    return newest[-1].revision if newest else NOTHING, newest[0].revision if newest else NOTHING


def _change(revision: Revision, sizes: Mapping[str, int]) -> int | None:
    size = sizes.get(revision.parents[0]) if revision.parents else 0
    return None if size is None else revision.size - size


def revision(asked: PageRequest) -> Page:
    """What a revision changed; with ``since`` in the query, what changed from that one to it."""
    workspace, entity, name, since = asked.workspace, asked.named, asked.path["revision"], asked.query.get("since")
    if name == CHOSEN:
        name = asked.query.get("to", NOW)
    store = workspace.store
    newest, record = store.head(entity), None if name == NOW else record_of(workspace, entity, name)
    if record is None and name != NOW:
        raise unknown_revision(entity, name[:20])
    since = since or (parent_of(record) if record else newest.revision if newest else NOTHING)
    old = b"" if since == NOTHING else store.read(entity, since).data
    now = store.read(entity)
    new = now.data if record is None else store.read(entity, name).data
    base = now.revision or now.digest
    is_other = record is not None and not record.is_branch and record.digest != now.digest
    return Page(
        "revision.html",
        {
            **of_entity(entity),
            "revision": name,
            "record": record,
            "since": since,
            "nothing": NOTHING,
            "diff": diff_of(text_of(old), text_of(new)),
            "newest": newest,
            "way_back": diff_of(text_of(now.data), text_of(new)) if is_other else None,
            "base": base,
            "outside": base if record is None and now.revision is None else None,
            "watched": [(entity, now.digest)],
        },
    )


# --- forms -----------------------------------------------------------------------------------------------------------


def restore(sent: SentForm) -> Redirect:
    """Write an old revision again, if what is there is still what was shown."""
    name = sent.path["revision"]
    written = restore_revision(sent.workspace, sent.named, name, expected=sent.seen, op_id=sent.op_id)
    return done(sent, written, f"/page/history/{written.entity}")


def adopt(sent: SentForm) -> Redirect:
    """Take what is in the file into the history, if it is still what was shown."""
    entity = sent.named
    return Redirect(
        f"/page/history/{entity}", [(entity, adopt_now(sent.workspace, entity, expected=sent.seen, seen=True))]
    )
