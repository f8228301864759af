"""The formatter's two layouts (``docs/format.md``, "Layouts").

Formatting moves boundaries and blanks; the words of every entry, escapes and tag blocks included, stay as they are
stored. The result is parsed again: it says what the document said, or ``EditError`` is raised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from catmem.errors import EditError
from catmem.model.surroundings import delimiter_before, delimiter_behind
from catmem.syntax.escape import with_backslashes
from catmem.syntax.scan import boundary_lines, heading_at, scan, unclosed_spans
from catmem.syntax.slug import UNCATEGORIZED
from catmem.text import BOM, unify_newlines, with_newline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catmem.model.document import Document

Layout = Literal["plain", "shared"]

UNCATEGORIZED_HEADER = f"## {UNCATEGORIZED}"


class _Group(NamedTuple):
    """A header line (``None`` for what stands before the first) and the entries below it, as stored."""

    header: str | None
    category: str
    entries: list[str]


def is_shared(document: Document) -> bool:
    """Whether a file with sections keeps to the ``shared`` layout, as far as an edit has to know.

    Each header stands alone between delimiters, and the last section is ``__uncategorized__``.
    """
    headers = document.scan.headers
    if not headers or headers[-1].category != UNCATEGORIZED:
        return False
    return all(
        delimiter_behind(document, header.end) or not document.text[header.end :].strip() for header in headers
    ) and all(delimiter_before(document, header.start) or header is headers[0] for header in headers)


def formatted(document: Document, layout: Layout) -> str:
    """The document's text in a layout. Formatting it again changes nothing.

    ``plain`` is for files that only catmem and people edit. ``shared`` is for files that stock Hermes Agent edits too;
    it joins repeated sections, because Hermes drops a text that stands twice, and leaves a file without sections
    without them. Raises ``EditError`` (``not_possible``).
    """
    groups = _groups(document)
    pieces = _shared(document, groups) if layout == "shared" else _plain(document, groups)
    text = "".join(pieces)
    # An entry may begin with the character U+FEFF; at the head of a file without a BOM it would become one.
    bom = BOM if document.text.startswith(BOM) or text.startswith(BOM) else ""
    # Hermes Agent knows a delimiter by its LFs.
    result = bom + with_newline(text, "\n" if layout == "shared" else document.newline)
    if _says(document, result) != _says(document, document.text):
        raise EditError(
            "the document cannot be put into this layout without changing what it says", code="not_possible"
        )
    return result


def repeated_entries(document: Document) -> list[str]:
    """Entries that stand more than once, as stored: in a ``shared`` file stock Hermes Agent keeps only the first."""
    counts: dict[str, int] = {}
    for entry in document.entries:
        counts[entry.raw] = counts.get(entry.raw, 0) + 1
    return [raw for raw, count in counts.items() if count > 1]


def _groups(document: Document) -> list[_Group]:
    groups = [_Group(None, UNCATEGORIZED, [])]
    sections = document.sections
    for entry in document.entries:
        while len(groups) <= len(sections) and sections[len(groups) - 1].start < entry.start:
            groups.append(_group(sections[len(groups) - 1].title, document))
        groups[-1].entries.append(unify_newlines(_at_line_start(document, entry.raw)))
    groups += [_group(section.title, document) for section in sections[len(groups) - 1 :]]
    return groups


def _at_line_start(document: Document, raw: str) -> str:
    """An entry as stored, for a place where nothing stands around it.

    Blanks may have kept its first or last line from being a boundary (`` ## indented``) or from opening a fence.
    """
    return with_backslashes(raw, boundary_lines(raw, document.scan.categories))


def _group(title: str, document: Document) -> _Group:
    return _Group(_heading(2, title), document.scan.categories.category(title) or UNCATEGORIZED, [])


def _title_line(document: Document) -> str | None:
    return None if document.title is None else _heading(1, document.title)


def _heading(level: int, title: str) -> str:
    line = f"{'#' * level} {title}"
    # A title such as `a #` would lose its end without a closing run.
    return line if heading_at(line, 0, level)[1] == title else f"{line} #"


def _plain(document: Document, groups: list[_Group]) -> Iterator[str]:
    """Header, entries joined by delimiter lines, one blank line before each header, a final newline."""
    # The last header of the shared layout says nothing where no entry follows it. The only header of a file does:
    # without one, a title is text and entries without a category are seen by default.
    while len(groups) > len(("preamble", "section")) and groups[-1] == (UNCATEGORIZED_HEADER, UNCATEGORIZED, []):
        groups = groups[:-1]
    title = _title_line(document)
    started = title is not None
    if title is not None:
        yield f"{title}\n"
    for group in groups:
        if not group.entries and group.header is None:
            continue
        if started:
            yield "\n"
        if group.header is not None:
            yield f"{group.header}\n"
        first = not started and group.header is None
        entries = _fit_for_start(document, group.entries) if first else group.entries
        yield "".join(f"{'§' + chr(10) if index else ''}{entry}\n" for index, entry in enumerate(entries))
        if entries and unclosed_spans("\n" + entries[-1]):
            yield "§\n"
        started = True


def _shared(document: Document, groups: list[_Group]) -> Iterator[str]:
    """Everything joined by delimiter lines, no final newline, ``## __uncategorized__`` last."""
    title = _title_line(document)
    pieces = [] if title is None else [title]
    preamble, *sections = groups
    # Hermes Agent may remove whatever stands in front of any of them.
    pieces += [entry for single in preamble.entries for entry in _fit_for_start(document, [single])]
    joined: dict[str, _Group] = {}
    for section in sections:
        joined.setdefault(section.category, section._replace(entries=[])).entries.extend(section.entries)
    if joined:
        last = joined.pop(UNCATEGORIZED, None) or _Group(UNCATEGORIZED_HEADER, UNCATEGORIZED, [])
        joined[UNCATEGORIZED] = last._replace(header=UNCATEGORIZED_HEADER)
    for section in joined.values():
        pieces += [section.header or "", *section.entries]
    # Hermes Agent would drop an entry that stands there as the title does.
    pieces[1:] = ["\\" + piece if piece == title else piece for piece in pieces[1:]]
    yield "\n§\n".join(pieces)


def _fit_for_start(document: Document, entries: list[str]) -> list[str]:
    """Entries for the head of the file: a first one that would read as the title there gets an escape."""
    if entries and document.scan.headers and entries[0].startswith(("# ", "#\t")):
        return ["\\" + entries[0], *entries[1:]]
    return entries


def _says(document: Document, text: str) -> tuple[str | None, dict[str, list[tuple[str, str]]]]:
    """What a text says under the document's categories: its title, and each category's bodies and tags."""
    # Imported here: `document` needs nothing of layouts, and this module only needs it to read its own result.
    from catmem.model.document import Document

    read = Document(scan(text, document.scan.categories), document.limits)
    return read.title, {
        category: [(entry.body, str(entry.tags)) for entry in entries]
        for category, entries in sorted(read.by_category.items())
    }
