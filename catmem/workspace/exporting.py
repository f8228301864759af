"""Memory for other programs: JSON, flat files and plain Markdown; and snapshots of all rows, which can come back."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from catmem.config.access import all_problems
from catmem.errors import NotUtf8Error, UnreadableError, WouldOverwriteError, errors_at
from catmem.files import os_errors, read_bounded, replace_file
from catmem.model.document import Document, Entry, Version, parse
from catmem.model.splice import composed
from catmem.names import FILE_NAMES, TARGETS, UNCATEGORIZED, parts_of
from catmem.store.contract import PERSON, Rows
from catmem.store.table_rows import MOST_BYTES, EditedRows, FoundRow, copy_digest, copy_text, row_copy, rows_of
from catmem.text import printable_json
from catmem.workspace.change_plan import ChangePlan, FileChange
from catmem.workspace.init import has_bytes
from catmem.workspace.root import Root, entities_of_each
from catmem.workspace.rows import RowCodec
from catmem.workspace.seen_entry import texts_of, value_texts
from catmem.workspace.stores import tier_of
from catmem.writing import gate
from catmem.writing.policy import check_threats

Form = Literal["json", "hermes", "markdown"]


@dataclass(frozen=True, slots=True)
class Exported:
    """One file of a profile in a form; ``lost`` says what the form has no place for."""

    profile: str
    target: str
    document: dict[str, Any]
    """Its JSON form (``schemas/document.schema.json``)."""
    name: str
    """Where it goes, from the folder of the export."""
    text: str
    lost: tuple[str, ...] = ()


def export(workspace: Root, profiles: Sequence[str], form: Form, target: str | None = None) -> list[Exported]:
    """The files that the profiles have, whole, hidden categories included: an export is for people."""
    made: list[Exported] = []
    for profile in profiles:
        missing = workspace.missing_files(profile)
        for each in TARGETS if target is None else (target,):
            if workspace.path(profile, each) not in missing:
                try:
                    document = workspace.view(profile, each).document
                except NotUtf8Error as error:
                    error.hint = f"Nothing was written. {error.hint}"
                    raise
                made.append(_exported(workspace, profile, each, document, form))
    return made


def _exported(workspace: Root, profile: str, target: str, document: Document, form: Form) -> Exported:
    said = document.form(document.title, document.by_category, all_problems(document, workspace.config))
    name = f"{profile}/{FILE_NAMES[target]}"
    if form == "json":
        text = printable_json(said, indent=2) + "\n"
        return Exported(profile, target, said, f"{name.removesuffix('.md')}.json", text)
    if form == "markdown":
        return Exported(profile, target, said, name, markdown(document))
    lost = []
    if document.sections:
        lost.append(f"the categories of {sum(entry.category != UNCATEGORIZED for entry in document.entries)} entries")
    if document.title is not None:
        lost.append("the title")
    return Exported(profile, target, said, name, flat(document), tuple(lost))


def flat(document: Document) -> str:
    """The entries of a document, tag blocks and all, with ``§`` lines between them and nothing else."""
    versions = [Version.from_entry(entry)._replace(category=UNCATEGORIZED) for entry in document.entries]
    # Hermes Agent writes no newline at the end.
    return composed(versions, {}, parse("")).text.rstrip("\n")


def markdown(document: Document) -> str:
    """A document as Markdown for people: a heading for each category, a bullet for each entry, its tags below."""
    titles = {section.category: section.title for section in reversed(document.sections)}
    parts = [] if document.title is None else [f"# {document.title}\n"]
    for category, entries in document.by_category.items():
        heading = [f"## {titles[category]}\n"] if category in titles else []
        parts.append("\n".join([*heading, "".join(_bullet(entry) for entry in entries)]))
    return "\n".join(parts)


def _bullet(entry: Entry) -> str:
    first, *rest = entry.body.split("\n")
    tags = ", ".join(f"{key}: {', '.join(value_texts([value]))}" for key, value in entry.tags.items())
    lines = [f"- {first}", *(f"  {line}".rstrip() for line in rest), *(["", f"  *({tags})*"] if tags else [])]
    return "".join(f"{line}\n" for line in lines)


def write_export(files: Mapping[str, str], folder: Path) -> list[str]:
    """Write the texts of an export below ``folder``, over no file, and give the names of those that were written."""
    changed = {name: text.encode() for name, text in files.items() if not has_bytes(folder / name, text.encode())}
    if there := [name for name in changed if os.path.lexists(folder / name)]:
        raise WouldOverwriteError(folder, there)
    for name, data in changed.items():
        hint = "Choose a folder that this user may write. Files that were written before stay."
        with os_errors("cannot be written", path=folder / name, hint=hint):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            replace_file(folder / name, data)
    return [*changed]


def write_snapshot(workspace: Root, path: Path) -> int:
    """Write a snapshot of all rows of the root to ``path``; returns their number. Raises as ``write_export``."""
    made = row_copy(workspace.store.all_rows() or _rows_of_files(workspace))
    try:
        write_export({path.name: copy_text(made).decode()}, path.absolute().parent)
    except WouldOverwriteError as error:
        error.path, error.hint = str(path), "Nothing was written. Choose another file, or move this one away first."
        raise
    return len(made["entries"])


def _rows_of_files(workspace: Root) -> Rows:
    codec = RowCodec(workspace.parse, tier_of(workspace.profile))
    rows: list[dict[str, Any]] = []
    names = entities_of_each(workspace).paths
    for entity in names:
        data = workspace.read(*parts_of(entity)).document.to_bytes()
        for number, row in enumerate(codec.rows(entity, data), 1):
            rows.append({"entity": entity, "id": number, **row._asdict(), "tags": json.loads(row.tags)})
    return Rows(rows, dict.fromkeys(names, (0, 0)))


def read_snapshot(path: Path) -> dict[str, Any]:
    """What a snapshot says. Raises ``UnreadableError``, also for another file or an edited one."""
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
        raise UnreadableError(
            "is no snapshot of rows, or one that was cut",
            code="other_schema",
            path=path,
            hint="Nothing was changed. Name a memory.bak.*.json, or what 'catmem export --snapshot' wrote.",
        )
    if known != whole:
        raise UnreadableError(
            f"the snapshot was edited: it says the digest {known[:19]}…, and what it holds has {whole[:19]}…",
            code="edited",
            path=path,
            hint="Nothing was changed. Take another copy of it, or make the changes by 'catmem add' and 'replace'.",
        )
    return said  # type: ignore[no-any-return]


def plan_snapshot(  # noqa: PLR0913 - each is a choice of the caller's, by keyword
    workspace: Root,
    said: Mapping[str, Any],
    *,
    profile: str | None = None,
    target: str | None = None,
    allow_secret: bool = False,
    dry_run: bool = False,
) -> ChangePlan:
    """What makes the entities say what a snapshot does. Raises ``EditError`` (``secret``) for a secret that is new."""
    changes: list[FileChange] = []
    left_out: list[str] = []
    here = entities_of_each(workspace).paths
    for entity in sorted(said["entities"]):
        owner, file = parts_of(entity)
        if profile not in {None, owner} or target not in {None, file}:
            continue
        if entity not in here:
            left_out.append(f"left out: {entity}: no profile of this root has it")
            continue
        old, rows = workspace.store.read(entity).data, rows_of(said, entity)
        edited = edited_by(RowCodec(workspace.parse), entity, old, rows)
        left_out += [f"left out: {entity}, row {rows[number].get('id')}: {why}" for number, why in edited.bad]
        with gate.checks(workspace, entity, op="restore", agent=PERSON, recorded=not dry_run):
            _check_new_texts(workspace, entity, old, edited.data, allow_secret=allow_secret)
        changes.append(FileChange(None, entity, old, edited.data))
    return ChangePlan(tuple(changes), tuple(left_out))


def _check_new_texts(workspace: Root, entity: str, old: bytes, new: bytes, *, allow_secret: bool) -> None:
    """Raise ``EditError`` (``secret``) for a secret that ``old`` does not hold and ``new`` would."""
    before, after = (
        dict.fromkeys(
            [*(each.title for each in read.sections), *(text for each in read.entries for text in texts_of(each))]
        )
        for read in map(workspace.parse, (old, new))
    )
    with errors_at(entity):
        texts = [text for text in after if text not in before]
        check_threats(texts, workspace.config, to_agent=False, allow_secret=allow_secret)


def edited_by(codec: RowCodec, entity: str, data: bytes, rows: Sequence[Mapping[str, Any]]) -> EditedRows:
    """What the rows of a snapshot make of an entity's bytes; what they do not touch stays."""
    found = codec.known([_found(number, row) for number, row in enumerate(rows)])
    # What comes back before the first entry of a category is put behind it; the second time that moves.
    return codec.edited(entity, codec.edited(entity, data, found).data, found)


def _found(number: int, row: Mapping[str, Any]) -> FoundRow:
    tags = row.get("tags")
    named = {name: row.get(name) for name in ("category", "title", "tier", "content", "created_at", "mark")}
    return FoundRow(id=number, position=number, tags=tags if isinstance(tags, str) else json.dumps(tags), **named)
