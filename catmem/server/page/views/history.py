"""What was: the revisions of a file, and what each of them changed."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from catmem.digest import bytes_digest
from catmem.server.page.reading import Page
from catmem.server.page.recent_changes import did, words_of
from catmem.server.page.shown import beginning, diff_of
from catmem.service.history import entity_of
from catmem.store.contract import unknown_revision

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catmem.server.page.reading import Asked
    from catmem.server.page.refused import Refusal
    from catmem.server.page.shown import Diff
    from catmem.service.workspace import Workspace
    from catmem.store.contract import Revision

_SIZE = 50
_WORDS = 60
"""Characters of an entry beside what was done with it."""
_MOST_READ = 1_000_000
"""Bytes of old texts that are read for those words."""
NOTHING = "0"
"""The revision of a file that was never written."""
CHOSEN = "compare"
"""The address of the revision that the query names."""
NOW = "now"
"""The address of what is there and in no revision yet."""


class Told(NamedTuple):
    """A revision with what it did, in few words, and how many bytes it added (``None``: nobody can tell).

    ``about`` is the beginning of the entry that it was on, empty where there are several.
    """

    revision: Revision
    did: str
    about: str
    change: int | None


def history(asked: Asked) -> Page:
    """The revisions of a file, the newest first."""
    workspace = asked.workspace
    entity = _entity(asked)
    first = (asked.number("page") - 1) * _SIZE
    digest, newest = bytes_digest(workspace.store.peek(entity)), workspace.store.head(entity)
    # One more than is shown: the change of size is told against the revision before.
    found = list(islice(workspace.store.log(entity), first, first + _SIZE + 1))
    sizes = {each.revision: each.size for each in found}
    words = words_of(workspace, found[:_SIZE], _MOST_READ)
    return Page(
        "history.html",
        {
            "entity": entity,
            "name": entity.partition("/")[0],
            "target": entity.partition("/")[2],
            "told": [
                Told(each, did(each), beginning(words.get(each.revision, ""), _WORDS), _change(each, sizes))
                for each in found[:_SIZE]
            ],
            "compared": _compared(found[:_SIZE]),
            "page": asked.number("page"),
            "more": len(found) > _SIZE,
            "outside": first == 0 and newest is not None and newest.digest != digest,
            "watched": [(entity, digest)],
        },
    )


def _compared(records: Sequence[Revision]) -> tuple[str, str]:
    """The two revisions that most want to compare: the newest ones, of the main line as far as there are so many."""
    newest = sorted(records, key=lambda each: each.is_branch)[:2]
    return newest[-1].revision if newest else NOTHING, newest[0].revision if newest else NOTHING


class WayBack(NamedTuple):
    """What writing an old revision again would change now. ``base`` is what is there, a revision or a digest."""

    base: str
    diff: Diff


def revision(asked: Asked) -> Page:
    """What a revision changed; with ``since`` in the query, what changed from that one to it.

    Of two that a person chose, the query names both.
    """
    name = asked.path["revision"]
    if name == CHOSEN:
        name = asked.query.get("to", NOW)
    return revision_page(asked.workspace, _entity(asked), name, asked.query.get("since"))


def revision_page(
    workspace: Workspace, entity: str, name: str, since: str | None = None, refusal: Refusal | None = None
) -> Page:
    """One revision, or what is there now, with the way back to it; ``refusal`` tells why that was not gone."""
    newest, record = _found(workspace, entity, name)
    since = since or _before(workspace, entity, record)
    before = b"" if since == NOTHING else workspace.store.read(entity, since).data
    now = workspace.store.read(entity)
    after = now.data if record is None else workspace.store.read(entity, name).data
    base = now.revision or now.digest
    is_other = record is not None and not record.is_branch and record.digest != now.digest
    return Page(
        "revision.html",
        {
            "entity": entity,
            "name": entity.partition("/")[0],
            "target": entity.partition("/")[2],
            "revision": name,
            "record": record,
            "did": did(record) if record else "",
            "since": since,
            "nothing": NOTHING,
            "diff": diff_of(_text(before), _text(after)),
            "newest": newest,
            "way_back": WayBack(base, diff_of(_text(now.data), _text(after))) if is_other else None,
            "outside": base if record is None and now.revision is None else None,
            "refusal": refusal,
            "watched": [(entity, now.digest)],
        },
    )


def _text(data: bytes) -> str:
    """Bytes for a person to look at; what is no text is shown as escapes."""
    return data.decode(errors="backslashreplace")


def _entity(asked: Asked) -> str:
    return entity_of(asked.workspace, f"{asked.path['name']}/{asked.path['target']}")


def _found(workspace: Workspace, entity: str, name: str) -> tuple[Revision | None, Revision | None]:
    """The newest revision, and the one of the name (``None`` for what is there now). Raises if there is none."""
    newest = workspace.store.head(entity)
    if name == NOW:
        return newest, None
    record = next((each for each in workspace.store.log(entity) if each.revision == name), None)
    if record is None:
        raise unknown_revision(entity, name[:20])
    return newest, record


def _before(workspace: Workspace, entity: str, record: Revision | None) -> str:
    if record is not None:
        return record.parents[0] if record.parents else NOTHING
    newest = workspace.store.head(entity)
    return NOTHING if newest is None else newest.revision


def _change(revision: Revision, sizes: Mapping[str, int]) -> int | None:
    before = sizes.get(revision.parents[0]) if revision.parents else 0
    return None if before is None else revision.size - before
