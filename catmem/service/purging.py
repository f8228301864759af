"""Forget an entry for good: from its file, its history, what lies beside, and the copies in other profiles' files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from catmem.errors import NoMatchError, NotUtf8Error, TooLargeError
from catmem.model.edit import remove_entry
from catmem.policy.schema import shown
from catmem.service.history import all_entities, entity_of
from catmem.service.matching import ambiguous, entries_holding, refuse_empty
from catmem.service.upkeep import file_store
from catmem.store.contract import Change

if TYPE_CHECKING:
    from collections.abc import Callable

    from catmem.model.document import Document, Entry
    from catmem.service.workspace import Workspace
    from catmem.store.contract import Current

_PURGED = b"[purged]"
"""What stands in old revisions where the text was."""


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """What was forgotten, or would be, and where: ``entries`` has one of each body and category, the newest.

    ``files`` are told from the root.
    """

    entities: tuple[str, ...]
    entries: tuple[Entry, ...]
    revisions: int
    files: tuple[str, ...]
    dry_run: bool

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data, without the text that was forgotten."""
        return {
            "entities": list(self.entities),
            "entries": [{"category": entry.category, "id": entry.id} for entry in self.entries],
            "revisions": self.revisions,
            "files": list(self.files),
            "dry_run": self.dry_run,
        }


def purge(workspace: Workspace, entity: str, old_text: str, *, dry_run: bool = False) -> PurgeReport:
    """Forget an entry for good: from the file, its history, retired files and backups, and wherever else it stands.

    Every entry of the entity that holds ``old_text``, now or at any revision, is forgotten; for an id, those with the
    body of that entry. Entries with the same bodies in the files of other profiles (a seeded copy) go too. Raises
    ``NoMatchError``, and ``AmbiguousError`` if entries of several bodies hold the text now.
    """
    store = file_store(workspace)
    name = entity_of(workspace, entity)
    entries = _entries_to_forget(workspace, name, old_text)
    bodies = {entry.body for entry in entries}
    entities, files, revisions = [], [], 0
    for each in [name, *(other for other in all_entities(workspace) if other != name)]:
        redact = _redaction(workspace, each, bodies)
        held = sum(redact(data) != data for _, data in store.replay(each))
        now = store.peek(each)
        if not held and redact(now) == now:
            continue
        entities.append(each)
        if dry_run:
            revisions += held
            continue
        _remove(workspace, each, bodies)
        erased = store.erase(each, redact)
        revisions += erased.revisions
        files += [os.path.relpath(path, workspace.root) for path in erased.paths]
    return PurgeReport(tuple(entities), tuple(entries), revisions, tuple(files), dry_run)


def _entries_to_forget(workspace: Workspace, entity: str, old_text: str) -> list[Entry]:
    """One entry of each body and category, the newest."""
    refuse_empty(old_text)
    owner, _, target = entity.partition("/")
    document = workspace.read(owner, target).document
    past = _past_entries(workspace, entity)
    holding = entries_holding(old_text, [*document.entries, *past])
    if not holding:
        raise NoMatchError(
            f"no entry of {entity} holds {shown(old_text)}, and none ever did", hint="Nothing was forgotten."
        )
    bodies = {entry.body for entry in holding}
    now = [entry for entry in document.entries if entry.body in bodies]
    if len({entry.body for entry in now}) > 1:
        error = ambiguous(document, old_text, now, entity, to_agent=False)
        error.hint = "Nothing was forgotten. Give a longer piece of the text, or the id of the entry."
        raise error
    distinct: dict[tuple[str, str], Entry] = {}
    for entry in (*now, *past):
        if entry.body in bodies:
            distinct.setdefault((entry.category, entry.body), entry)
    return list(distinct.values())


def _past_entries(workspace: Workspace, entity: str) -> list[Entry]:
    """Every entry of any revision, one of each form in each category, the newest first."""
    found: dict[tuple[str, str], Entry] = {}
    for _, data in workspace.store.replay(entity):
        document = _readable(workspace, data)
        for entry in document.entries if document else ():
            found.pop((entry.category, entry.raw), None)
            found[entry.category, entry.raw] = entry
    return list(reversed(found.values()))


def _redaction(workspace: Workspace, entity: str, bodies: set[str]) -> Callable[[bytes], bytes]:
    """What takes the entries with these bodies out of any bytes of an entity, and leaves all others as they are."""
    forms = _forms_of(workspace, entity, bodies)

    def redact(data: bytes) -> bytes:
        document = _readable(workspace, data)
        if document is None:
            for form in forms:  # no entries can be found in it, so the text goes wherever it stands
                data = data.replace(form, _PURGED)
            return data
        text = document.text
        for entry in reversed(document.entries):
            if entry.body in bodies:
                text = text[: entry.start] + _PURGED.decode() + text[entry.end :]
        return text.encode()

    return redact


def _forms_of(workspace: Workspace, entity: str, bodies: set[str]) -> list[bytes]:
    """How the bodies are written in an entity, now and in its past: tags and escapes may differ. The longest first."""
    forms: dict[bytes, None] = {}
    for data in [*(data for _, data in workspace.store.replay(entity)), workspace.store.peek(entity)]:
        document = _readable(workspace, data)
        for entry in document.entries if document else ():
            if entry.body in bodies:
                forms[entry.raw.encode()] = None
    return sorted(forms, key=len, reverse=True)


def _readable(workspace: Workspace, data: bytes) -> Document | None:
    try:
        return workspace.parse(data)
    except (NotUtf8Error, TooLargeError):
        return None


def _remove(workspace: Workspace, entity: str, bodies: set[str]) -> None:
    """Take the entries out of the file itself, as a revision of their own."""

    def update(current: Current) -> bytes:
        document = workspace.parse(current.data)
        while entry := next((entry for entry in document.entries if entry.body in bodies), None):
            document = remove_entry(document, entry).document
        return document.to_bytes()

    workspace.store.commit(entity, None, update, Change(op="purge", agent="person"))
