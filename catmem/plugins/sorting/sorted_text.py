"""The text that a sorted list makes of a file: every entry where it goes, byte for byte, but for those taken out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.model.splice import Slot, spliced, titled
from catmem.model.version import Version
from catmem.names import DROP, SECRET, STAYS, UNCATEGORIZED, slugify
from catmem.plugins.sorting.proposals import ACTIONS
from catmem.syntax import tags as tag_blocks
from catmem.workspace.migration import Migration, PlannedEntry, tidied, with_one_title

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from catmem.model.document import Document
    from catmem.plugins.sorting.proposals import SortLine


def category_of(line: SortLine) -> str:
    """The category that a line's entry goes to."""
    if line.choice in ACTIONS:
        return UNCATEGORIZED
    return slugify(line.choice[1:]) if line.choice.startswith("+") else line.choice


def sort_document(
    document: Document, lines: Sequence[SortLine], titles: Mapping[str, str], *, shared: bool = False
) -> Migration:
    """What the lines of a list make of a document, as a ``Migration``.

    The lines were made of ``titled(document)``; ``titles`` are those of all categories, in the order of new sections.
    ``shared`` is as in ``tidied``. Raises ``EditError`` (``not_possible``) if there is no text that says all this.
    """
    kept = [line for line in lines if line.choice not in {DROP, SECRET}]
    planned = tuple(_planned(line) for line in kept)
    if all(line.choice == STAYS and not line.part and not line.tags for line in lines):
        return Migration(document.text, document.text, planned, None)
    read = titled(document)
    written = with_one_title(read, planned)
    flat = [entry for entry in written.entries if entry.category == UNCATEGORIZED]
    slots = {entry.start: Slot(entry, [Version.of(entry)]) for entry in written.entries}
    for entry in flat:
        slots[entry.start].versions = []
    last = {slot.entry.category: slot for slot in slots.values()}
    first: dict[str, list[Version]] = {category: [] for category in titles}
    for line in kept:
        version = _version(line)
        if line.choice == STAYS:
            slots[flat[line.number - 1].start].versions.append(version)
        elif version.category in last:
            last[version.category].behind.append(version)
        else:
            first[version.category].append(version)
    headed = {category: versions for category, versions in first.items() if versions}
    text = spliced(written, list(slots.values()), headed, titles, written.title)
    new = tidied(document, text, shared=shared)
    return Migration(document.text, new, planned, read.title if document.title is None else None)


def _planned(line: SortLine) -> PlannedEntry:
    tags = {**line.entry.tags, **line.tags}
    return PlannedEntry(line.entry, line.line, category_of(line), line.text, tags, "tags" if line.tags else "", "")


def _version(line: SortLine) -> Version:
    entry = line.entry
    tags = {**entry.tags, **line.tags}
    same = not line.tags and not line.part
    text = entry.text if same else tag_blocks.write(tags, line.text)
    return Version(category_of(line), line.text, tags, text)
