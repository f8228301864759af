"""Memory folders of Markdown files with an index, ``MEMORY.md``: those of Claude Code and of cheetahclaws.

Of Claude Code it is the folder of a project (``~/.claude/projects/…/memory``). The files are free Markdown.
``MEMORY.md`` is read by its level-2 headings, a top-level bullet an entry; its links to topic files are no facts. A
topic file is read by its headings, a heading and what stands below it an entry, or, with fields in front, as one.

cheetahclaws has one Markdown file a memory, with ``key: value`` lines between two ``---`` in front.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from catmem.plugins.importers.source_files import (
    File,
    Imported,
    ImportedEntry,
    LeftOut,
    dated,
    front_matter,
    notes_in,
    source_tag,
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
