"""cheetahclaws: one Markdown file a memory, with ``key: value`` lines between two ``---`` in front."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.importers.files import File, markdown_files, read_text, refuse_missing
from catmem.importers.frontmatter import front_matter
from catmem.importers.imported import Imported, ImportedEntry, LeftOut, dated, source_tag

if TYPE_CHECKING:
    from pathlib import Path

INDEX = "MEMORY.md"
_DATES = {"created": "created", "last_verified": "verified_date"}


def read(path: Path) -> Imported:
    """Read a memory folder (``.cheetahclaws/memory``), the folder that holds it, or one file."""
    refuse_missing(path)
    left_out: list[LeftOut] = []
    if path.is_file():
        files = [File(path.name, read_text(path))]
    else:
        inner = path / ".cheetahclaws" / "memory"
        files = list(markdown_files(inner if inner.is_dir() else path, left_out))
    # The index says what the files say, and is written anew from them.
    return Imported([entry_of("cheetahclaws", file) for file in files if file.name != INDEX], left_out)


def entry_of(program: str, file: File) -> ImportedEntry:
    """The entry of one file; without text its description or its name is the text."""
    found, content = front_matter(file.text)
    fields = {key: value for key, value in found.items() if value}
    kind = fields.pop("type", None)
    tags, rest = dated(fields, _DATES)
    origin = rest.pop("source", "")
    tags["source"] = source_tag(program, file.name) + (f" ({origin})" if origin else "")
    body = content.strip() or rest.pop("description", "") or rest.pop("name", "")
    return ImportedEntry(body, file.name, kind, tags, rest, single=True)
