"""Mend a memory file that holds what no tool wrote: bytes that are no UTF-8, or an entry over the limit.

A plan is shown first and changes nothing. Applying it keeps a copy of the file as it was beside it, and writes one
revision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from catmem.config.config import DeclaredEntity
from catmem.entities.contents import content_of
from catmem.errors import DriftError, EditError, NotUtf8Error, StoreError, UnreadableError
from catmem.files import os_errors
from catmem.model.document import Document, Entry
from catmem.model.edit import add_entry, remove_entry, replace_entry
from catmem.store.contract import PERSON, Change, Current
from catmem.workspace.history import entity_of, limit_of_entity, written_bytes
from catmem.workspace.root import Root
from catmem.workspace.stores import memory_files
from catmem.workspace.upkeep import lasting_store
from catmem.writing import gate
from catmem.writing.written import Written, crowded_out

Remedy: TypeAlias = Literal["split", "move", "keep"]
"""``split`` an entry over the limit into several; ``move`` what does not fit to a file beside; ``keep`` all the text
where it is (bytes that are no UTF-8 are read as Windows-1252)."""

_REMEDIES: dict[str, tuple[Remedy, ...]] = {"not_utf8": ("keep", "move"), "entry_too_large": ("split", "move", "keep")}
_MOVED = ".moved.md"


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """What a repair would do, or did, with what it has ``written``.

    ``reason`` is ``not_utf8``, ``entry_too_large``, or ``None`` for a file that is fine.
    """

    entity: str
    reason: str | None
    how: Remedy | None
    before: bytes
    after: bytes
    moved: bytes
    moved_to: Path | None
    message: str
    written: Written | None = None

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after

    def __json__(self) -> dict[str, Any]:
        """The plan as JSON-ready data, without the texts."""
        said: dict[str, Any] = {"entity": self.entity, "reason": self.reason, "how": self.how}
        said |= {"choices": _REMEDIES.get(self.reason or "", ()), "changes": self.changes}
        return {**said, "moved_to": self.moved_to if self.moved else None, "message": self.message}


def plan_repair(workspace: Root, entity: str, how: Remedy | None = None) -> RepairPlan:
    """What would mend the file of an entity."""
    name = entity_of(workspace, entity)
    data = workspace.store.peek(name)
    if (declared := workspace.config.entities.get(name)) is not None:
        _refuse_declared(workspace, declared, data)
    owner, _, target = name.partition("/")
    beside = _beside(workspace, owner, target)
    try:
        document = workspace.parse(data)
    except NotUtf8Error as error:
        chosen = _chosen("not_utf8", how)
        after, moved = (_as_utf8(data), b"") if chosen == "keep" else _without_bad_lines(data)
        what = f"the lines that are no UTF-8 would be moved to {beside.name}"
        if chosen == "keep":
            what = "its bytes that are no UTF-8 would be read as Windows-1252"
        return RepairPlan(name, "not_utf8", chosen, data, after, moved, beside, f"{error.message}; {what}")
    limit = limit_of_entity(workspace, name)
    most = min(document.limits.entry_chars, limit) if limit else document.limits.entry_chars
    large = [entry for entry in document.entries if len(entry.raw) > most]
    if not large:
        return RepairPlan(name, None, None, data, data, b"", None, "nothing to repair: tools can write to all of it")
    chosen = _chosen("entry_too_large", how)
    sizes = ", ".join(f"line {document.line(entry.start)} ({len(entry.raw):,} characters)" for entry in large)
    message = f"entries over the limit of {most:,} characters: {sizes}; "
    after, moved = data, b""
    if chosen == "keep":
        message += "they stay as they are, and tools change every entry but these; raise the limit to have them changed"
    elif chosen == "move":
        message += f"they would be moved to {beside.name}"
        moved = b"\n\n".join(entry.raw.encode() for entry in large) + b"\n"
        after = _mended(document, most, lambda now, entry: remove_entry(now, entry).document)
    else:
        message += "they would be split at blank lines, else at line ends"
        after = _mended(document, most, partial(_split, most))
    moved_to = beside if chosen == "move" else None
    return RepairPlan(name, "entry_too_large", chosen, data, after, moved, moved_to, message)


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


def _beside(workspace: Root, owner: str, target: str) -> Path:
    """The file to which a repair moves what does not fit: beside the memory file, or in the root."""
    path = memory_files(workspace.config, workspace.profile(owner)).get(target)
    return workspace.root / f"{owner}-{target}{_MOVED}" if path is None else path.with_name(path.stem + _MOVED)


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
            _keep_moved(plan)
        written = trying.commit(None, update, Change(op="repair", note={"how": plan.how}))
    limit = limit_of_entity(workspace, plan.entity)
    done = written_bytes(plan.entity, written, plan.before, plan.after, limit)
    return replace(plan, written=replace(done, crowded=crowded_out(workspace, done, None)))


def _keep_moved(plan: RepairPlan) -> None:
    """What leaves the file is on the disk before it leaves."""
    if not plan.moved or plan.moved_to is None:
        return
    with (
        os_errors(
            "what would be moved cannot be kept",
            path=plan.moved_to,
            hint="Nothing was written. Check the rights of the folder and the space on the disk.",
            kind=StoreError,
        ),
        plan.moved_to.open("ab") as beside,
    ):
        beside.write(plan.moved)


def _chosen(reason: str, how: Remedy | None) -> Remedy:
    choices = _REMEDIES[reason]
    if how is not None and how not in choices:
        hint = f"Choose one of {', '.join(choices)}."
        raise EditError(f"{how} does not mend this ({reason})", code="bad_remedy", hint=hint)
    return how or choices[0]


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


def _without_bad_lines(data: bytes) -> tuple[bytes, bytes]:
    kept: list[bytes] = []
    moved: list[bytes] = []
    for line in data.split(b"\n"):
        try:
            line.decode()
        except UnicodeDecodeError:
            moved.append(line)
        else:
            kept.append(line)
    return b"\n".join(kept), b"\n".join(moved) + b"\n"


def _mended(document: Document, most: int, mend: Callable[[Document, Entry], Document]) -> bytes:
    while large := next((entry for entry in document.entries if len(entry.raw) > most), None):
        document = mend(document, large)
    return document.to_bytes()


def _split(most: int, document: Document, entry: Entry) -> Document:
    room = most - (len(entry.raw) - len(entry.body))
    if room < 1:
        raise EditError("its tags alone are over the limit", code="bad_remedy", hint="Choose move or keep.")
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
