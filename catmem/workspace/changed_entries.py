"""What revisions did, in words, and to which entries: who wrote and verified each."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from catmem.errors import CatmemError, EditError
from catmem.names import DROP, SECRET, SPLIT, STAYS, category_name, is_declared
from catmem.staleness.first_seen import origins, reworded, steps
from catmem.store.contract import DECISION, PROPOSAL
from catmem.workspace.differing import Differing, changed_document
from catmem.workspace.history import parent_of
from catmem.writing.matching import entries_holding, legible, no_match, refuse_empty

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from catmem.model.document import Document, Entry
    from catmem.store.contract import Revision, Store
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


def entry_in(document: Document, entry_id: str | None, category: str | None) -> Entry | None:
    """The entry of an id; of several that say the same, the one of the category if it is there."""
    same = [each for each in document.entries if each.id == entry_id]
    return next((each for each in same if each.category == category), same[0] if same else None)


def found_by(document: Document, action: Mapping[str, Any]) -> Entry | None:
    """The entry that an operation of a record names."""
    return entry_in(document, action.get("id"), action.get("category"))


@dataclass(frozen=True, slots=True)
class Blamed:
    """An entry and its revisions; ``None`` in the place of one is an external change that no revision has yet."""

    entry: Entry
    worded: Revision | None
    verified: Revision | None
    revisions: tuple[Revision | None, ...]
    line: int = 0

    def __json__(self) -> dict[str, Any]:
        """The entry with its revisions, as JSON-ready data."""
        day = self.entry.tags.get("verified_date")
        return {
            "line": self.line,
            "category": self.entry.category,
            "id": self.entry.id,
            "body": self.entry.body,
            **_said(self.worded),
            "verified": None if day is None else {"date": day, **_said(self.verified)},
            "revisions": [None if each is None else each.revision for each in self.revisions],
        }


def _said(revision: Revision | None) -> dict[str, Any]:
    """The revision, who made it and when; nulls for a change that is not recorded yet."""
    if revision is None:
        return dict.fromkeys(("revision", "agent", "person", "proposed_by", "timestamp"))
    return {
        "revision": revision.revision,
        "agent": revision.agent,
        "person": revision.person,
        "proposed_by": revision.note.get(DECISION, {}).get("proposed_by"),
        "timestamp": revision.timestamp,
    }


def blame(workspace: Root, store: Store, entity: str) -> list[Blamed]:
    """The entries of an entity as it is now, in file order, each with its revisions."""
    return _Lines(workspace, store, entity).now()


def revisions_of(workspace: Root, store: Store, entity: str, wanted: str) -> set[str]:
    """The revisions that changed the entries that hold a text; if there are none now, of those that are gone."""
    refuse_empty(wanted)
    lines = _Lines(workspace, store, entity)
    entries = lines.document.entries
    held = {each.start for each in entries_holding(wanted, entries)}
    found = [each for each in lines.now() if each.entry.start in held]
    found = found or [each for each in lines.gone.values() if entries_holding(wanted, [each.entry])]
    if not found:
        raise no_match(wanted, entries, entity, to_agent=False)
    return {each.revision for blamed in found for each in blamed.revisions if each is not None}


class _Lines:
    """The entries that there are and those that are gone, as one revision after the other is looked at."""

    def __init__(self, workspace: Root, store: Store, entity: str) -> None:
        if is_declared(entity):
            raise EditError(
                f"{entity} has no entries to look at: it is a text or a JSON value",
                code="no_entries",
                hint=f"Its revisions are those of catmem log {entity}.",
            )
        self._live: dict[tuple[str, str], list[Blamed]] = defaultdict(list)
        self.gone: dict[str, Blamed] = {}
        """By their words: what comes back goes on from where it was."""
        self.document: Document = legible(workspace.parse, entity, store.read(entity).data)
        last = None
        for revision, after, found in steps(store.replay(entity), None, workspace.parse):
            if revision.is_branch or after is None:
                continue
            self._take(revision, found)
            self._verify(revision, after)
            last = after
        if last is None:
            self._take(None, Differing((), self.document.entries))
        elif last.text != self.document.text:
            self._take(None, changed_document(last, self.document.to_bytes())[1])

    def now(self) -> list[Blamed]:
        """The entries that there are, in file order."""
        left = {key: list(lines) for key, lines in self._live.items()}
        return [
            replace(left[entry.category, entry.raw].pop(0), entry=entry, line=self.document.line(entry.start))
            for entry in self.document.entries
        ]

    def _take(self, revision: Revision | None, found: Differing) -> None:
        before = {each.start: self._live[each.category, each.raw].pop(0) for each in found.old}
        wanted = {each.start for each in found.new}
        come_from = origins(found, wanted, () if revision is None else reworded(revision)) if before else {}
        for entry in found.new:
            origin = come_from.get(entry.start)
            older = self.gone.pop(entry.body, None) if origin is None else before[origin.start]
            self._live[entry.category, entry.raw].append(_next(older, entry, revision, is_there=origin is not None))
        for start in before.keys() - {each.start for each in come_from.values()}:
            line = before[start]
            self.gone[line.entry.body] = replace(line, revisions=(*line.revisions, revision))

    def _verify(self, revision: Revision, document: Document) -> None:
        """A verification on a day that the entry had already changes no text; the record alone tells of it."""
        for action in _noted_actions(revision):
            entry = found_by(document, action) if action.get("action") == "verify" else None
            lines = [] if entry is None else self._live[entry.category, entry.raw]
            if lines and lines[0].verified is not revision:
                lines[0] = replace(lines[0], verified=revision, revisions=(*lines[0].revisions, revision))


def _noted_actions(revision: Revision) -> Iterable[Mapping[str, Any]]:
    said = revision.note.get("actions")
    return [each for each in said if isinstance(each, dict)] if isinstance(said, list) else []


def _next(older: Blamed | None, entry: Entry, revision: Revision | None, *, is_there: bool) -> Blamed:
    """What becomes of an entry by a revision that made it ``entry``; ``is_there``: it was not gone."""
    day = entry.tags.get("verified_date")
    if older is None:
        return Blamed(entry, revision, None if day is None else revision, (revision,))
    was = older.entry
    if is_there and (was.category, was.raw) == (entry.category, entry.raw):
        return older
    return Blamed(
        entry,
        older.worded if was.body == entry.body else revision,
        None if day is None else older.verified if day == was.tags.get("verified_date") else revision,
        (*older.revisions, revision),
    )
