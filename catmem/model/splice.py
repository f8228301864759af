"""A text with the entries that a merge gives it, where what no edit touches keeps its bytes; or one made of entries.

All edits are made at once and the result is read again. Where it does not say what was meant (beside a fence that
is left open, and the like), the edits are made one by one, each verified (``model/edit``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from catmem.errors import EditError
from catmem.model.document import Document, Entry, Version
from catmem.model.edit import (
    TextEdit,
    add_entry,
    apply_edits,
    removal,
    remove_entry,
    replace_entry,
    section_title,
    stored_text,
)
from catmem.model.layout import ending, place_for_entry, place_for_section
from catmem.names import UNCATEGORIZED
from catmem.syntax.scan import unclosed_spans


@dataclass(slots=True)
class Slot:
    """The place of one entry: what is to stand there (nothing, if it goes), and what is to come behind it.

    Everything in a slot has the category of its entry.
    """

    entry: Entry
    versions: list[Version]
    behind: list[Version] = field(default_factory=list)


def spliced(
    document: Document,
    slots: Sequence[Slot],
    first: Mapping[str, Sequence[Version]],
    titles: Mapping[str, str],
    title: str | None,
) -> str:
    """The text of ``document`` with its slots filled, ``first`` at the head of each category, and ``title``."""
    meant = _meant(slots, first)
    text = apply_edits(document.text, _edits(document, slots, first, titles))
    read = document.reread(text)
    if not _holds_just(read, meant) or read.title != document.title:
        read = _one_by_one(document, slots, first, titles)
    if read.title != title:
        read = document.reread(_retitled(read, title))
    if not _holds_just(read, meant, in_any_order=True) or read.title != title:
        raise EditError("no text says what was merged, so nothing was", code="not_possible")
    return read.text


def composed(versions: Iterable[Version], titles: Mapping[str, str], like: Document) -> Document:
    """A document of these entries, in their order within each category; categories in order of their first entry."""
    # `titles` are those of the sections, made from the slug where one is missing. `like` says which categories are
    # declared, and under which other names.
    grouped: dict[str, list[Version]] = {}
    for version in versions:
        grouped.setdefault(version.category, []).append(version)
    loose = grouped.pop(UNCATEGORIZED, None)
    document = like.reread("", titled=False)
    if grouped:
        document = document.reread(spliced(document, [], grouped, titles, None))
    if loose:
        slots = [
            Slot(entry, [version])
            for category, entries in document.by_category.items()
            for entry, version in zip(entries, grouped[category], strict=True)
        ]
        document = document.reread(spliced(document, slots, {UNCATEGORIZED: loose}, {}, None))
    return document


def titled(document: Document) -> Document:
    """The document with a leading level-1 heading as its title, also if it has no sections."""
    # When the first section arrives such a heading becomes the title, so a merge takes it for one on every side.
    return document.reread(document.text, titled=True)


def headed(document: Document, base: Document, other: Document) -> Document:
    """The document with headings that the other side alone spells otherwise than the base, or adds without entries."""
    in_base, in_other = ({section.category: section for section in side.sections} for side in (base, other))
    respelled = [
        TextEdit(section.start, section.header_end, other.text[theirs.start : theirs.header_end])
        for section in document.sections
        if (theirs := in_other.get(section.category)) and theirs.title != section.title
        if (before := in_base.get(section.category)) and before.title == section.title
    ]
    text = apply_edits(document.text, respelled)
    known = {*in_base, *other.by_category, *(section.category for section in document.sections)}
    added = [section for section in in_other.values() if section.category not in known]
    if added:
        headings = [other.text[section.start : section.header_end] for section in added]
        text = (2 * document.newline).join([*filter(None, [text.rstrip("\r\n")]), *headings]) + document.newline
    read = document.reread(text) if text != document.text else document
    # In a fence that is not closed a heading would be a piece of an entry.
    return read if [each.raw for each in read.entries] == [each.raw for each in document.entries] else document


def _retitled(document: Document, title: str | None) -> str:
    """The text with another title, a new one or none."""
    line = "" if title is None else f"# {title} #" if title.endswith("#") else f"# {title}"
    old = document.scan.title
    if old:
        return apply_edits(document.text, [TextEdit(old.start, old.end, line)])
    start = document.scan.start
    return apply_edits(document.text, [TextEdit(start, start, line + 2 * document.newline)])


def _holds_just(document: Document, meant: Mapping[str, list[Version]], *, in_any_order: bool = False) -> bool:
    """Whether a document says just this; one by one, what was to come first in its category may have come last."""
    found = document.by_category
    # To compare texts is far quicker than to read what they say.
    if {category: [entry.text for entry in entries] for category, entries in found.items()} == {
        category: [version.text for version in versions] for category, versions in meant.items()
    }:
        return True
    order = sorted if in_any_order else list
    return {
        category: order((entry.body, str(entry.tags)) for entry in entries) for category, entries in found.items()
    } == {
        category: order((version.body, str(version.tags)) for version in versions)
        for category, versions in meant.items()
    }


def _meant(slots: Sequence[Slot], first: Mapping[str, Sequence[Version]]) -> dict[str, list[Version]]:
    """What each category is to hold."""
    meant: dict[str, list[Version]] = {category: list(versions) for category, versions in first.items()}
    for slot in slots:
        meant.setdefault(slot.entry.category, []).extend([*slot.versions, *slot.behind])
    return {category: versions for category, versions in meant.items() if versions}


def _edits(
    document: Document, slots: Sequence[Slot], first: Mapping[str, Sequence[Version]], titles: Mapping[str, str]
) -> list[TextEdit]:
    heads = {slot.entry.category: slot.entry for slot in reversed(slots)}
    # Where all that a section had goes, what is new takes the place of its first entry: no delimiter is left over.
    gone = heads.keys() - {slot.entry.category for slot in slots if slot.versions or slot.behind}
    instead = {heads[category].start: versions for category, versions in first.items() if category in gone}
    filled = (Slot(each.entry, [*instead.get(each.entry.start, each.versions)], each.behind) for each in slots)
    edits = [edit for slot in filled for edit in _slot_edits(document, slot)]
    placed = {UNCATEGORIZED, *(header.category for header in document.scan.headers)}
    new_sections: list[tuple[str, Sequence[Version]]] = []
    for category, versions in ((name, versions) for name, versions in first.items() if name not in gone):
        if category in heads:
            start, newline = heads[category].start, document.newline
            edits.append(TextEdit(start, start, f"{_joined(document, versions)}{newline}§{newline}"))
        elif category in placed:
            place = next(iter(place_for_entry(document, category, must_end=_is_open(versions[-1]))))
            edits.append(
                TextEdit(place.position, place.position, place.before + _joined(document, versions) + place.after)
            )
        else:
            new_sections.append((category, versions))
    if new_sections:
        edits.append(_sections(document, new_sections, titles))
    # Where two begin at one offset, what comes first in the file was made first.
    return _apart(sorted(edits, key=lambda edit: (edit.start, edit.end)))


def _slot_edits(document: Document, slot: Slot) -> Iterable[TextEdit]:
    entry = slot.entry
    kept = len(slot.versions) > 0 and slot.versions[0].text == entry.text
    if kept:
        added = [*slot.versions[1:], *slot.behind]
        if added:
            lead = f"{document.newline}§{document.newline}"
            yield TextEdit(entry.end, entry.end, lead + _joined(document, added) + _end(document, entry, added))
    elif slot.versions or slot.behind:
        filling = [*slot.versions, *slot.behind]
        yield TextEdit(entry.start, entry.end, _joined(document, filling) + _end(document, entry, filling))
    else:
        yield removal(document, entry)


def _sections(
    document: Document, sections: Sequence[tuple[str, Sequence[Version]]], titles: Mapping[str, str]
) -> TextEdit:
    """New sections, one behind the other, where the first of them has its place."""
    newline = document.newline
    named = [(section_title(document, category, titles.get(category)), versions) for category, versions in sections]
    (first_title, first_versions), *others = named
    place = place_for_section(document, first_title, must_end=_is_open(named[-1][1][-1]))
    delimited = place.before.endswith(f"§{newline}")  # the shared layout, where every header stands by itself
    text = place.before + _joined(document, first_versions)
    for (title, versions), (_, before) in zip(others, named, strict=False):
        if delimited:
            text += f"{newline}§{newline}## {title}{newline}§{newline}"
        else:
            end = f"{newline}§" if _is_open(before[-1]) else ""
            text += f"{end}{2 * newline}## {title}{newline}"
        text += _joined(document, versions)
    return TextEdit(place.position, place.position, text + place.after)


def _joined(document: Document, versions: Sequence[Version]) -> str:
    return f"{document.newline}§{document.newline}".join(_fit(document, version) for version in versions)


def _fit(document: Document, version: Version) -> str:
    stored = stored_text(document, version.text)
    # At the head of a file it would read as the title. Escapes are lexical, so one too many is none.
    return f"\\{stored}" if stored.startswith(("# ", "#\t")) else stored


def _end(document: Document, entry: Entry, versions: Sequence[Version]) -> str:
    return ending(document, entry.end) if _is_open(versions[-1]) else ""


def _is_open(version: Version) -> bool:
    return bool(unclosed_spans(version.text))


def _apart(edits: list[TextEdit]) -> list[TextEdit]:
    """Edits in order without overlap: two removals may both reach for the delimiter between them."""
    done: list[TextEdit] = []
    end = 0
    for edit in edits:
        done.append(TextEdit(max(edit.start, end), max(edit.end, end), edit.text))
        end = done[-1].end
    return done


def _as_given(body: str) -> str:
    """A body in the form that edits take: they read CRLF as one line end, and a body may hold a CR before its own."""
    return body.replace("\n", "\r\n")


def _one_by_one(
    document: Document, slots: Sequence[Slot], first: Mapping[str, Sequence[Version]], titles: Mapping[str, str]
) -> Document:
    # From the last to the first, so that the entries still to be done stand where they stood.
    for slot in reversed(slots):
        for version in reversed([*slot.versions[1:], *slot.behind]):
            document = add_entry(
                document, _as_given(version.body), category=slot.entry.category, tags=version.tags, after=slot.entry
            ).document
        if not slot.versions:
            document = remove_entry(document, slot.entry).document
        elif slot.versions[0].text != slot.entry.text:
            version = slot.versions[0]
            document = replace_entry(document, slot.entry, _as_given(version.body), tags=version.tags).document
    # Sections first: a text that looks like a title is escaped only in a file that has some.
    for category, versions in sorted(first.items(), key=lambda one: one[0] == UNCATEGORIZED):
        for version in versions:
            title = titles.get(category)
            document = add_entry(
                document, _as_given(version.body), category=category, tags=version.tags, title=title
            ).document
    return document
