"""The reference memory server of MCP (``@modelcontextprotocol/server-memory``): a graph, one JSON object a line.

An observation is an entry, with the name of its entity in front, since it says nothing alone. Relations have no place.
"""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

from catmem.errors import UnreadableError
from catmem.plugins.importers.source_files import (
    Imported,
    ImportedEntry,
    LeftOut,
    day_of_file,
    leading_day,
    read_text,
    refuse_missing,
    refuse_too_many,
    source_tag,
    within,
)

_NAMES = ("memory.jsonl", "memory.json")


def read(path: Path) -> Imported:
    """Read the graph in the file ``path``, or in a folder's ``memory.jsonl``."""
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
            entries += _line(line, path, number, day, left_out)
        except RecursionError as error:
            raise _damaged(path, number) from error
        refuse_too_many(len(entries), path)
    return Imported(entries, left_out)


def _line(line: str, path: Path, number: int, day: date | None, left_out: list[LeftOut]) -> list[ImportedEntry]:
    said, place = _object(line, path, number, left_out), f"{path.name}:{number}"
    if said["type"] == "entity":
        return _entity(said, place, path, day, left_out)
    if said["type"] == "relation":
        value = " ".join(str(said.get(key)) for key in ("from", "relationType", "to"))
        left_out.append(LeftOut(place, "relation", value, "an entry stands for itself"))
    else:
        left_out.append(LeftOut(place, said["type"], line, "the server itself passes over it"))
    return []


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


def _object(line: str, path: Path, number: int, left_out: list[LeftOut]) -> dict[str, Any]:
    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        said: dict[str, Any] = {}
        for key, value in found:
            if key in said:  # the last counts, as for the server
                before = json.dumps(said[key], ensure_ascii=False)
                left_out.append(LeftOut(f"{path.name}:{number}", key, before, "a field of this name comes again"))
                refuse_too_many(len(left_out), path)
            said[key] = value
        return said

    try:
        said = json.loads(line, object_pairs_hook=pairs, parse_constant=_refuse)
    except ValueError as error:
        raise _damaged(path, number) from error
    if not isinstance(said, dict) or not isinstance(said.get("type"), str):
        raise _other(path, number, "is no entity and no relation")
    return said


def _refuse(name: str) -> None:
    raise ValueError(name)  # NaN and infinities are no JSON


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
