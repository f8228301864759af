"""Memories that agents keep by themselves: Hermes Agent, basic-memory, and the memory server of MCP."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

from catmem.errors import UnreadableError, errors_at
from catmem.model.document import Document, parse
from catmem.names import FILE_NAMES, UNCATEGORIZED
from catmem.plugins.importers.source_files import (
    File,
    Imported,
    ImportedEntry,
    LeftOut,
    day_of,
    day_of_file,
    front_matter,
    leading_day,
    notes_in,
    read_data,
    read_text,
    refuse_missing,
    refuse_too_many,
    source_tag,
    within,
)

_TARGETS = {name: target for target, name in FILE_NAMES.items()}


def read_hermes(path: Path) -> Imported:
    """Hermes Agent: a home, its ``memories`` folder, or one of the files, entries with ``§`` lines between them."""
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


# A box of a task list and a link are no categories; basic-memory passes over them too.
_OBSERVATION = re.compile(r"[-*+] +\[(?![ xX-]\])([^\[\]()]+)\](?![(\[]) +(\S.*)")
_RELATION = re.compile(r"[-*+] .*\[\[[^\[\]]+\]\].*")
_HEADING = re.compile(r"#{1,6}(?:[ \t].*)?")
_FENCE = re.compile(r" {0,3}(```|~~~)")


def read_basic_memory(path: Path) -> Imported:
    """basic-memory: a folder of notes with those below it, or one note.

    Lines ``- [category] content #tag (context)`` are the facts. Hashtags and contexts stay in the text of the entry, as
    they stand. Relations and other text have no place.
    """
    left_out: list[LeftOut] = []
    files = notes_in(path, left_out, below=True)
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


_NAMES = ("memory.jsonl", "memory.json")


def read_mcp_memory(path: Path) -> Imported:
    """The memory server of MCP (``@modelcontextprotocol/server-memory``): a file, or a folder's ``memory.jsonl``.

    Its memory is a graph, one JSON object a line. An observation is an entry, with the name of its entity in front,
    since it says nothing alone. Relations have no place.
    """
    refuse_missing(path)
    if path.is_dir():
        path = within(path, next((name for name in _NAMES if (path / name).is_file()), _NAMES[0]))
    entries: list[ImportedEntry] = []
    left_out: list[LeftOut] = []
    day = day_of_file(path)
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            said = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _damaged(path, number) from error
        place = f"{path.name}:{number}"
        kind = said.get("type") if isinstance(said, dict) else None
        if kind == "entity":
            entries += _entity(said, place, path, day, left_out)
        elif kind == "relation":
            value = " ".join(str(said.get(key)) for key in ("from", "relationType", "to"))
            left_out.append(LeftOut(place, "relation", value, "an entry stands for itself"))
        elif isinstance(kind, str):
            left_out.append(LeftOut(place, kind, line, "the server itself passes over it"))
        else:
            raise _other(path, number, "is no entity and no relation")
        refuse_too_many(len(entries), path)
    return Imported(entries, left_out)


def _entity(
    said: dict[str, Any], place: str, path: Path, day: date | None, left_out: list[LeftOut]
) -> list[ImportedEntry]:
    name, kind, observations = said.get("name"), said.get("entityType"), said.get("observations")
    if not isinstance(name, str) or not isinstance(observations, list):
        raise _other(path, int(place.rpartition(":")[2]), "is an entity without a name or observations")
    left_out += [
        LeftOut(place, key, json.dumps(value, ensure_ascii=False), "the server itself has no such field")
        for key, value in said.items()
        if key not in {"type", "name", "entityType", "observations"}
    ]
    refuse_too_many(len(observations), path)
    if not observations:
        left_out.append(LeftOut(place, "entity", name, "it has no observations"))
    entries: list[ImportedEntry] = []
    for observation in observations:
        if isinstance(observation, str):
            tags: dict[str, str | list[str]] = {"source": source_tag("mcp-memory", name)}
            # What has no text has none with a name in front either.
            body = f"{name}: {observation}" if observation.strip() else ""
            word = kind if isinstance(kind, str) and kind else None
            entries.append(ImportedEntry(body, place, word, tags, day=leading_day(observation) or day))
        else:
            left_out.append(LeftOut(place, "observation", json.dumps(observation), "it is no text"))
    return entries


def _damaged(path: Path, number: int) -> UnreadableError:
    return UnreadableError(
        f"line {number} is no JSON: the file may have been cut",
        code="damaged",
        path=path,
        line=number,
        hint="Nothing was changed. Mend the line, or remove it.",
    )


def _other(path: Path, number: int, why: str) -> UnreadableError:
    return UnreadableError(
        f"is no graph of the memory server: line {number} {why}",
        code="other_schema",
        path=path,
        line=number,
        hint="Nothing was changed. Name its memory.jsonl; if this is it, mend the line, or remove it.",
    )
