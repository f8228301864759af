"""Where entries stand in a text: what is around an offset, where a new entry goes, and the formatter's two layouts.

Formatting (``docs/format.md``, "Layouts") moves boundaries and blanks; the words of every entry, escapes and tag blocks
included, stay as they are stored. The result is parsed again: it says what the document said, or ``EditError`` is
raised.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from catmem.errors import EditError
from catmem.model.document import Document, Entry, Section
from catmem.names import UNCATEGORIZED
from catmem.syntax.scan import boundary_lines, heading_at, unclosed_spans, with_backslashes
from catmem.text import BOM, size_of, unify_newlines, with_newline


def delimiter_behind(document: Document, position: int) -> tuple[int, int] | None:
    """The delimiter line (as in ``Scan.delimiters``) that only white space parts from ``position`` before it."""
    index = document.scan.delimiters_before(position)
    found = document.scan.delimiters(index, index + 1)
    return found[0] if found and not document.text[position : found[0][0]].strip() else None


def delimiter_before(document: Document, position: int) -> tuple[int, int] | None:
    """The delimiter line that only white space parts from ``position`` behind it."""
    index = document.scan.delimiters_before(position)
    found = document.scan.delimiters(max(index - 1, 0), index)
    return found[0] if found and not document.text[found[0][1] : position].strip() else None


def line_end_before(document: Document, delimiter: tuple[int, int]) -> int:
    """Where the line end in front of a delimiter line begins; a CR is half of it."""
    newline = delimiter[0]
    return newline - document.text.endswith("\r\n", 0, newline + 1)


def left_open(document: Document, position: int) -> bool:
    """Whether a fence or comment between the delimiter line before ``position`` and ``position`` is not closed."""
    start = document.scan.stretch_at(document.scan.delimiters_before(position))
    return bool(unclosed_spans(document.text[start:position]))


class EntryPlace(NamedTuple):
    """An offset, and what stands between it and the new entry's text on both sides."""

    position: int
    before: str
    after: str


def has_place_for(document: Document, category: str) -> bool:
    """Whether an entry of this category needs no new section."""
    return category == UNCATEGORIZED or any(header.category == category for header in document.scan.headers)


def place_for_entry(document: Document, category: str, *, must_end: bool) -> Iterator[EntryPlace]:
    """Places at the end of a category for which ``has_place_for`` holds, the plainest first."""
    # `must_end`: the entry holds a fence or a comment that is not closed, so a delimiter line has to follow it.
    sections = [section for section in document.sections if section.category == category]
    if sections:
        return _in_section(document, sections[-1], must_end=must_end)
    return _before_sections(document, must_end=must_end)


def place_for_section(document: Document, title: str, *, must_end: bool) -> EntryPlace:
    """The place of a new section with its first entry: at the end, in the ``shared`` layout before the last section."""
    newline = document.newline
    if is_shared(document):
        return EntryPlace(document.sections[-1].start, f"## {title}{newline}§{newline}", f"{newline}§{newline}")
    text = document.text
    lead = "" if len(text) == document.scan.start or text.endswith("\n") else _last_newline(document)
    if left_open(document, len(text)):
        lead += f"§{2 * newline}"
    elif len(text) > document.scan.start and not text.endswith(2 * newline):
        lead += newline
    return EntryPlace(len(text), f"{lead}## {title}{newline}", (f"{newline}§" if must_end else "") + newline)


def ending(document: Document, position: int) -> str:
    """The delimiter line to follow an entry that ends at ``position`` and holds something unclosed, if it has none."""
    if delimiter_behind(document, position):
        return ""
    at_end = not document.text[position:].strip()
    return "" if at_end and is_shared(document) else f"{document.newline}§"


def _last_newline(document: Document) -> str:
    """The newline that ends a last line without one; a CR at the end of the file is half of it already."""
    return "\n" if document.text.endswith("\r") else document.newline


def line_end(document: Document, position: int) -> int:
    """Where the line that holds ``position`` ends, in front of its LF."""
    found = document.text.find("\n", position)
    return len(document.text) if found < 0 else found


def _in_section(document: Document, section: Section, *, must_end: bool) -> Iterator[EntryPlace]:
    newline = document.newline
    last = _last_between(document, section.start + 1, section.end)
    if last:
        yield from places_behind(document, last[-1].end, must_end=must_end)
        return
    after = ending(document, section.header_end) if must_end else ""
    if not is_shared(document):
        yield EntryPlace(section.header_end, newline, after)
    # A delimiter of its own keeps it apart from a fence that an entry before the header leaves open.
    yield EntryPlace(section.header_end, f"{newline}§{newline}", after)


def _before_sections(document: Document, *, must_end: bool) -> Iterator[EntryPlace]:
    newline = document.newline
    start = document.scan.start
    end = document.sections[0].start if document.sections else len(document.text)
    last = _last_between(document, 0, end)
    title = document.scan.title
    if last:
        yield from places_behind(document, last[-1].end, must_end=must_end)
    elif title:
        yield EntryPlace(title.end, 2 * newline, ending(document, title.end) if must_end else "")
    elif document.sections:
        after = f"{newline}§" if must_end else ""
        yield EntryPlace(start, "", after + 2 * newline)
        yield EntryPlace(start, newline, after + 2 * newline)  # a text that begins with a BOM may not begin the file
    else:
        # No entry at all: behind whatever blanks and delimiters there are.
        starts_line = end == start or document.text.endswith("\n")
        yield EntryPlace(end, "" if starts_line else _last_newline(document), newline)
        yield EntryPlace(end, newline, newline)


def spans_of(document: Document, category: str) -> list[tuple[int, int]]:
    """Where the entries of a category stand: before the first section, or in the sections that open it."""
    sections = document.sections
    loose = [(document.scan.start, sections[0].start if sections else len(document.text))]
    before = loose if category == UNCATEGORIZED else []
    return before + [(section.start, section.end) for section in sections if section.category == category]


def last_entries(document: Document, category: str, most: int) -> list[Entry]:
    """The last entries of a category, ``most`` at most, in file order; no others are looked at."""
    found: list[Entry] = []
    for start, end in reversed(spans_of(document, category)):
        found[:0] = _last_between(document, start, end, most - len(found))
    return found


def _last_between(document: Document, start: int, end: int, most: int = 1) -> list[Entry]:
    """The last entries that begin between two places, looked for from behind, as files are long."""
    found: list[Entry] = []
    boundaries = document.scan
    while end > start and len(found) < most:
        behind = boundaries.delimiters_before(end)
        before = max(behind - (most - len(found)), 0)
        begin = max(start, boundaries.stretch_at(before + 1)) if before < behind else start
        found[:0] = [entry for entry in document.entries_between(begin, end) if begin <= entry.start < end]
        end = boundaries.newlines[before] if begin > start else start
    return found[len(found) - most :] if len(found) > most else found


def places_behind(document: Document, position: int, *, must_end: bool) -> Iterator[EntryPlace]:
    """Places behind an entry that ends at ``position``, the plainest first."""
    newline = document.newline
    after = ending(document, position) if must_end else ""
    yield EntryPlace(position, f"{newline}§{newline}", after)
    # What white space follows on its line may be all that keeps the entry's last line from being a delimiter.
    yield EntryPlace(line_end(document, position), f"\n§{newline}", after)


Layout = Literal["plain", "shared"]

UNCATEGORIZED_HEADER = f"## {UNCATEGORIZED}"


class _EntryGroup(NamedTuple):
    """A header line (``None`` for what stands before the first) and the entries below it, as stored."""

    header: str | None
    category: str
    entries: list[str]


def is_shared(document: Document) -> bool:
    """Whether a file with sections keeps to the ``shared`` layout, as far as an edit has to know."""
    # Each header stands alone between delimiters, and the last section is `__uncategorized__`.
    headers = document.scan.headers
    if not headers or headers[-1].category != UNCATEGORIZED:
        return False
    return all(
        delimiter_behind(document, header.end) or not document.text[header.end :].strip() for header in headers
    ) and all(delimiter_before(document, header.start) or header is headers[0] for header in headers)


def in_shared(document: Document) -> str:
    """The document's text in the ``shared`` layout; one without sections, or in it already, as it is."""
    return formatted(document, "shared") if document.sections and not is_shared(document) else document.text


def shared_within(document: Document, most: int | None) -> str | None:
    """The same; ``None`` where it would have more than ``most`` characters, or would say something else."""
    try:
        text = in_shared(document)
    except EditError:
        return None
    return None if most is not None and size_of(text) > most else text


def formatted(document: Document, layout: Layout) -> str:
    """The document's text in a layout. Formatting it again changes nothing."""
    # `plain` is for files that only catmem and people edit. `shared` is for files that stock Hermes Agent edits too; it
    # joins repeated sections, because Hermes drops a text that stands twice, and leaves a file without sections without
    # them.
    groups = _groups(document)
    pieces = _shared(document, groups) if layout == "shared" else _plain(document, groups)
    text = "".join(pieces)
    # An entry may begin with the character U+FEFF; at the head of a file without a BOM it would become one.
    bom = BOM if document.text.startswith(BOM) or text.startswith(BOM) else ""
    # Hermes Agent knows a delimiter by its LFs.
    result = bom + with_newline(text, "\n" if layout == "shared" else document.newline)
    if _contents(document, result) != _contents(document, document.text):
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


def _groups(document: Document) -> list[_EntryGroup]:
    groups = [_EntryGroup(None, UNCATEGORIZED, [])]
    sections = document.sections
    for entry in document.entries:
        while len(groups) <= len(sections) and sections[len(groups) - 1].start < entry.start:
            groups.append(_group(sections[len(groups) - 1].title, document))
        # Blanks may have kept its first or last line from being a boundary (` ## indented`) or from opening a fence.
        text = with_backslashes(entry.raw, boundary_lines(entry.raw, document.scan.categories))
        groups[-1].entries.append(unify_newlines(text))
    groups += [_group(section.title, document) for section in sections[len(groups) - 1 :]]
    return groups


def _group(title: str, document: Document) -> _EntryGroup:
    return _EntryGroup(_heading(2, title), document.scan.categories.category(title) or UNCATEGORIZED, [])


def _title_line(document: Document) -> str | None:
    return None if document.title is None else _heading(1, document.title)


def _heading(level: int, title: str) -> str:
    line = f"{'#' * level} {title}"
    # A title such as `a #` would lose its end without a closing run.
    return line if heading_at(line, 0, level)[1] == title else f"{line} #"


def _plain(document: Document, groups: list[_EntryGroup]) -> Iterator[str]:
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


def _shared(document: Document, groups: list[_EntryGroup]) -> Iterator[str]:
    """Everything joined by delimiter lines, no final newline, ``## __uncategorized__`` last."""
    title = _title_line(document)
    pieces = [] if title is None else [title]
    preamble, *sections = groups
    # Hermes Agent may remove whatever stands in front of any of them.
    pieces += [entry for single in preamble.entries for entry in _fit_for_start(document, [single])]
    joined: dict[str, _EntryGroup] = {}
    for section in sections:
        joined.setdefault(section.category, section._replace(entries=[])).entries.extend(section.entries)
    if joined:
        last = joined.pop(UNCATEGORIZED, None) or _EntryGroup(UNCATEGORIZED_HEADER, UNCATEGORIZED, [])
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


def _contents(document: Document, text: str) -> tuple[str | None, dict[str, list[tuple[str, str]]]]:
    """What a text says under the document's categories: its title, and each category's bodies and tags."""
    read = document.reread(text, titled=False)
    return read.title, {
        category: [(entry.body, str(entry.tags)) for entry in entries]
        for category, entries in sorted(read.by_category.items())
    }
