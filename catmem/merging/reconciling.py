"""A recovery copy held against the file it was made of: what the file lacks of it, and how that comes back.

Entries are only added, and tags set: no word of the file goes. What the file says in other words gets both wordings,
of which a person removes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catmem.config.profile import limit_of
from catmem.errors import EditError, NotUtf8Error
from catmem.files import read_bounded
from catmem.model.document import Entry
from catmem.model.pairing import pair_entries
from catmem.names import parts_of
from catmem.store.contract import PERSON, Change
from catmem.store.files.retention import copied_name
from catmem.text import MAX_FILE_BYTES
from catmem.workspace.formatting import entity_at
from catmem.workspace.workspace import Workspace
from catmem.writing import gate
from catmem.writing.drift_guard import ACCEPTED, text_digest, unaccepted
from catmem.writing.request import Operation
from catmem.writing.written import Written


@dataclass(frozen=True, slots=True)
class Difference:
    """An entry of the copy that the file lacks, or has in other words or with other tags: then that is ``now``."""

    number: int
    copy: Entry
    now: Entry | None

    @property
    def state(self) -> str:
        """``missing`` or ``changed``."""
        return "missing" if self.now is None else "changed"

    def __json__(self) -> dict[str, Any]:
        copy, now = ({"body": each.body, "tags": each.tags} if each else None for each in (self.copy, self.now))
        place = {"number": self.number, "state": self.state, "category": self.copy.category}
        return {**place, "copy": copy, "file": now}

    def operation(self) -> Operation:
        """What brings it over."""
        if self.now is not None and self.now.body == self.copy.body:
            return Operation("replace", old_text=self.now.id, category=self.now.category, tags=self.copy.tags)
        tags = {"created": None, **self.copy.tags}
        return Operation("add", content=self.copy.body, category=self.copy.category, tags=tags)


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """What a file lacks of a copy. ``digest`` is that of the file, which has to be the same still when it is written.

    ``over`` are the entries of the file for which no agent changes it: longer than the file may be, and not accepted.
    """

    entity: str
    copy: Path
    digest: str
    differences: tuple[Difference, ...]
    over: tuple[Entry, ...] = ()

    def accept(self, workspace: Workspace) -> None:
        """Say as a person that the entries over the limit may stay, so that agents change the file again."""
        note = {ACCEPTED: [text_digest(each) for each in self.over]}
        change = Change(op="accept", agent=PERSON, note=note, keeps_note=True)
        gate.commit(workspace, self.entity, None, lambda current: current.data, change)

    def write_chosen(self, workspace: Workspace, chosen: Sequence[Difference], *, dry_run: bool = False) -> Written:
        """Write what is chosen as one revision. Raises what ``Workspace.write`` raises."""
        owner, target = parts_of(self.entity)
        operations = [each.operation() for each in chosen]
        return workspace.write(
            owner, operations, target=target, expected=self.digest, dry_run=dry_run, on_stale="refuse"
        )


def reconcile(workspace: Workspace, path: str | Path) -> Reconciliation:
    """Hold the copy at ``path`` against its file. Raises ``EditError`` (``not_a_copy``), and as a read does."""
    copy = Path(path)
    name = copied_name(copy.name)
    entity = None if name is None else entity_at(workspace, copy.parent / name)
    if entity is None:
        raise EditError(
            "is no recovery copy of a memory file of this root",
            code="not_a_copy",
            path=copy,
            hint="Give a file such as homes/trinity/USER.md.bak.20261121T120000Z, and with --root the root that it "
            "lies in.",
        )
    data = read_bounded(copy, MAX_FILE_BYTES, follow_symlink=False)
    try:
        old = workspace.parse(data).entries
    except NotUtf8Error as error:
        error.path, error.hint = str(copy), "Nothing was written. Look at it with an editor; catmem reads UTF-8."
        raise
    owner, target = parts_of(entity)
    reading = workspace.read(owner, target)
    now = reading.document.entries
    there = {(entry.category, entry.body) for entry in now}
    pairs = pair_entries(old, now)
    differences: list[Difference] = []
    for index, entry in enumerate(old):
        paired = now[pairs[index]] if index in pairs else None
        if paired is None and (entry.category, entry.body) in there:
            continue  # twice in the copy, and once in the file
        if paired is None or paired.body != entry.body or not entry.tags.items() <= paired.tags.items():
            differences.append(Difference(len(differences) + 1, entry, paired))
    limit = limit_of(workspace.profile(owner), target, workspace.config)
    over = unaccepted(reading.document, limit, entity, workspace.store)
    return Reconciliation(entity, copy, reading.digest, tuple(differences), tuple(over))
