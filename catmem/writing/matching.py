"""What a writer saw of a file, and which entry it means: the one that holds the text it gives.

A writer names what it saw by a revision or a digest. Where an external change came since, entries are compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from catmem.config.json_schema import shown
from catmem.errors import AmbiguousError, DriftError, EditError, NoMatchError, NotUtf8Error, TooLargeError
from catmem.model.document import Document, Entry
from catmem.names import parts_of
from catmem.text import unify_newlines
from catmem.workspace.seen_entry import preview, rules_in_each, texts_of


def parse_for_write(parse: Callable[[bytes], Document], entity: str, data: bytes) -> Document:
    """The document in an entity's bytes. Raises ``DriftError`` (``not_utf8``, ``too_large``)."""
    try:
        return parse(data)
    except (NotUtf8Error, TooLargeError) as error:
        is_large = isinstance(error, TooLargeError)
        remedy = error.hint if is_large else f"'catmem fsck {entity}' shows how it could be mended, and what is gone."
        raise DriftError(
            f"{entity} holds what no tool wrote: {error.message}",
            code="too_large" if is_large else "not_utf8",
            hint=f"Nothing was written to it. {remedy}",
        ) from error


EntryWords = tuple[str, str, tuple[Any, ...]]
"""What an entry says: category, body, tags."""


class WriterView:
    """What a caller may have seen, to tell the entries that another writer changed since."""

    def __init__(self, now: Document, seen: Document | None, unread: Collection[str] = ()) -> None:
        """``seen`` is ``None`` if it cannot be read; ``unread`` are ids of entries that no writer with a view saw."""
        self._same = seen is now
        self._unread = frozenset(unread)
        self._now = Counter(() if self._same else map(entry_words, now.entries))
        self._seen = Counter(() if self._same or seen is None else map(entry_words, seen.entries))
        self._readable = seen is not None
        self._lost = {each[0] for each, count in self._seen.items() if self._now[each] < count}
        """Categories that something was taken out of."""

    def differs(self, entry: Entry, *, to_agent: bool = False) -> bool:
        """Whether another writer changed the entry since the caller saw it."""
        if self._unread and entry.id in self._unread:
            return True
        if self._same:
            return False
        words = entry_words(entry)
        if self._now[words] == self._seen[words]:
            return False
        if to_agent or not self._readable or self._seen[words]:
            return True
        # A person who means one that is only new has seen it; where something is gone it may be that in new words.
        return entry.category in self._lost

    def unread(self, document: Document, knows: Callable[[Entry], bool]) -> list[str]:
        """The ids of the entries of a document that another writer changed since, and that its writer ``knows`` not."""
        if self._same and not self._unread:
            return []
        return [entry.id for entry in document.entries if self.differs(entry) and not knows(entry)]


def entry_words(entry: Entry) -> EntryWords:
    """What an entry says, to be compared and counted."""
    tags = tuple((key, value if isinstance(value, str) else tuple(value)) for key, value in entry.tags.items())
    return entry.category, entry.body, tags


# --- the entry that is meant ---------------------------------------------------------------------------------------

_ID = re.compile(r"b2:[0-9a-f]{32}")
_WORDS = re.compile(r"\w+")
_NAMED = 8
"""Entries that a message names at most."""
_CANDIDATE = 200
"""Characters of a candidate that are shown."""
_NEAREST = 3
_ALIKE = 0.3
"""The share of the words that are given which the nearest entries have."""


class VisibleEntries(NamedTuple):
    """The entries of a file that a caller may be shown, and how errors speak of them."""

    document: Document
    entity: str
    entries: Sequence[Entry]
    to_agent: bool


def find_entry(sight: VisibleEntries, old_text: str, among: Sequence[Entry]) -> tuple[Entry, int]:
    """The one entry of ``among`` whose body holds ``old_text``, or whose id it is; and how many say the same as it."""
    # Where several hold it, the one whose whole body it is, if there is one such; of equal ones the first.
    refuse_empty(old_text)
    found = entries_holding(old_text, among, to_agent=sight.to_agent)
    whole = unify_newlines(old_text).strip()
    exact = [entry for entry in found if entry.body == whole]
    for meant in (found, exact):
        if meant and all(entry_words(entry) == entry_words(meant[0]) for entry in meant[1:]):
            return meant[0], len(meant)
    if found:
        raise ambiguous(sight.document, shown(old_text), found, sight.entity, to_agent=sight.to_agent)
    raise no_match(old_text, sight.entries, sight.entity, to_agent=sight.to_agent)


def no_match(wanted: str, visible: Sequence[Entry], entity: str, *, to_agent: bool) -> NoMatchError:
    """The error for a text that no entry holds, with the nearest of those that may be shown."""
    look = "List the entries to see" if to_agent else f"See with 'catmem list -p {parts_of(entity).owner}'"
    hint = f"{look} what is there, and give a piece of the text of one."
    words = _words(wanted)
    shared = ((len(words & _words(entry.body)), entry) for entry in visible)
    rows = [row for row in shared if row[0] > _ALIKE * len(words)]
    alike = [entry for _, entry in sorted(rows, key=lambda row: row[0], reverse=True)]
    if near := (_not_withheld(alike) if to_agent else alike)[:_NEAREST]:
        quoted = "; ".join(f"{preview(entry, to_agent=to_agent)!r} ({entry.category})" for entry in near)
        hint = f"The nearest: {quoted}. Give a piece of the text as it is there; a list shows the others."
    return NoMatchError(f"no entry of {entity} holds {shown(wanted)}", hint=hint)


def refuse_empty(old_text: str) -> None:
    """Raise ``EditError`` (``empty``) for a text that names no entry, since all hold it."""
    if not old_text.strip():
        raise EditError(
            "old_text is empty, and every entry holds that",
            code="empty",
            hint="Give a piece of the entry's text that no other entry holds, or its id.",
        )


def entries_holding(wanted: str, among: Sequence[Entry], *, to_agent: bool) -> list[Entry]:
    """The entries whose body holds a text; those of an id, where it is one that an entry has.

    An agent names what is withheld from it by the id alone: by words it could guess them piece by piece.
    """
    if _ID.fullmatch(wanted):
        named = [entry for entry in among if entry.id == wanted]
        if named:
            return named
    # A text that came through a shell or a model may have other newlines than the body, and one more at its end.
    for text in dict.fromkeys((wanted, unify_newlines(wanted), unify_newlines(wanted).strip())):
        found = [entry for entry in among if may_hold(entry, text) and text in entry.body]
        if found := _not_withheld(found) if to_agent else found:
            return found
    return []


def _not_withheld(entries: Sequence[Entry]) -> list[Entry]:
    return [
        entry for entry, rules in zip(entries, rules_in_each(list(map(texts_of, entries))), strict=True) if not rules
    ]


def may_hold(entry: Entry, text: str) -> bool:
    """Whether the body of an entry may hold a text; false where it certainly does not. Soon said, for many entries."""
    raw = entry.raw
    # A list marker comes before the words again where tags stood between the two.
    return text in raw or raw[0] in "-*+" or "\\" in raw or "\r" in raw


def ambiguous(document: Document, said: str, found: Sequence[Entry], entity: str, *, to_agent: bool) -> AmbiguousError:
    """The error for a text, by what is ``said`` of it, that several entries hold, with what tells them apart."""
    # An agent is given no lines: their numbers tell how much stands before them that it does not see.
    named = found[:_NAMED]
    places: list[dict[str, Any]] = [{"category": entry.category, "id": entry.id} for entry in named]
    if to_agent:
        where = ", ".join(f"{place['id']} ({place['category']})" for place in places)
    else:
        places = [{"line": document.line(entry.start), **place} for entry, place in zip(named, places, strict=True)]
        where = ", ".join(f"line {place['line']} ({place['category']})" for place in places)
    more = f" and {len(found) - len(named)} more" if len(found) > len(named) else ""
    return AmbiguousError(
        f"{len(found)} entries of {entity} hold {said}: {where}{more}",
        candidates=tuple(preview(entry, to_agent=to_agent, length=_CANDIDATE) for entry in named),
        places=places,
        hint="Give a longer piece of the text, the category, or the id of the entry.",
    )


def _words(text: str) -> set[str]:
    return set(_WORDS.findall(text.casefold()))
