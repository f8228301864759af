"""Forget an entry for good: from its file, its history, what lies beside, and the copies in other profiles' files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from catmem.errors import AmbiguousError, NoMatchError, NotUtf8Error
from catmem.model.edit import remove_entry
from catmem.policy.schema import shown
from catmem.service.history import all_entities, entity_of
from catmem.service.matching import find_entry
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
    """What was forgotten, or would be: the distinct bodies, and where. ``files`` are told from the root."""

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

    The entry is the one that holds ``old_text`` now; if none does, all that ever did. The same text in the files of
    other profiles (a seeded copy) goes too. Raises ``NoMatchError`` and ``AmbiguousError``.
    """
    store = file_store(workspace)
    name = entity_of(workspace, entity)
    entries = _entries_to_forget(workspace, name, old_text)
    forms = sorted({entry.raw.encode() for entry in entries}, key=len, reverse=True)
    bodies = {entry.body for entry in entries}
    entities, files, revisions = [], [], 0
    for each in [name, *(other for other in all_entities(workspace) if other != name)]:
        own = list(forms) if each == name else []
        own += [found for found in _forms_of(workspace, each, bodies) if found not in own]
        held = sum(_redact(data, own) != data for _, data in store.replay(each))
        if not held and _redact(store.peek(each), own) == store.peek(each):
            continue
        entities.append(each)
        if dry_run:
            revisions += held
            continue
        _remove(workspace, each, bodies)
        erased = store.erase(each, _redaction(own))
        revisions += erased.revisions
        files += [os.path.relpath(path, workspace.root) for path in erased.paths]
    distinct = {(entry.category, entry.id): entry for entry in entries}
    return PurgeReport(tuple(entities), tuple(distinct.values()), revisions, tuple(files), dry_run)


def _entries_to_forget(workspace: Workspace, entity: str, old_text: str) -> list[Entry]:
    owner, _, target = entity.partition("/")
    document = workspace.read(owner, target).document
    try:
        now = find_entry(document, old_text, document.entries, document.entries, entity=entity, to_agent=False)
    except AmbiguousError as error:
        error.hint = "Nothing was forgotten. Give a longer piece of the text, or the id of the entry."
        raise
    except NoMatchError:
        return _past_entries(workspace, entity, old_text)
    return [
        now,
        *(entry for entry in _past_entries(workspace, entity, now.body, missing_ok=True) if entry.body == now.body),
    ]


def _past_entries(workspace: Workspace, entity: str, old_text: str, *, missing_ok: bool = False) -> list[Entry]:
    """Every entry, one of each form, that held the text in any revision."""
    found: dict[str, Entry] = {}
    for _, data in workspace.store.replay(entity):
        document = _readable(workspace, data)
        for entry in document.entries if document else ():
            if old_text.strip() in entry.body:
                found.setdefault(entry.raw, entry)
    if not found and not missing_ok:
        raise NoMatchError(
            f"no entry of {entity} holds {shown(old_text)}, and none ever did", hint="Nothing was forgotten."
        )
    return list(found.values())


def _forms_of(workspace: Workspace, entity: str, bodies: set[str]) -> list[bytes]:
    """How the bodies are written in an entity, now and in its past: tags and escapes may differ."""
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
    except NotUtf8Error:
        return None  # no entries to find in it; its bytes are looked through as they are


def _redact(data: bytes, forms: list[bytes]) -> bytes:
    for form in forms:
        data = data.replace(form, _PURGED)
    return data


def _redaction(forms: list[bytes]) -> Callable[[bytes], bytes]:
    return lambda data: _redact(data, forms)


def _remove(workspace: Workspace, entity: str, bodies: set[str]) -> None:
    """Take the entries out of the file itself, as a revision of their own."""

    def update(current: Current) -> bytes:
        document = workspace.parse(current.data)
        while entry := next((entry for entry in document.entries if entry.body in bodies), None):
            document = remove_entry(document, entry).document
        return document.to_bytes()

    workspace.store.commit(entity, None, update, Change(op="purge", agent="person"))
