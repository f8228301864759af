"""Memory folders of Markdown files with an index, ``MEMORY.md``: those of Claude Code and of cheetahclaws.

Of Claude Code it is the folder of a project (``~/.claude/projects/…/memory``). The files are free Markdown.
``MEMORY.md`` is read by its level-2 headings, a top-level bullet an entry; its links to topic files are no facts. A
topic file is read by its headings, a heading and what stands below it an entry, or, with fields in front, as one.

cheetahclaws has one Markdown file a memory, with ``key: value`` lines between two ``---`` in front.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from catmem.errors import UnreadableError, errors_at
from catmem.model.document import Document, parse
from catmem.names import FILE_NAMES, UNCATEGORIZED
from catmem.plugins.importers.source_files import (
    File,
    Imported,
    ImportedEntry,
    LeftOut,
    dated,
    day_of,
    day_of_file,
    front_matter,
    is_folder,
    leading_day,
    notes_in,
    read_data,
    read_text,
    refuse_too_many,
    source_tag,
    within,
)

_INDEX = "MEMORY.md"
_DATES = {"created": "created", "last_verified": "verified_date"}
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_CLOSING = re.compile(r"(?:^|[ \t])#+\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LINK = re.compile(r"[-*+] +\[[^\]]*\]\(([^)]+\.md)\).*")
_BULLET = re.compile(r"\A[-*+] +")
_SECTION = 2


def _entry_with_fields(program: str, file: File, left_out: list[LeftOut]) -> ImportedEntry:
    """The entry of one file; without text its description or its name is the text."""
    found, content, lost = front_matter(file)
    left_out += lost
    fields = {key: value for key, value in found.items() if value}
    kind = fields.pop("type", None)
    tags, rest = dated(fields, _DATES)
    origin = rest.pop("source", "")
    tags["source"] = source_tag(program, f"{file.name} ({origin})" if origin else file.name)
    body = content.strip() or rest.pop("description", "") or rest.pop("name", "")
    return ImportedEntry(body, file.name, kind, tags, rest, single=True, day=file.day)


# --- Claude Code ------------------------------------------------------------------------------------------------------


class _ClaudePart(NamedTuple):
    """A heading (level 0 for none) and the lines below it; ``line`` is that of its first, from 1."""

    level: int
    title: str
    line: int
    lines: list[str]


def read_claude(path: Path) -> Imported:
    """Read a memory folder, a folder that holds one named ``memory``, or one file."""
    left_out: list[LeftOut] = []
    entries: list[ImportedEntry] = []
    for file in notes_in(path, left_out, "memory", below=True):
        fields, _, _ = front_matter(file)
        if fields:
            entries.append(_entry_with_fields("claude", file, left_out))
        elif PurePosixPath(file.name).name in {_INDEX, "CLAUDE.md"}:
            entries += _index(file, left_out)
        else:
            entries += _topic(file, left_out)
    return Imported(entries, left_out)


def _topic(file: File, left_out: list[LeftOut]) -> Iterator[ImportedEntry]:
    kind = PurePosixPath(file.name).stem
    for part in _parts(file.text):
        text = "\n".join(part.lines).strip()
        if not text:
            left_out += _lone(file, part)
            continue
        # A level-1 heading is mostly the title of the whole file.
        heading = f"### {part.title}\n" if part.level >= _SECTION else ""
        if part.level == 1:
            left_out.append(LeftOut(f"{file.name}:{part.line}", "heading", part.title, "it is the title of the file"))
        yield _entry(file, part.line, heading + text, kind)


def _index(file: File, left_out: list[LeftOut]) -> Iterator[ImportedEntry]:
    kind: str | None = None
    section: _ClaudePart | None = None  # until an entry has its title
    for part in _parts(file.text):
        used = False
        if part.level == 1:
            left_out.append(LeftOut(f"{file.name}:{part.line}", "heading", part.title, "it is the title of the file"))
        elif part.level == _SECTION:
            left_out += _lone(file, section)
            kind, section = part.title, part
        for line, text in _bullets(part):
            if _LINK.fullmatch(text):
                left_out.append(LeftOut(f"{file.name}:{line}", "link", text, "it leads to a topic file"))
            else:
                section, used = None, True
                inner = f"### {part.title}\n" if part.level > _SECTION else ""
                yield _entry(file, line, inner + _BULLET.sub("", text, count=1), kind)
        if part.level > _SECTION and not used:
            left_out += _lone(file, part)
    left_out += _lone(file, section)


def _lone(file: File, part: _ClaudePart | None) -> Iterator[LeftOut]:
    """What to say of a heading below which no entry stands; nothing for no heading."""
    if part is not None and part.level:
        yield LeftOut(f"{file.name}:{part.line}", "heading", part.title, "no text stands below it")


def _entry(file: File, line: int, text: str, kind: str | None) -> ImportedEntry:
    tags: dict[str, str | list[str]] = {"source": source_tag("claude", file.name)}
    return ImportedEntry(text, f"{file.name}:{line}", kind, tags, day=file.day)


def _parts(text: str) -> Iterator[_ClaudePart]:
    part = _ClaudePart(0, "", 1, [])
    for number, line, free in _lines(text.split("\n"), 1):
        heading = _HEADING.fullmatch(line) if free else None
        if heading:
            yield part
            title = _CLOSING.sub("", heading[2].rstrip(" \t"), count=1).rstrip(" \t")
            part = _ClaudePart(len(heading[1]), title, number, [])
        else:
            part.lines.append(line)
    yield part


def _bullets(part: _ClaudePart) -> Iterator[tuple[int, str]]:
    """Each top-level bullet with what is indented below it, and each paragraph between them, with its line."""
    start = part.line + (1 if part.level else 0)
    lines: list[str] = []
    filled = False
    first = start
    for number, line, free in _lines(part.lines, start):
        apart = free and (bool(_BULLET.match(line)) or (bool(lines) and not lines[-1].strip() and line[:1].strip()))
        if apart and filled:
            yield first, "\n".join(lines).strip()
            lines, filled = [], False
        if not filled:
            lines, first = [], number
        lines.append(line)
        filled = filled or bool(line.strip())
    if filled:
        yield first, "\n".join(lines).strip()


def _lines(lines: list[str], first: int) -> Iterator[tuple[int, str, bool]]:
    """Each line with its number, and whether it stands outside code fences."""
    fence = ""
    for number, line in enumerate(lines, first):
        mark = _FENCE.match(line)
        free = not fence
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        yield number, line, free and not mark


# --- cheetahclaws -----------------------------------------------------------------------------------------------------


def read_cheetahclaws(path: Path) -> Imported:
    """Read a memory folder (``.cheetahclaws/memory``), the folder that holds it, or one file."""
    left_out: list[LeftOut] = []
    files = notes_in(path, left_out, ".cheetahclaws", "memory")
    memories = [file for file in files if file.name != _INDEX]
    left_out += [each for file in files if file.name == _INDEX for each in _of_no_file(file, memories)]
    return Imported([_entry_with_fields("cheetahclaws", file, left_out) for file in memories], left_out)


def _of_no_file(index: File, memories: Sequence[File]) -> Iterator[LeftOut]:
    """The lines of the index that lead to none of the files."""
    names = {file.name for file in memories}
    for number, line in enumerate(index.text.split("\n"), 1):
        link = _LINK.fullmatch(line.strip())
        if line.strip() and not (link and link[1].removeprefix("./") in names):
            yield LeftOut(f"{index.name}:{number}", "text", line.strip(), "it is in the index, and in no file")


_TARGETS = {name: target for target, name in FILE_NAMES.items()}


def read_hermes(path: Path) -> Imported:
    """Hermes Agent: a home, its ``memories`` folder, or one of the files, entries with ``§`` lines between them."""
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
    if not is_folder(path):
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
    for number, line, free in _lines(text.split("\n"), first):
        place = f"{file.name}:{number}"
        found = _OBSERVATION.fullmatch(line.rstrip()) if free else None
        if found:
            entries.append(ImportedEntry(found[2], place, found[1].strip(), tags, day=file.day))
        elif free and _RELATION.fullmatch(line.strip()):
            left_out.append(LeftOut(place, "relation", line.strip(), "an entry stands for itself"))
        elif free and _HEADING.fullmatch(line.rstrip()):
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
    if is_folder(path):
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
            message = f"line {number} is no JSON: the file may have been cut"
            hint = "Nothing was changed. Mend the line, or remove it."
            raise UnreadableError(message, code="damaged", path=path, line=number, hint=hint) from error
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


def _other(path: Path, number: int, why: str) -> UnreadableError:
    return UnreadableError(
        f"is no graph of the memory server: line {number} {why}",
        code="other_schema",
        path=path,
        line=number,
        hint="Nothing was changed. Name its memory.jsonl; if this is it, mend the line, or remove it.",
    )
