"""basic-memory: notes in Markdown, of which ``- [category] content #tag (context)`` lines are the facts.

Hashtags and contexts stay in the text of the entry, as they stand. Relations and other text have no place.
"""

from __future__ import annotations

import re
from pathlib import Path

from catmem.plugins.importers.source_files import (
    File,
    Imported,
    ImportedEntry,
    LeftOut,
    day_of,
    front_matter,
    markdown_files,
    read_file,
    refuse_missing,
    source_tag,
)

# A box of a task list and a link are no categories; basic-memory passes over them too.
_OBSERVATION = re.compile(r"[-*+] +\[(?![ xX-]\])([^\[\]()]+)\](?![(\[]) +(\S.*)")
_RELATION = re.compile(r"[-*+] .*\[\[[^\[\]]+\]\].*")
_HEADING = re.compile(r"#{1,6}(?:[ \t].*)?")
_FENCE = re.compile(r" {0,3}(```|~~~)")


def read(path: Path) -> Imported:
    """Read a folder of notes with those below it, or one note."""
    refuse_missing(path)
    left_out: list[LeftOut] = []
    found = [read_file(path)] if path.is_file() else markdown_files(path, left_out, below=True)
    files = list(found)  # what is left out of the folder comes first
    return Imported([entry for file in files for entry in _note(file, left_out)], left_out)


def _note(file: File, left_out: list[LeftOut]) -> list[ImportedEntry]:
    fields, text, lost = front_matter(file)
    left_out += lost
    created = day_of(fields.get("created", ""))
    if created:
        del fields["created"]
    tags: dict[str, str | list[str]] = {"created": created} if created else {}
    tags["source"] = source_tag("basic-memory", file.name)
    left_out += [LeftOut(file.name, key, value, "a field of the whole note") for key, value in fields.items() if value]
    # Lines are counted in the whole file.
    first = file.text.count("\n") - text.count("\n") + 1
    entries: list[ImportedEntry] = []
    in_code = False
    for number, line in enumerate(text.split("\n"), first):
        place = f"{file.name}:{number}"
        in_code ^= bool(_FENCE.match(line))
        found = None if in_code else _OBSERVATION.fullmatch(line.rstrip())
        if found:
            entries.append(ImportedEntry(found[2], place, found[1].strip(), tags, day=file.day))
        elif not in_code and _RELATION.fullmatch(line.strip()):
            left_out.append(LeftOut(place, "relation", line.strip(), "an entry stands for itself"))
        elif not in_code and _HEADING.fullmatch(line.rstrip()):
            left_out.append(LeftOut(place, "heading", line.strip(), "it is no observation"))
        elif line.strip():
            left_out.append(LeftOut(place, "text", line.strip(), "it is no observation"))
    return entries
