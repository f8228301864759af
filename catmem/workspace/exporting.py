"""Memory files as other programs read them: typed JSON, the flat file of Hermes Agent, plain Markdown."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from catmem.config.profile import profile_names
from catmem.errors import WouldOverwriteError
from catmem.files import os_errors, replace_file
from catmem.model.document import parse
from catmem.model.splice import composed
from catmem.model.version import Version
from catmem.names import FILE_NAMES, TARGETS, UNCATEGORIZED
from catmem.store.row_copies import copy_text
from catmem.text import printable_json
from catmem.workspace.init import is_there
from catmem.workspace.root import entities_of_each
from catmem.workspace.seen_entry import value_texts
from catmem.workspace.snapshots import take_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from catmem.model.document import Document, Entry
    from catmem.workspace.root import Root

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
    """The files that the profiles have, whole, hidden categories included: an export is for people.

    Raises ``UnknownNameError`` and ``UnreadableError``, and ``EditError`` (``not_possible``) for a text that no flat
    file holds.
    """
    made: list[Exported] = []
    for profile in profiles:
        missing = workspace.missing_files(profile)
        for each in TARGETS if target is None else (target,):
            if workspace.path(profile, each) not in missing:
                document = workspace.view(profile, each).document
                made.append(_exported(workspace, profile, each, document, form))
    return made


def _exported(workspace: Root, profile: str, target: str, document: Document, form: Form) -> Exported:
    said = document.form(document.title, document.by_category, workspace.problems(document))
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
    versions = [Version.of(entry)._replace(category=UNCATEGORIZED) for entry in document.entries]
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


def write_export(workspace: Root, made: Sequence[Exported], folder: Path, *, overwrite: bool = False) -> list[str]:
    """Write the files of an export below ``folder``, and give the names of those that were written.

    A file with the same content stays. Raises ``WouldOverwriteError`` for others, unless ``overwrite``, and always for
    a memory file of the root; then nothing was written. Raises ``UnreadableError`` (``not_writable``).
    """
    changed = [each for each in made if not is_there(folder / each.name, each.text.encode())]
    own = set(_memory_files(workspace))
    in_the_way = [
        each.name
        for each in changed
        if os.path.realpath(folder / each.name) in own or (not overwrite and os.path.lexists(folder / each.name))
    ]
    if in_the_way:
        raise WouldOverwriteError(
            folder,
            in_the_way,
            "No export replaces a memory file of the root: choose another folder."
            if own.intersection(os.path.realpath(folder / name) for name in in_the_way)
            else "Choose another folder, or replace them with --overwrite.",
        )
    for each in changed:
        path = folder / each.name
        with os_errors(
            "cannot be written",
            path=path,
            hint="Choose a folder that this user may write. Files that were written before stay.",
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, each.text.encode())
    return [each.name for each in changed]


def write_snapshot(workspace: Root, path: Path, *, overwrite: bool = False) -> int:
    """Write a snapshot of all rows of the root to ``path``; returns their number. Raises as ``write_export``."""
    made = take_snapshot(workspace)
    text = copy_text(made).decode()
    write_export(workspace, [Exported("", "", made, path.name, text)], path.absolute().parent, overwrite=overwrite)
    return len(made["entries"])


def _memory_files(workspace: Root) -> Iterator[str]:
    for entity in entities_of_each(workspace).names:
        yield os.path.realpath(workspace.path(*entity.split("/")))
    # Where the files are of a profile that is not right is not known; they are where they are by default, most likely.
    for name in profile_names(workspace.config.profiles_dir):
        yield from (os.path.realpath(workspace.config.home(name) / file) for file in FILE_NAMES.values())
