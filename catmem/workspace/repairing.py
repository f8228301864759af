"""Mend a memory file that holds what no tool wrote: bytes that are no UTF-8, or an entry over the limit.

A plan is shown first and changes nothing. Applying it keeps a copy of the file as it was beside it, and writes one
revision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from catmem.config.config import DeclaredEntity
from catmem.entities.contents import content_of
from catmem.errors import DriftError, EditError, NotUtf8Error, UnreadableError
from catmem.model.document import Document, Entry
from catmem.model.edit import add_entry, replace_entry
from catmem.store.contract import PERSON, Change, Current
from catmem.workspace.history import entity_of, limit_of_entity, written_bytes
from catmem.workspace.root import Root
from catmem.workspace.upkeep import lasting_store
from catmem.writing import gate
from catmem.writing.written import Written, crowded_out


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """What a repair would do, or did, with what it has ``written``.

    ``reason`` is ``not_utf8``, ``entry_too_large``, or ``None`` for a file that is fine.
    """

    entity: str
    reason: str | None
    before: bytes
    after: bytes
    message: str
    written: Written | None = None
    __json__ = "entity reason changes message"

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after


def plan_repair(workspace: Root, entity: str) -> RepairPlan:
    """What would mend the file of an entity."""
    name = entity_of(workspace, entity)
    data = workspace.store.peek(name)
    if (declared := workspace.config.entities.get(name)) is not None:
        _refuse_declared(workspace, declared, data)
    try:
        document = workspace.parse(data)
    except NotUtf8Error as error:
        message = f"{error.message}; its bytes that are no UTF-8 would be read as Windows-1252"
        return RepairPlan(name, "not_utf8", data, _as_utf8(data), message)
    limit = limit_of_entity(workspace, name)
    most = min(document.limits.entry_chars, limit) if limit else document.limits.entry_chars
    large = [entry for entry in document.entries if len(entry.raw) > most]
    if not large:
        return RepairPlan(name, None, data, data, "nothing to repair: tools can write to all of it")
    sizes = ", ".join(f"line {document.line(entry.start)} ({len(entry.raw):,} characters)" for entry in large)
    message = f"entries over the limit of {most:,} characters: {sizes}; they would be split at blank lines, else at "
    return RepairPlan(name, "entry_too_large", data, _split_all(document, most), f"{message}line ends")


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


def apply_repair(workspace: Root, plan: RepairPlan) -> RepairPlan:
    """Make a planned repair. Raises ``DriftError`` if the file is no longer what the plan was made on."""

    def update(current: Current) -> bytes:
        if current.data != plan.before:
            hint = "Nothing was written. Make a new plan."
            raise DriftError(f"{plan.entity} was changed since the plan was made", hint=hint)
        return plan.after

    with gate.Attempt(workspace, plan.entity, "repair", PERSON) as trying:
        store = lasting_store(workspace)
        if plan.changes:
            store.backup(plan.entity)
        written = trying.commit(None, update, Change(op="repair"))
    limit = limit_of_entity(workspace, plan.entity)
    done = written_bytes(plan.entity, written, plan.before, plan.after, limit)
    return replace(plan, written=replace(done, crowded=crowded_out(workspace, done, None)))


def _as_utf8(data: bytes) -> bytes:
    """The same text in UTF-8: each byte that is none is read as Windows-1252, or as Latin-1 where that has nothing."""
    parts: list[str] = []
    while data:
        try:
            parts.append(data.decode())
            break
        except UnicodeDecodeError as error:
            bad = data[error.start : error.start + 1]
            good = data[: error.start].decode()
            parts += [good, bad.decode("cp1252", errors="ignore") or bad.decode("latin-1")]
            data = data[error.start + 1 :]
    return "".join(parts).encode()


def _split_all(document: Document, most: int) -> bytes:
    while large := next((entry for entry in document.entries if len(entry.raw) > most), None):
        document = _split(most, document, large)
    return document.to_bytes()


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
