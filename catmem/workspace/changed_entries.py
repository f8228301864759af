"""The entries that revisions were on, by what their records say of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catmem.errors import CatmemError
from catmem.workspace.history import parent_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catmem.model.document import Document, Entry
    from catmem.store.contract import Revision, Store
    from catmem.workspace.root import Root

MOST_READ = 1_000_000
"""Bytes of old texts that are read for the words of a list of revisions."""

_STEPS = 2
"""Operations that a form makes on one entry: it is moved, and reworded."""


def words_of(workspace: Root, store: Store, records: Sequence[Revision]) -> dict[str, str]:
    """The words of the one entry that each revision was on, by its name; of ``MOST_READ`` bytes of texts, the first.

    What cannot be read any more has no words here: its own page says why.
    """
    found: dict[str, str] = {}
    documents: dict[str, Document] = {}
    most = MOST_READ
    for record in records:
        action = only_action(record)
        if action is None:
            continue
        # What was removed stands in the text before it.
        text = parent_of(record) if action.get("action") == "remove" else record.revision
        if text not in documents:
            most -= record.size
            if most < 0:
                break
            try:
                documents[text] = workspace.parse(store.read(record.entity, text).data)
            except CatmemError:
                continue
        entry = found_by(documents[text], action)
        if entry is not None:
            found[record.revision] = entry.body
    return found


def only_action(record: Revision) -> Mapping[str, Any] | None:
    """The last operation of a revision that was on one entry."""
    actions: Sequence[Mapping[str, Any]] = record.note.get("actions", ())
    if not 0 < len(actions) <= _STEPS or (len(actions) > 1 and actions[0].get("action") != "move"):
        return None
    return actions[-1]


def entry_in(document: Document, entry_id: str | None, category: str | None) -> Entry | None:
    """The entry of an id; of several that say the same, the one of the category if it is there."""
    same = [each for each in document.entries if each.id == entry_id]
    return next((each for each in same if each.category == category), same[0] if same else None)


def found_by(document: Document, action: Mapping[str, Any]) -> Entry | None:
    """The entry that an operation of a record names."""
    return entry_in(document, action.get("id"), action.get("category"))
