"""Snapshots of all rows of a root: taken on demand, and brought back entity by entity.

They have the form of the copies that a database keeps of an external change (``store/sql/row_copies``). Where entities
are files, the rows are made of them.
"""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.errors import EditError, SourceError
from catmem.files import read_bounded
from catmem.store.codec import FoundRow
from catmem.store.contract import PERSON, Change, Rows
from catmem.store.row_copies import MOST_BYTES, copy_digest, row_copy, rows_of
from catmem.workspace.history import put_back
from catmem.workspace.root import entities_of_each
from catmem.workspace.rows import RowCodec
from catmem.workspace.seen_entry import texts_of
from catmem.workspace.stores import tier_of
from catmem.writing import gate
from catmem.writing.terms import check_threats

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from catmem.store.codec import Codec, EditedRows
    from catmem.workspace.root import Root
    from catmem.writing.written import Written


class RowLeftOut(NamedTuple):
    """What a snapshot has and the root cannot take: of which entity, which row by its ``id`` or ``None`` for all."""

    entity: str
    row: int | None
    why: str


class BroughtBack(NamedTuple):
    """What bringing a snapshot back wrote, or would write; which entities were so already; and what was left out."""

    timestamp: str
    written: Sequence[Written]
    same: Sequence[str]
    left_out: Sequence[RowLeftOut]


def take_snapshot(workspace: Root) -> dict[str, Any]:
    """All rows of a root as they are now, as JSON-ready data.

    Raises ``UnreadableError`` for a file that cannot be rows, and ``StoreError``.
    """
    return row_copy(workspace.store.all_rows() or _rows_of_files(workspace))


def _rows_of_files(workspace: Root) -> Rows:
    codec = _codec(workspace)
    rows: list[dict[str, Any]] = []
    names = entities_of_each(workspace).names
    for entity in names:
        data = workspace.read(*entity.split("/")).document.to_bytes()
        for number, row in enumerate(codec.rows(entity, data), 1):
            rows.append({"entity": entity, "id": number, **row._asdict(), "tags": json.loads(row.tags)})
    return Rows(rows, dict.fromkeys(names, (0, 0)))


def _codec(workspace: Root) -> RowCodec:
    return RowCodec(workspace.parse, tier_of(workspace.profile))


def read_snapshot(path: Path) -> dict[str, Any]:
    """What a snapshot says. Raises ``UnreadableError``, and ``SourceError`` for another file or an edited one."""
    data = read_bounded(path, MOST_BYTES)
    try:
        said = json.loads(data)
        known, whole = str(said["digest"]), copy_digest(said)
        rows = said["entries"]
        is_one = isinstance(said["entities"], dict) and isinstance(rows, list) and "timestamp" in said
        is_one = is_one and all(isinstance(row, dict) and isinstance(row.get("entity"), str) for row in rows)
    except (ValueError, RecursionError, TypeError, KeyError):
        is_one = False
    if not is_one:
        raise SourceError(
            "is no snapshot of rows, or one that was cut",
            path=path,
            hint="Nothing was changed. Name a memory.bak.*.json, or what 'catmem export --snapshot' wrote.",
        )
    if known != whole:
        raise SourceError(
            f"the snapshot was edited: it says the digest {known[:19]}…, and what it holds has {whole[:19]}…",
            code="edited",
            path=path,
            hint="Nothing was changed. Take another copy of it, or make the changes by 'catmem add' and 'replace'.",
        )
    return said  # type: ignore[no-any-return]


def bring_back(  # noqa: PLR0913 - each is a choice of the caller's, by keyword
    workspace: Root,
    said: Mapping[str, Any],
    *,
    profile: str | None = None,
    target: str | None = None,
    dry_run: bool = False,
    allow_secret: bool = False,
) -> BroughtBack:
    """Make the entities what a snapshot says of them: one revision for each that differs.

    Only those that it names, perhaps of one ``profile`` or ``target``; all are looked at before the first is written.
    Raises ``EditError`` (``secret``) before anything is written, and ``RefusedError`` for one that has changed
    meanwhile; those before it stay written. ``allow_secret`` is a person's yes to a secret that would come back.
    """
    here = entities_of_each(workspace).names
    named = [
        entity
        for entity in sorted(said["entities"])
        if profile in {None, entity.partition("/")[0]} and target in {None, entity.partition("/")[2]}
    ]
    left_out = [RowLeftOut(entity, None, "no profile of this root has it") for entity in named if entity not in here]
    changes: dict[str, tuple[str, bytes]] = {}
    same: list[str] = []
    for entity in (each for each in named if each in here):
        current = workspace.store.read(entity)
        rows = rows_of(said, entity)
        edited = edited_by(_codec(workspace), entity, current.data, rows)
        left_out += [RowLeftOut(entity, rows[number].get("id"), why) for number, why in edited.bad]
        if edited.data == current.data:
            same.append(entity)
        else:
            with gate.checks(workspace, entity, op="restore", agent=PERSON, recorded=not dry_run):
                _check_new_texts(workspace, entity, current.data, edited.data, allow_secret=allow_secret)
            changes[entity] = current.digest, edited.data
    written: list[Written] = []
    change = Change(op="restore", agent=PERSON, note={"snapshot": said["timestamp"]})
    for entity, (seen, data) in changes.items():
        attempt = gate.attempt(workspace, entity, op="restore", agent=PERSON, prev=seen, recorded=not dry_run)
        with attempt as trying:
            written.append(put_back(workspace, trying, data, seen, change, dry_run=dry_run))
    return BroughtBack(said["timestamp"], written, same, left_out)


def _check_new_texts(workspace: Root, entity: str, old: bytes, new: bytes, *, allow_secret: bool) -> None:
    """Raise ``EditError`` (``secret``) for a secret that ``old`` does not hold and ``new`` would."""
    before, after = (
        dict.fromkeys(
            [*(each.title for each in read.sections), *(text for each in read.entries for text in texts_of(each))]
        )
        for read in map(workspace.parse, (old, new))
    )
    try:
        texts = [text for text in after if text not in before]
        check_threats(texts, workspace.config, to_agent=False, allow_secret=allow_secret)
    except EditError as error:
        error.path = entity
        raise


def edited_by(codec: Codec, entity: str, data: bytes, rows: Sequence[Mapping[str, Any]]) -> EditedRows:
    """What the rows of a snapshot make of an entity's bytes; what they do not touch stays."""
    found = list(map(_found, count(), rows))
    # What comes back before the first entry of a category is put behind it; the second time that moves.
    return codec.edited(entity, codec.edited(entity, data, found).data, found)


def _found(number: int, row: Mapping[str, Any]) -> FoundRow:
    tags = row.get("tags")
    named = {name: row.get(name) for name in ("category", "title", "tier", "content", "created_at", "mark")}
    return FoundRow(id=number, position=number, tags=tags if isinstance(tags, str) else json.dumps(tags), **named)
