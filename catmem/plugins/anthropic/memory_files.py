"""The paths of the memory tool, a category as a text file, and what an edit of that text means for its entries.

The paths are ``/memories``, ``/memories/user``, ``/memories/user/<category>.md``, and no others.

The file holds the entries that the profile sees, tag blocks in front, with a line ``§`` between them. What a prompt
would withhold stands there as one line that names its id: such an entry can be removed or replaced, and not be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from catmem.config.config import Taxonomy
from catmem.config.json_schema import shown
from catmem.errors import EditError
from catmem.model.document import Document, Entry, Version, parse
from catmem.model.pairing import pair_entries
from catmem.model.splice import composed
from catmem.names import TARGETS, UNCATEGORIZED, slugify
from catmem.prompt.styles import blocked_line
from catmem.threats import scan_each
from catmem.workspace.seen_entry import texts_of
from catmem.writing.request import Operation

ROOT = "/memories"
_PATH = re.compile(rf"{ROOT}(?:/({'|'.join(TARGETS)})(?:/([^/]+)\.md)?)?/?")


def bad_arguments(message: str, hint: str) -> EditError:
    """The refusal of what a model asked for."""
    return EditError(message, code="bad_arguments", hint=hint)


class MemoryPath(NamedTuple):
    """What a path names: all (no target), one target's folder (no category), or one category's file."""

    target: str = ""
    category: str = ""
    alias: str = ""
    """The other name of the category that was typed, if one was."""

    @property
    def name(self) -> str:
        """The category's name as it was typed: answers do not tell which category another name is of."""
        return self.alias or self.category

    @property
    def path(self) -> str:
        """The path, as answers write it."""
        return "/".join(part for part in (ROOT, self.target, self.name and f"{self.name}.md") if part)


def place_of(path: str, taxonomy: Taxonomy) -> MemoryPath:
    """The place that a path names. Raises ``EditError`` (``bad_arguments``); nothing on a disk is looked at."""
    found = _PATH.fullmatch(path)
    if found is None or (found[2] is not None and path.endswith("/")):
        raise bad_arguments(
            f"{shown(path)} is no path of this memory",
            "There are /memories/user/<category>.md and /memories/memory/<category>.md, and no other folders.",
        )
    target, name = found[1], found[2]
    if name is None:
        return MemoryPath(target or "")
    slug = slugify(name)
    if slug != name:
        raise bad_arguments(
            f"{shown(name)} cannot be the name of a category",
            f"Did you mean {ROOT}/{target}/{slug}.md?" if slug else "Use small letters, digits and -.",
        )
    category = taxonomy.category(name)
    return MemoryPath(target, category, "" if category == name else name)


# --- a category as text ---------------------------------------------------------------------------------------------

_LINE_END = re.compile(r"\r+\n")
"""Each reading would take one CR more away from it."""


@dataclass(frozen=True, slots=True)
class CategoryFile:
    """A category's entries, and the text that stands for them."""

    category: str
    """Its name, as the caller wrote it."""
    entries: tuple[Entry, ...]
    document: Document
    """The text of the file, read as one without sections: its entries are ``entries``, one by one."""
    withheld: tuple[str, ...]
    """The lines that stand for entries that are withheld."""

    @property
    def text(self) -> str:
        """The text of the file."""
        return self.document.text


def category_file(category: str, entries: Sequence[Entry]) -> CategoryFile:
    """The file of a category that has these entries."""
    texts = ["\n".join(texts_of(entry)) for entry in entries]
    scanned = scan_each(texts)
    versions: list[Version] = []
    withheld: list[str] = []
    for entry, findings in zip(entries, scanned, strict=True):
        version = Version.from_entry(entry)._replace(category=UNCATEGORIZED)
        if findings:
            line = f"{blocked_line(', '.join(sorted({finding.rule for finding in findings})))} (id {entry.id})"
            version = Version(UNCATEGORIZED, line, {}, line)
            withheld.append(line)
        versions.append(version)
    return CategoryFile(category, tuple(entries), composed(versions, {}, _read("")), tuple(withheld))


def _read(text: str) -> Document:
    """A text in which no heading opens a section, and in which a line ends with LF."""
    return parse(_LINE_END.sub("\n", text), ())


def operations_for(file: CategoryFile, new_text: str, *, block_of: int | None = None) -> list[Operation]:
    """The operations that make the entries of ``file`` those of ``new_text``.

    An entry that is still there in other words keeps its tags, and a tag block in front sets those that it names.
    ``block_of`` is the index of the entry whose tag block stood right in front of the edit: an entry that came between
    the block and its words does not get its tags. Raises ``EditError`` (``bad_arguments``) for an edit inside of what
    is withheld and for one that makes a tag block a part of a text, and ``TooLargeError``.
    """
    old, new = file.document.entries, _read(new_text).entries
    _refuse_withheld_in_texts(file, new)
    _refuse_blocks_in_texts(old, new)
    pairs = _pairs(old, new)
    operations: list[Operation] = []
    for index, entry in enumerate(file.entries):
        after = pairs.get(index)
        if after is None:
            operations.append(Operation("remove", old_text=entry.id, category=file.category))
        elif old[index].text != new[after].text:
            operations.append(_replacement(file.category, entry, old[index], new[after]))
    for index in sorted(set(range(len(new))) - set(pairs.values())):
        without = old[index].tags if index == block_of else {}
        operations += additions(file.category, [new[index]], without=without)
    return operations


def entry_across(file: CategoryFile, line: int) -> int | None:
    """The index of the entry that has lines on both sides of the place behind ``line`` (0: in front of the first)."""
    for index, entry in enumerate(file.document.entries):
        first = file.text.count("\n", 0, entry.start) + 1
        if first <= line < first + entry.raw.count("\n"):
            return index
    return None


def entries_in_lines(file: CategoryFile, first: int, last: int) -> Iterator[Entry]:
    """The entries of which the lines from ``first`` to ``last`` show everything."""
    for entry, shown_as in zip(file.entries, file.document.entries, strict=True):
        line = file.text.count("\n", 0, shown_as.start) + 1
        if first <= line and line + shown_as.raw.count("\n") <= last and shown_as.text not in file.withheld:
            yield entry


def block_before(file: CategoryFile, position: int) -> int | None:
    """The index of the entry of which only the tag block stands in front of ``position``, a character's index."""
    for index, entry in enumerate(file.document.entries):
        block = _block(entry)
        words = entry.raw[len(block) :].lstrip()
        if block and entry.start + len(block) <= position <= entry.end - len(words):
            return index
    return None


def _block(entry: Entry) -> str:
    """The tag block of an entry as it is written; empty for none."""
    return entry.text.removesuffix(entry.body).rstrip() if entry.tags else ""


def entries_of(text: str) -> tuple[Entry, ...]:
    """The entries that a text of a file holds."""
    return _read(text).entries


def additions(
    category: str, entries: Sequence[Entry], *, without: Mapping[str, Any] | None = None
) -> Iterator[Operation]:
    """The operations that add entries to a category; tags that stand in ``without`` alike are left out."""
    for entry in entries:
        tags = {key: value for key, value in entry.tags.items() if (without or {}).get(key) != value}
        yield Operation("add", content=entry.body, category=category, tags=tags or None)


def _replacement(category: str, entry: Entry, old: Entry, new: Entry) -> Operation:
    body = None if new.body == old.body else new.body
    tags = {key: value for key, value in new.tags.items() if value != entry.tags.get(key)}
    if body is None and not tags:
        # A tag block that was only taken away stays: other interfaces take tags away one by one.
        return Operation("replace", content=entry.body, old_text=entry.id, category=category)
    return Operation("replace", content=body, old_text=entry.id, category=category, tags=tags or None)


def _pairs(old: Sequence[Entry], new: Sequence[Entry]) -> dict[int, int]:
    """Which entry became which; those of one gap that have no words in common pair in order, if they are as many."""
    pairs = pair_entries(old, new)
    old_gaps = _gaps(len(old), pairs)
    new_gaps = _gaps(len(new), {after: after for after in pairs.values()})
    for gap, left in old_gaps.items():
        there = new_gaps.get(gap, [])
        if len(left) == len(there):
            pairs |= dict(zip(left, there, strict=True))
    return pairs


def _gaps(count: int, paired: Mapping[int, int]) -> dict[int, list[int]]:
    """The entries without a partner, by the partner of the last one in front of them that has one (-1: none)."""
    gaps: dict[int, list[int]] = {}
    edge = -1
    for index in range(count):
        if index in paired:
            edge = paired[index]
        else:
            gaps.setdefault(edge, []).append(index)
    return gaps


def refuse_part_of_withheld(file: CategoryFile, start: int, end: int) -> None:
    """Raise ``EditError`` if the characters from ``start`` to ``end`` are a part of a withheld line, or have one."""
    for entry in file.document.entries:
        if entry.text in file.withheld:
            first = file.text.index(entry.text, entry.start)
            last = first + len(entry.text)
            if start < last and end > first and not (start <= first and end >= last):
                raise _withheld()


def _refuse_withheld_in_texts(file: CategoryFile, new: Sequence[Entry]) -> None:
    there = {entry.text for entry in file.document.entries}
    whole = {entry.text for entry in new}
    for line in file.withheld:
        mark = line.rpartition(" (id ")[0]
        if line not in whole and any(mark in text for text in whole - there):
            raise _withheld()


def _withheld() -> EditError:
    return bad_arguments(
        "an entry whose text is withheld can be removed or replaced whole, and not be changed in part",
        "Leave its line as it is, or replace the whole line.",
    )


def _refuse_blocks_in_texts(old: Sequence[Entry], new: Sequence[Entry]) -> None:
    blocks = {block for entry in old if (block := _block(entry))}
    known = {block for block in blocks if any(block in entry.body for entry in old)}
    for block in blocks - known:
        if any(block in entry.body for entry in new):
            raise bad_arguments(
                "this would make the tag block of one fact a part of the text of another",
                "Put a line § between the two facts.",
            )
