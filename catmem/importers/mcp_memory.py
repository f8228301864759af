"""The reference memory server of MCP (``@modelcontextprotocol/server-memory``): a graph, one JSON object a line.

An observation is an entry, with the name of its entity in front, since it says nothing alone. Relations have no place.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from catmem.importers.files import day_of_file, read_text, refuse_missing
from catmem.importers.imported import Imported, ImportedEntry, LeftOut, SourceError, leading_day, source_tag

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

_NAMES = ("memory.jsonl", "memory.json")


def read(path: Path) -> Imported:
    """Read the graph in the file ``path``, or in a folder's ``memory.jsonl``."""
    refuse_missing(path)
    if path.is_dir():
        path = next((path / name for name in _NAMES if (path / name).is_file()), path / _NAMES[0])
    entries: list[ImportedEntry] = []
    left_out: list[LeftOut] = []
    day = day_of_file(path)
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        said = _object(line, path, number)
        place = f"{path.name}:{number}"
        if said["type"] == "entity":
            entries += _entity(said, place, path, day, left_out)
        elif said["type"] == "relation":
            value = " ".join(str(said.get(key)) for key in ("from", "relationType", "to"))
            left_out.append(LeftOut(place, "relation", value, "an entry stands for itself"))
        else:
            left_out.append(LeftOut(place, str(said["type"]), line, "the server itself passes over it"))
    return Imported(entries, left_out)


def _entity(
    said: dict[str, Any], place: str, path: Path, day: date | None, left_out: list[LeftOut]
) -> list[ImportedEntry]:
    name, kind, observations = said.get("name"), said.get("entityType"), said.get("observations")
    if not isinstance(name, str) or not isinstance(observations, list):
        raise _other(path, f"line {place.rpartition(':')[2]} is an entity without a name or observations")
    left_out += [
        LeftOut(place, key, json.dumps(value, ensure_ascii=False), "the server itself has no such field")
        for key, value in said.items()
        if key not in {"type", "name", "entityType", "observations"}
    ]
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


def _object(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SourceError(
            f"line {number} is no JSON: the file may have been cut",
            code="damaged",
            path=path,
            line=number,
            hint="Nothing was changed. Mend the line, or remove it.",
        ) from error
    if not isinstance(said, dict) or not isinstance(said.get("type"), str):
        raise _other(path, f"line {number} is no entity and no relation")
    return said


def _other(path: Path, why: str) -> SourceError:
    return SourceError(
        f"is no graph of the memory server: {why}", path=path, hint="Nothing was changed. Name its memory.jsonl."
    )
