"""Edits of a document: text edits, applied, parsed again and verified (``docs/format.md``, "Writing").

Every operation takes a document and gives an ``Edited`` with a new one; nothing is changed in place. An operation
proposes its edits, the plainest first. A proposal is taken only if, in the new text, the edit is visible and every
other entry and every section is as it was; if no proposal is, the operation raises ``EditError`` and the document
stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from catmem.errors import EditError
from catmem.model.document import Document, Entry, TagValue, Version
from catmem.model.layout import (
    EntryPlace,
    delimiter_before,
    delimiter_behind,
    ending,
    has_place_for,
    left_open,
    line_end,
    line_end_before,
    place_for_entry,
    place_for_section,
    places_behind,
)
from catmem.syntax import tags as tag_blocks
from catmem.syntax.scan import boundary_lines, category_at, escape, heading_at, rescan, touched_region, unclosed_spans
from catmem.text import MAX_TAG_CHARS, unify_newlines, with_newline


class TextEdit(NamedTuple):
    """Put ``text`` in the place of the characters from ``start`` to ``end``."""

    start: int
    end: int
    text: str


class Edited(NamedTuple):
    """What an operation did: the new document, the edits of the old text that lead to it, and the entry it made."""

    document: Document
    edits: tuple[TextEdit, ...]
    entry: Entry | None


class _EditProposal(NamedTuple):
    """Edits in file order, and what they are meant to do."""

    edits: tuple[TextEdit, ...]
    gone: frozenset[int] = frozenset()
    """Where entries start in the old text that are replaced or removed."""
    made: tuple[tuple[int, Version], ...] = ()
    """Where entries start in the new text, and what they say."""
    new_section: tuple[str, str] | None = None
    """Category and title of a section that the edits open."""


def apply_edits(text: str, edits: Sequence[TextEdit]) -> str:
    """The text after edits that are in file order and do not overlap."""
    parts: list[str] = []
    done = 0
    for edit in edits:
        parts += (text[done : edit.start], edit.text)
        done = edit.end
    return "".join([*parts, text[done:]])


def add_entry(  # noqa: PLR0913 - what the entry says and where it goes, by keyword
    document: Document,
    body: str,
    *,
    category: str,
    tags: Mapping[str, TagValue] | None = None,
    title: str | None = None,
    after: Entry | None = None,
) -> Edited:
    """Add an entry at the end of its category, or behind the entry ``after``; a category without a section gets one.

    ``title`` is the title of such a section; by default it is made from the slug. Raises ``EditError``: ``empty`` (no
    text), ``bad_tag``, ``bad_category`` (not a slug), ``not_text`` (a lone surrogate).
    """
    version = _version(category, _clean(body, optional=bool(tags)), tags or {})
    return _first_verified(document, _additions(document, version, title, after))


def replace_entry(document: Document, entry: Entry, body: str, *, tags: Mapping[str, TagValue] | None = None) -> Edited:
    """Give an entry a new body, and new tags if ``tags`` is not ``None``; a kept tag block stays as it was written."""
    body = _clean(body, optional=bool(tags))
    if tags is None:
        version = Version(entry.category, body, entry.tags, tag_blocks.write_body(entry.text, body))
    else:
        version = _version(entry.category, body, tags)
    return _first_verified(document, _replacements(document, entry, version))


def retag_entry(document: Document, entry: Entry, tags: Mapping[str, TagValue]) -> Edited:
    """Give an entry other tags and keep its body. Raises ``EditError``: ``bad_tag``, ``empty`` (nothing is left)."""
    version = _version(entry.category, entry.body, tags)
    if not version.text:
        raise _nothing_to_store()
    return _first_verified(document, _replacements(document, entry, version))


def remove_entry(document: Document, entry: Entry) -> Edited:
    """Remove an entry, and one delimiter line beside it. An emptied section keeps its header."""
    edits = removal(document, entry), TextEdit(entry.start, entry.end, "")
    return _first_verified(document, (_EditProposal((edit,), frozenset({entry.start})) for edit in edits))


def move_entry(document: Document, entry: Entry, category: str, *, title: str | None = None) -> Edited:
    """Put an entry, tags and all, at the end of another category."""
    if entry.category == category:
        raise EditError(f"the entry is already in {category}", code="same_category")
    removed = remove_entry(document, entry)
    version = Version(category, entry.body, entry.tags, entry.text)
    added = _first_verified(removed.document, _additions(removed.document, version, title, None))
    return Edited(added.document, _joined(removed, added), added.entry)


# --- what is stored ------------------------------------------------------------------------------------------------


def _clean(body: str, *, optional: bool = False) -> str:
    """The body as it will come back; ``optional`` where tags are given, which may stand alone."""
    body = unify_newlines(body).strip()
    if not body and not optional:
        raise _nothing_to_store()
    try:
        body.encode()
    except UnicodeEncodeError as error:
        raise EditError(
            f"character {error.start} is a lone surrogate, which no UTF-8 file can hold", code="not_text"
        ) from None
    return body


def _version(category: str, body: str, tags: Mapping[str, TagValue]) -> Version:
    """What an entry is to say; a tag block that would be read as text is refused."""
    plain = {key: value if isinstance(value, str) else list(value) for key, value in tags.items()}
    text = tag_blocks.write(plain, body)
    size = tag_blocks.block_size(text) if plain else 0
    if size > MAX_TAG_CHARS:
        raise EditError(
            f"these tags have {size:,} characters, over the limit of {MAX_TAG_CHARS:,} for the tags of one entry",
            code="bad_tag",
            hint="Give shorter values, or put part of this into the text of the entry.",
        )
    return Version(category, body, plain, text)


def stored_text(document: Document, text: str) -> str:
    """An entry's text as it is stored in this document: the document's newlines, boundary lines escaped."""
    text = with_newline(text, document.newline)
    return escape(text, boundary_lines(text, document.scan.categories))


# --- proposals -----------------------------------------------------------------------------------------------------


def _additions(document: Document, version: Version, title: str | None, after: Entry | None) -> Iterator[_EditProposal]:
    stored = stored_text(document, version.text)
    if stored.startswith(("# ", "#\t")):
        # It would read as the title at the head of a file with sections. Escapes are lexical, so one too many is none.
        yield from _additions_as(document, version, stored, title, after)
        stored = "\\" + stored
    yield from _additions_as(document, version, stored, title, after)


def _additions_as(
    document: Document, version: Version, stored: str, title: str | None, after: Entry | None
) -> Iterator[_EditProposal]:
    must_end = bool(unclosed_spans("\n" + stored))
    section: tuple[str, str] | None = None
    places: Iterable[EntryPlace]
    if after is not None:
        places = places_behind(document, after.end, must_end=must_end)
    elif has_place_for(document, version.category):
        places = place_for_entry(document, version.category, must_end=must_end)
    else:
        section = version.category, section_title(document, version.category, title)
        places = [place_for_section(document, section[1], must_end=must_end)]
    for place in places:
        edit = TextEdit(place.position, place.position, place.before + stored + place.after)
        start = place.position + len(place.before)
        yield _EditProposal((edit,), made=((start, version),), new_section=section)


def _opens(document: Document, title: str) -> str | None:
    """The category that a heading with just this title opens; ``None`` or empty if no heading can have it."""
    readable = "\n" not in title and heading_at(f"## {title}", 0, level=2)[1] == title
    return document.scan.categories.category(title) if readable else None


def section_title(document: Document, category: str, title: str | None) -> str:
    """A title that opens ``category`` in this document."""
    readable = category.replace("-", " ")
    for candidate in (title, readable[:1].upper() + readable[1:], category):
        if candidate and _opens(document, candidate) == category:
            return candidate
    meant, hint = document.scan.categories.category(category), "A category needs a letter or a number."
    if meant != "":
        hint = "No title opens it here: declare it." if meant is None else f"Did you mean {meant[:80]!r}?"
    raise EditError(f"{category[:80]!r} is not a category", code="bad_category", hint=hint)


def _replacements(document: Document, entry: Entry, version: Version) -> Iterator[_EditProposal]:
    stored = stored_text(document, version.text)
    after = ending(document, entry.end) if unclosed_spans("\n" + stored) else ""
    gone = frozenset({entry.start})
    # White space behind the old text may spoil the delimiter line that the new one needs; then it goes too.
    ends = (entry.end, line_end(document, entry.end)) if after else (entry.end,)
    # A delimiter line in front keeps the new text from closing a fence that something before it left open, and a text
    # that begins with U+FEFF from giving the file a BOM.
    for lead, end in product(("", f"{document.newline}§{document.newline}"), ends):
        made = ((entry.start + len(lead), version),)
        for escaped in (stored, "\\" + stored) if stored.startswith(("# ", "#\t")) else (stored,):
            yield _EditProposal((TextEdit(entry.start, end, lead + escaped + after),), gone, made)


def removal(document: Document, entry: Entry) -> TextEdit:
    """Take an entry out with the delimiter behind it, or the one in front, or the rest of its line; not verified."""
    behind = delimiter_behind(document, entry.end)
    before = delimiter_before(document, entry.start)
    if behind:
        return TextEdit(entry.start, behind[1] + _newline_length(document.text, behind[1]), "")
    if before and before[0] >= document.scan.start and not left_open(document, before[0]):
        return TextEdit(line_end_before(document, before), entry.end, "")
    return TextEdit(entry.start, entry.end + _newline_length(document.text, entry.end), "")


def _newline_length(text: str, position: int) -> int:
    return 2 if text.startswith("\r\n", position) else 1 if text.startswith("\n", position) else 0


def _joined(removed: Edited, added: Edited) -> tuple[TextEdit, ...]:
    """The edits of a removal and of an insertion after it, both as edits of the first text."""
    (cut,) = removed.edits
    (insertion,) = added.edits
    if insertion.start <= cut.start:
        return insertion, cut
    position = insertion.start + cut.end - cut.start
    return cut, TextEdit(position, position, insertion.text)


# --- verification --------------------------------------------------------------------------------------------------


def _first_verified(document: Document, proposals: Iterator[_EditProposal]) -> Edited:
    for proposal in proposals:
        text = apply_edits(document.text, proposal.edits)
        start, end = proposal.edits[0].start, proposal.edits[-1].end
        new = Document(rescan(document.scan, text, start, end))
        made = list(_made(new, proposal))
        if None not in made and _leaves_the_rest(document, new, proposal):
            return Edited(new, proposal.edits, made[0] if made else None)
    raise EditError(
        "this edit would change how other entries are read, so it was not made",
        code="not_possible",
        hint="Look at the file around that place (catmem show FILE), for example for a code fence that is not closed.",
    )


def _made(new: Document, proposal: _EditProposal) -> Iterator[Entry | None]:
    for start, version in proposal.made:
        found = [entry for entry in new.entries_between(start, start + 1) if entry.start == start]
        says = [entry for entry in found if (entry.category, entry.body, entry.tags) == version[:3]]
        yield says[0] if says else None


def _leaves_the_rest(old: Document, new: Document, proposal: _EditProposal) -> bool:
    """Whether the title, the sections and all entries but those of the proposal are as they were."""
    if not _sections_agree(old, new, proposal):
        return False
    start, end = touched_region(old.scan, proposal.edits[0].start, proposal.edits[-1].end)
    if old.title != new.title:
        if old.scan.headers or old.title is not None:
            return False
        start, end = 0, len(old.text)  # a leading level-1 heading becomes the title when the first section arrives
    shift = len(new.text) - len(old.text)
    made = {position for position, _ in proposal.made}
    before = [(e.category, e.raw) for e in old.entries_between(start, end) if e.start not in proposal.gone]
    after = [(e.category, e.raw) for e in new.entries_between(start, end + shift) if e.start not in made]
    if old.title != new.title:  # then the heading is no part of the first entry any more
        (category, raw), *rest = before
        below = raw.partition("\n")[2].strip()
        before = [(category, below), *rest] if below else rest
    unchanged_behind = end == len(old.text) or category_at(old.scan, end) == category_at(new.scan, end + shift)
    return before == after and unchanged_behind


def _sections_agree(old: Document, new: Document, proposal: _EditProposal) -> bool:
    before = [(header.category, header.title) for header in old.scan.headers]
    after = [(header.category, header.title) for header in new.scan.headers]
    if proposal.new_section is None:
        return before == after
    for index, section in enumerate(after):
        if section == proposal.new_section and after[:index] + after[index + 1 :] == before:
            return True
    return False


def _nothing_to_store() -> EditError:
    return EditError("there is no text to store", code="empty", hint="Give the entry some text.")
