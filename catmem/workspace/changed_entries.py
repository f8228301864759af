"""What revisions did, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from catmem.errors import CatmemError
from catmem.model.document import Document
from catmem.names import DROP, SECRET, SPLIT, STAYS, category_name
from catmem.staleness.lineage import found_by
from catmem.store.contract import DECISION, PROPOSAL, Revision, Store
from catmem.workspace.history import parent_of
from catmem.workspace.root import Root

MOST_READ = 1_000_000
"""Bytes of old texts that are read for the words of a list of revisions."""

_STEPS = 2
"""Operations that a form makes on one entry: it is moved, and reworded."""

_NOTED = {
    "snapshot": "Snapshot of {} restored",
    "merged": "Merged {}",
    "dropped": "Dropped {}",
    "restored": "Revision {} restored",
    "source": "Seeded from {}",
}
_BY_OP = {
    "adopt": "Taken over from outside", "fmt": "Formatted", "late": "A late change from outside taken in",
    "lint": "Mended by lint", "merge": "Merged", "migrate": "Migrated", "put": "Written", "repair": "Repaired",
    "restore": "Restored", "seed": "Seeded", "sort": "Sorted", "verify": "Verified",
}  # fmt: skip
_MOST_ACTIONS = 3
_DONE = {
    "add": "added to", "replace": "changed in", "remove": "removed from", "move": "moved to", "verify": "verified in",
}  # fmt: skip


def did(revision: Revision) -> str:
    """What a revision did, in words: ``Added to talk, removed from rules (2), checked against the invoice``."""
    note = revision.note
    noted = (words.format(_listed(note[name])) for name, words in _NOTED.items() if name in note)
    actions: Sequence[Mapping[str, Any]] = note.get("actions", ())
    said = next(noted, "") or _actions(actions) or _BY_OP.get(revision.op, revision.op.capitalize())
    said += _sorted(note["sorted"]) if "sorted" in note else ""
    if DECISION in note:
        said = f"Proposed by {note[DECISION]['proposed_by']}, {note[DECISION]['verdict']}"
    if PROPOSAL in note:
        said = f"Proposed: {said}"
    # In one line, whatever its line ends are.
    against = dict.fromkeys(" ".join(each["evidence"].split()) for each in actions if "evidence" in each)
    said += f", checked against {'; '.join(against)}" if against else ""
    said += f", set back: {_listed(note['set_back'])}" if "set_back" in note else ""
    return f"{said}, after a stop of the machine" if "after_stop" in note else said


def _actions(actions: Sequence[Mapping[str, Any]]) -> str:
    kinds = ((str(each.get("action")), category_name(str(each.get("category")))) for each in actions)
    counts = Counter(f"{_DONE.get(kind, kind)} {category}" for kind, category in kinds)
    done = [each if count == 1 else f"{each} ({count})" for each, count in counts.items()]
    text = ", ".join(done[:_MOST_ACTIONS]) + (f" and {len(done) - _MOST_ACTIONS} more" if done[_MOST_ACTIONS:] else "")
    return text[:1].upper() + text[1:]


def _sorted(counts: Mapping[str, int]) -> str:
    """Behind ``Sorted``, what a sort did: ``: 2 to finance, 1 removed``; nothing of what stayed."""
    done = [f"{count:,} to {name}" for name, count in counts.items() if name not in {STAYS, DROP, SECRET, SPLIT}]
    removed = counts.get(DROP, 0) + counts.get(SECRET, 0)
    done += [f"{removed:,} removed"] if removed else []
    return f": {', '.join(done)}" if done else ""


def _listed(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def words_of(workspace: Root, store: Store, records: Sequence[Revision]) -> dict[str, str]:
    """The words of the one entry that each revision was on, by its name; of ``MOST_READ`` bytes of texts, the first."""
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
                continue  # its own page says why
        if (entry := found_by(documents[text], action)) is not None:
            found[record.revision] = entry.body
    return found


def only_action(record: Revision) -> Mapping[str, Any] | None:
    """The last operation of a revision that was on one entry."""
    actions: Sequence[Mapping[str, Any]] = record.note.get("actions", ())
    if not 0 < len(actions) <= _STEPS or (len(actions) > 1 and actions[0].get("action") != "move"):
        return None
    return actions[-1]
