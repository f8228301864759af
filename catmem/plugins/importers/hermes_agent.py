"""Hermes Agent: ``memories/USER.md`` and ``MEMORY.md`` of a home, entries with ``§`` lines between them."""

from __future__ import annotations

from pathlib import Path

from catmem.errors import UnreadableError, errors_at
from catmem.model.document import Document, parse
from catmem.names import FILE_NAMES, UNCATEGORIZED
from catmem.plugins.importers.source_files import (
    Imported,
    ImportedEntry,
    LeftOut,
    day_of_file,
    read_data,
    refuse_missing,
    within,
)

_TARGETS = {name: target for target, name in FILE_NAMES.items()}


def read(path: Path) -> Imported:
    """Read a home, its ``memories`` folder, or one of the files."""
    refuse_missing(path)
    entries: list[ImportedEntry] = []
    left_out: list[LeftOut] = []
    for file in _files(path):
        document, day = _document(file), day_of_file(file)
        titles = {section.category: section.title for section in reversed(document.sections)}
        if document.title is not None:
            left_out.append(LeftOut(file.name, "title", document.title, "the file that it goes to has its own"))
        for entry in document.entries:
            kind = None if entry.category == UNCATEGORIZED else titles[entry.category]
            place = f"{file.name}:{document.line(entry.start)}"
            target = _TARGETS.get(file.name)
            entries.append(ImportedEntry(entry.body, place, kind, entry.tags, target=target, day=day))
    return Imported(entries, left_out)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    inner = ("memories",) if (path / "memories").is_dir() else ()
    files = [within(path, *inner, name) for name in _TARGETS if path.joinpath(*inner, name).exists()]
    if not files:
        raise UnreadableError(
            "has no USER.md or MEMORY.md, and no memories folder with them",
            code="missing",
            path=path,
            hint="Name the home of a Hermes profile (~/.hermes, or ~/.hermes/profiles/NAME), or one of the files.",
        )
    return files


def _document(file: Path) -> Document:
    with errors_at(file):
        return parse(read_data(file))
