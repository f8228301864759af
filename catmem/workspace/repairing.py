"""Mend a memory file that holds what no tool wrote: bytes that are no UTF-8, or an entry over the limit.

A plan is shown first and changes nothing. Applying it keeps a copy of the file as it was beside it, and writes one
revision.
"""

from __future__ import annotations

import codecs

from catmem.config.config import DeclaredEntity
from catmem.entities.contents import content_of
from catmem.errors import EditError, NotUtf8Error, UnreadableError
from catmem.model.document import Document, Entry
from catmem.model.edit import add_entry, replace_entry
from catmem.store.contract import Change
from catmem.workspace.change_plan import ChangePlan, FileChange, write_file
from catmem.workspace.history import entity_of, limit_of_entity
from catmem.workspace.root import Root
from catmem.workspace.upkeep import lasting_store


def plan_repair(workspace: Root, entity: str) -> ChangePlan:
    """What would mend the file of an entity."""
    name = entity_of(workspace, entity)
    data = workspace.store.peek(name)
    if (declared := workspace.config.entities.get(name)) is not None:
        _refuse_declared(workspace, declared, data)
    try:
        document = workspace.parse(data)
    except NotUtf8Error as error:
        message = f"{error.message}; its bytes that are no UTF-8 would be read as Windows-1252"
        return _plan(name, data, data.decode(errors=_AS_WINDOWS).encode(), message, "not_utf8")
    limit = limit_of_entity(workspace, name)
    most = min(document.limits.entry_chars, limit) if limit else document.limits.entry_chars
    large = [entry for entry in document.entries if len(entry.raw) > most]
    if not large:
        return _plan(name, data, data, "nothing to repair: tools can write to all of it", None)
    sizes = ", ".join(f"line {document.line(entry.start)} ({len(entry.raw):,} characters)" for entry in large)
    message = f"entries over the limit of {most:,} characters: {sizes}; they would be split at blank lines, else at "
    while each := next((entry for entry in document.entries if len(entry.raw) > most), None):
        document = _split(most, document, each)
    return _plan(name, data, document.to_bytes(), f"{message}line ends", "entry_too_large")


def _plan(entity: str, old: bytes, new: bytes, note: str, reason: str | None) -> ChangePlan:
    return ChangePlan((FileChange(None, entity, old, new, about={"reason": reason}),), (note,))


def _refuse_declared(workspace: Root, declared: DeclaredEntity, data: bytes) -> None:
    """Raise what is wrong with a declared entity, and how a person mends it; ``no_entries`` if nothing is."""
    try:
        content_of(declared, data)
    except UnreadableError as error:
        error.hint = f"It is in {workspace.store.place(declared.name)}, as it was. {error.hint}"
        raise
    message = f"{declared.name} has no entries to repair: it is a text or a JSON value, and can be read"
    hint = f"Write its content anew: catmem write {declared.name} FILE --expected REVISION."
    raise EditError(message, code="no_entries", hint=hint)


def write_repaired(workspace: Root, planned: FileChange) -> FileChange:
    """Write a repair, with a copy of what there was. Raises ``DriftError`` if the file is another one by now."""
    lasting_store(workspace).backup(str(planned.entity))
    return write_file(workspace, planned, Change(op="repair"))


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    """A byte that is no UTF-8, read as Windows-1252, or as Latin-1 where that has nothing; and where to go on."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.start + 1]
    return bad.decode("cp1252", errors="ignore") or bad.decode("latin-1"), error.start + 1


_AS_WINDOWS = "catmem.windows-1252"
codecs.register_error(_AS_WINDOWS, _as_windows)


def _split(most: int, document: Document, entry: Entry) -> Document:
    room = most - (len(entry.raw) - len(entry.body))
    if room < 1:
        raise EditError("its tags alone are over the limit", code="bad_remedy", hint="Shorten them in an editor.")
    first, *rest = _pieces(entry.body, room)
    edited = replace_entry(document, entry, first)
    for piece in rest:
        tags = entry.tags
        edited = add_entry(edited.document, piece, category=entry.category, tags=tags, after=edited.entry)
    return edited.document


def _pieces(body: str, room: int) -> list[str]:
    """The body in pieces of at most ``room`` characters less what escapes may add, cut at blank lines if possible."""
    room = max(1, room - room // 10)
    pieces: list[str] = []
    while len(body) > room:
        cut = max(body.rfind("\n\n", 0, room), 0) or max(body.rfind("\n", 0, room), 0) or body.rfind(" ", 0, room)
        cut = cut if cut > 0 else room
        piece = body[:cut].strip()
        if piece:
            pieces.append(piece)
        body = body[cut:].strip()
    return [*pieces, body] if body else pieces
