"""What a revision did, in few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catmem.server.page.shown import category

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catmem.store.contract import Revision


def did(revision: Revision) -> str:
    """What a revision did, in words."""
    note = revision.note
    said = {
        "adopt": "Taken over from outside",
        "restore": f"Revision {note.get('restored', '?')} restored",
        "seed": f"Seeded from {note.get('source', 'another profile')}",
        "late": "A late change from outside taken in",
    }.get(revision.op)
    for name, word in (("merged", "Merged"), ("dropped", "Dropped")):
        if name in note:
            said = f"{word} {', '.join(map(str, note[name]))}"
    if said is None:
        said = _actions(note.get("actions", ())) or _WORDS.get(revision.op, revision.op.capitalize())
    return said


def can_be_undone(revision: Revision) -> bool:
    """Whether going back to what was there before takes back all that a revision did.

    A merge also closed a branch, and a seed is on record elsewhere: a text that is put back undoes neither.
    """
    if revision.is_branch or len(revision.parents) > 1 or closed(revision):
        return False
    return revision.op == "restore" or "actions" in revision.note


def closed(revision: Revision) -> tuple[str, ...]:
    """The branches that a revision merged or dropped."""
    return tuple(str(each) for name in ("merged", "dropped") for each in revision.note.get(name, ()))


_WORDS = {"put": "Written", "verify": "Verified", "merge": "Merged", "lint": "Mended by lint", "fmt": "Formatted"}
_MOST = 3
_DONE = {
    "add": "added to",
    "replace": "changed in",
    "remove": "removed from",
    "move": "moved to",
    "verify": "verified in",
}


def _actions(actions: Sequence[Mapping[str, Any]]) -> str:
    """The operations of a write: ``added to talk, removed from rules``."""
    told = [f"{_DONE.get(str(each.get('action')), str(each.get('action')))} {_where(each)}" for each in actions]
    distinct = list(dict.fromkeys(told))
    text = ", ".join(distinct[:_MOST]) + (f" and {len(distinct) - _MOST} more" if len(distinct) > _MOST else "")
    return text[:1].upper() + text[1:]


def _where(action: Mapping[str, Any]) -> str:
    return category(str(action.get("category")))
