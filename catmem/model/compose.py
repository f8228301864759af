"""A document made of given entries: the slice of a memory file for one reader.

The layout is the plain one: a header for each category, entries with a ``§`` line between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from catmem.errors import EditError
from catmem.model.document import Document
from catmem.model.edit import add_entry, section_title, stored_text
from catmem.names import UNCATEGORIZED
from catmem.syntax.scan import scan, unclosed_spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from catmem.model.version import Version


def composed(versions: Iterable[Version], titles: Mapping[str, str], like: Document) -> Document:
    """A document of these entries, in their order within each category; categories in order of their first entry.

    ``titles`` are those of the sections, made from the slug where one is missing. ``like`` says which categories are
    declared, and under which other names. Raises ``EditError`` if no text holds just these entries.
    """
    grouped: dict[str, list[Version]] = {}
    for version in versions:
        grouped.setdefault(version.category, []).append(version)
    empty = read_like("", like)
    if not grouped:
        return empty
    # What has no category can only stand before the first header.
    order = sorted(grouped, key=lambda category: category != UNCATEGORIZED)
    document = read_like(_text(empty, [(category, grouped[category]) for category in order], titles), like)
    if not _holds(document, grouped):
        document = _one_by_one(empty, [version for category in order for version in grouped[category]], titles)
        if _said(document) != _meant(grouped):
            raise EditError("no text holds just these entries", code="not_possible")
    return document


def _text(empty: Document, groups: Sequence[tuple[str, Sequence[Version]]], titles: Mapping[str, str]) -> str:
    parts: list[str] = []
    for category, versions in groups:
        entries = "\n§\n".join(_entry(empty, version) for version in versions)
        if category == UNCATEGORIZED:
            parts.append(f"{entries}\n")
        else:
            parts.append(f"## {section_title(empty, category, titles.get(category))}\n{entries}\n")
    # A text that leaves a fence or a comment open needs a delimiter before the next header.
    return "".join(
        part if index == 0 else f"{'§' if _is_open(groups[index - 1][1][-1]) else ''}\n{part}"
        for index, part in enumerate(parts)
    )


def _entry(empty: Document, version: Version) -> str:
    stored = stored_text(empty, version.text)
    # At the head of a file it would read as the title.
    return f"\\{stored}" if stored.startswith(("# ", "#\t")) else stored


def _is_open(version: Version) -> bool:
    return bool(unclosed_spans("\n" + version.text))


def _one_by_one(document: Document, versions: Iterable[Version], titles: Mapping[str, str]) -> Document:
    for version in versions:
        # Edits read CRLF as one line end, and a body may hold a CR before its own.
        body = version.body.replace("\n", "\r\n")
        title = titles.get(version.category)
        document = add_entry(document, body, category=version.category, tags=version.tags, title=title).document
    return document


def read_like(text: str, like: Document) -> Document:
    """A text as a document that was read as ``like`` was: with its declared categories and their other names."""
    return Document(scan(text, like.scan.categories), like.limits)


def _holds(document: Document, grouped: Mapping[str, Sequence[Version]]) -> bool:
    """Whether a document has just the texts of these entries, which is quicker to see than what they say."""
    found = {category: [entry.text for entry in entries] for category, entries in document.by_category.items()}
    return found == {category: [version.text for version in versions] for category, versions in grouped.items()}


def _meant(grouped: Mapping[str, Sequence[Version]]) -> dict[str, list[tuple[str, str]]]:
    return {
        category: [(version.body, str(version.tags)) for version in versions] for category, versions in grouped.items()
    }


def _said(document: Document) -> dict[str, list[tuple[str, str]]]:
    return {
        category: [(entry.body, str(entry.tags)) for entry in entries]
        for category, entries in document.by_category.items()
    }
