"""cheetahclaws: one Markdown file a memory, with ``key: value`` lines between two ``---`` in front."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from catmem.plugins.importers.source_files import (
    File,
    Imported,
    ImportedEntry,
    LeftOut,
    dated,
    front_matter,
    markdown_files,
    read_file,
    refuse_missing,
    source_tag,
    within,
)

INDEX = "MEMORY.md"
_DATES = {"created": "created", "last_verified": "verified_date"}
_LINK = re.compile(r"[-*+] +\[[^\]]*\]\(([^)]+\.md)\).*")


def read(path: Path) -> Imported:
    """Read a memory folder (``.cheetahclaws/memory``), the folder that holds it, or one file."""
    refuse_missing(path)
    left_out: list[LeftOut] = []
    if path.is_file():
        files = [read_file(path)]
    else:
        inner = within(path, ".cheetahclaws", "memory")
        files = list(markdown_files(inner if inner.is_dir() else path, left_out))
    memories = [file for file in files if file.name != INDEX]
    left_out += [each for file in files if file.name == INDEX for each in _of_no_file(file, memories)]
    return Imported([entry_of("cheetahclaws", file, left_out) for file in memories], left_out)


def _of_no_file(index: File, memories: Sequence[File]) -> Iterator[LeftOut]:
    """The lines of the index that lead to none of the files.

    The others say what the files say, and are written anew from them.
    """
    names = {file.name for file in memories}
    for number, line in enumerate(index.text.split("\n"), 1):
        link = _LINK.fullmatch(line.strip())
        if line.strip() and not (link and link[1].removeprefix("./") in names):
            yield LeftOut(f"{index.name}:{number}", "text", line.strip(), "it is in the index, and in no file")


def entry_of(program: str, file: File, left_out: list[LeftOut]) -> ImportedEntry:
    """The entry of one file; without text its description or its name is the text.

    What stands in front of the file and is no field goes to ``left_out``.
    """
    found, content, lost = front_matter(file)
    left_out += lost
    fields = {key: value for key, value in found.items() if value}
    kind = fields.pop("type", None)
    tags, rest = dated(fields, _DATES)
    origin = rest.pop("source", "")
    tags["source"] = source_tag(program, f"{file.name} ({origin})" if origin else file.name)
    body = content.strip() or rest.pop("description", "") or rest.pop("name", "")
    return ImportedEntry(body, file.name, kind, tags, rest, single=True, day=file.day)
