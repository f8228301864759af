"""Entries that are to be forgotten, found in any bytes: revisions, backups, files that are no text, lines of others.

Entries are found as the root parses them, so that no header, delimiter or other entry is ever touched. Bytes that are
no UTF-8 are read too: each bad byte stands as one private character while entries are looked for.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from catmem.errors import EditError, NotUtf8Error, TooLargeError
from catmem.model.document import Entry
from catmem.model.edit import apply_edits, remove_entry
from catmem.names import UNCATEGORIZED
from catmem.store.contract import DECISION
from catmem.text import unify_newlines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from catmem.model.document import Document

PURGED = "[purged]"
"""What stands in old revisions where the text was."""

_STAND_INS = {0xDC80 + byte: 0xF780 + byte for byte in range(0x80)}
"""What Python reads a bad byte as, and the private character that stands for it while entries are looked for."""
_STAND_IN = re.compile("[\uf780-\uf7ff]")

_PIECES = re.compile("[\n\uf780-\uf7ff]")
_MARKER = re.compile(r"[-*+] ")
_LINE = re.compile(r"[^\n\0]*(?:[\n\0]|\Z)")
_HALF = 2
_FEW = 32


class Read(NamedTuple):
    """A document, and its text as it was: where bytes are no UTF-8, with surrogates in the place of stand-ins."""

    document: Document
    text: str


def read(parse: Callable[[bytes | str], Document], data: bytes) -> Read | None:
    """The bytes as a document, whatever they are; ``None`` if they are too large for one."""
    try:
        try:
            document = parse(data)
        except NotUtf8Error:
            text = data.decode(errors="surrogateescape")
            return Read(parse(text.translate(_STAND_INS)), text)
    except TooLargeError:
        return None
    return Read(document, document.text)


def entries_near(document: Document, needle: bytes) -> Sequence[Entry]:
    """Every entry that has the needle in it, and perhaps others; an empty needle is in all."""
    wanted, text = needle.decode(), document.text
    if not wanted or text.count(wanted) > _FEW:
        return document.entries
    found: dict[int, Entry] = {}
    position = text.find(wanted)
    while position >= 0:
        end = position + len(wanted)
        for entry in document.entries_between(position, end):
            found[entry.start] = entry
            end = max(end, entry.end)
        position = text.find(wanted, end)
    return [found[start] for start in sorted(found)]


def says(entry: Entry) -> str:
    """What an entry is known by: its body, or its tags if it has nothing else."""
    return entry.body or entry.text


def is_purged(entry: Entry) -> bool:
    """Whether this is only the mark of an entry that was forgotten before."""
    return entry.raw == PURGED


def needle_of(text: str) -> bytes:
    """Bytes that stand in every file with an entry that says ``text``: its longest line, however it is stored.

    Tags, list markers and escapes stand in front of a line, and newlines behind it.
    """
    lines = unify_newlines(text).strip().split("\n")
    lines[0] = _MARKER.sub("", lines[0], count=1)
    pieces = [piece.strip() for line in lines for piece in _PIECES.split(line)]
    return max((piece.encode(errors="replace") for piece in pieces), key=len)


class Redaction:
    """Takes the entries with certain bodies out of bytes, and leaves every other byte as it is."""

    def __init__(
        self,
        parse: Callable[[bytes | str], Document],
        bodies: Iterable[str],
        *,
        needle: bytes,
        text: str | None = None,
    ) -> None:
        """``needle`` stands in all bytes that may hold one of the bodies.

        ``text`` is what all of them hold, if they were chosen by that.
        """
        self.bodies = frozenset(bodies)
        self.text = text
        self._parse = parse
        self.needle = needle
        """What stands in all bytes that may hold one of the bodies."""
        self._known: dict[str, bool] = {}
        self._held: dict[bytes, bool] = {}
        self._by_first_line: dict[str, list[list[str]]] = {}
        parts = {line for body in self.bodies for line in body.split("\n") if _STAND_IN.search(line)}
        for body in sorted(self.bodies | parts, key=len, reverse=True):
            lines = [line.strip() for line in body.split("\n")]
            self._by_first_line.setdefault(lines[0], []).append(lines)

    # --- memory files -----------------------------------------------------------------------------------------------

    def entries(self, data: bytes) -> list[Entry]:
        """The entries that are to be forgotten."""
        found = read(self._parse, data) if self.needle in data else None
        return [entry for entry in entries_near(found.document, self.needle) if self._is_one(entry)] if found else []

    def __call__(self, data: bytes) -> bytes:
        """The bytes with a mark in the place of each such entry; the same bytes if there is none."""
        if self.needle not in data:
            return data
        found = read(self._parse, data)
        if found is None:
            return self.lines(data)
        near = entries_near(found.document, self.needle)
        spans = [(entry.start, entry.end) for entry in near if self._is_one(entry)]
        return _marked(found.text, spans) if spans else data

    def note(self, note: Mapping[str, Any], data: bytes) -> Mapping[str, Any]:
        """The note of a revision without evidence and reasons for such entries, and without any that quote them."""
        actions, decision = note.get("actions", ()), note.get(DECISION)
        if not any("evidence" in each for each in actions) and "reason" not in {*note, *(decision or ())}:
            return note
        ids, quoted = {entry.id for entry in self.entries(data)}, [self.text] if self.text else self.bodies

        def quotes(words: object) -> bool:
            return any(text in str(words) for text in quoted)

        def is_one(action: Mapping[str, Any]) -> bool:
            return action["id"] in ids or quotes(action.get("evidence", ""))

        is_about = any(each["id"] in ids for each in actions)
        bare = {key: value for key, value in note.items() if key != "reason" or not (is_about or quotes(value))}
        if actions:
            said = [{k: v for k, v in each.items() if k != "evidence" or not is_one(each)} for each in actions]
            bare["actions"] = said
        if decision and quotes(decision.get("reason", "")):
            bare[DECISION] = {key: value for key, value in decision.items() if key != "reason"}
        return bare

    def holds(self, data: bytes) -> bool:
        """Whether there is such an entry; the answer is kept, since the same text lies in several places."""
        if self.needle not in data:
            return False
        digest = sha256(data).digest()
        known = self._held.get(digest)
        if known is None:
            known = self._held[digest] = self(data) != data
        return known

    def without(self, data: bytes) -> bytes:
        """The bytes without such entries, as if each had been removed by an edit. Raises ``TooLargeError``."""
        found = read(self._parse, data) if self.needle in data else None
        if found is None:
            return self(data)
        document, text = found
        while entry := next((entry for entry in document.entries if self._is_one(entry)), None):
            try:
                edited = remove_entry(document, entry)
            except EditError:
                # Without it other entries would read otherwise: then the mark takes its place.
                return self(text.encode(errors="surrogateescape"))
            text = apply_edits(text, edited.edits)
            document = edited.document
        return text.encode(errors="surrogateescape")

    def _is_one(self, entry: Entry) -> bool:
        raw = entry.raw
        known = self._known.get(raw)
        if known is None:
            known = self._known[raw] = says(entry) in self.bodies and not is_purged(entry)
        return known

    # --- bytes that are no memory file, or half of one --------------------------------------------------------------

    def lines(self, data: bytes, *, with_text: bool = False) -> bytes:
        """The bytes with a mark in the place of lines that say the whole of such an entry, in any of its forms.

        ``with_text``: of every line too that holds the text itself.
        """
        if self.needle not in data:
            return data
        text = data.decode(errors="surrogateescape")
        seen = text.translate(_STAND_INS)
        places = [match.span() for match in _LINE.finditer(seen) if match.end() > match.start()]
        said = [seen[start:end].strip("\r\n\0").strip() for start, end in places]
        spans: list[tuple[int, int]] = []
        number = 0
        while number < len(said):
            count = self._whole_from(said, number)
            if not count and with_text and self.text and self.text in said[number]:
                count = 1
            if count:
                last = places[number + count - 1]
                ending = len(seen[last[0] : last[1]].rstrip("\r\n\0"))
                spans.append((places[number][0], last[0] + ending))
            number += count or 1
        return _marked(text, spans) if spans else data

    def _whole_from(self, said: list[str], number: int) -> int:
        """How many lines from this one on say the whole of such an entry; 0 if they do not."""
        first, *more = _bodies_of(said[number])
        for lines in self._by_first_line.get(first, ()):
            count = len(lines)
            rest = said[number + 1 : number + count]
            if not more and len(rest) == count - 1 and all(map(_says_line, rest, lines[1:])):
                return count
        return 0

    def holds_text(self, data: bytes) -> bool:
        """Whether an entry holds the text by which the bodies were chosen, in these or in other words."""
        if self.text is None or self.needle not in data:
            return False
        found = read(self._parse, data)
        if found is None:
            return self.text.encode() in data
        near = entries_near(found.document, self.needle)
        return any(self.text in entry.body for entry in near if not is_purged(entry))

    def is_cut(self, data: bytes) -> bool:
        """Whether the bytes end within such an entry, at half of it or more: a write that was stopped."""
        found = read(self._parse, data)
        last = found.document.entries[-1:] if found else ()
        return any(
            body.startswith(says(entry)) and len(says(entry)) * _HALF >= len(body)
            for entry in last
            for body in self.bodies
        )


def lines_with(text: str, data: bytes) -> Iterator[Entry]:
    """The lines that hold a text, as entries, of a file that has no entries of its own."""
    for line in data.decode(errors="surrogateescape").translate(_STAND_INS).split("\n"):
        raw = line.strip()
        if text in raw and raw != PURGED:
            yield Entry(UNCATEGORIZED, 0, len(raw), raw)


def _bodies_of(line: str) -> list[str]:
    """What a line says as the first one of an entry."""
    return Entry(UNCATEGORIZED, 0, len(line), line).body.split("\n") if line else [""]


def _says_line(line: str, body_line: str) -> bool:
    return line == body_line or (line.startswith("\\") and line[1:] == body_line)


def _marked(text: str, spans: list[tuple[int, int]]) -> bytes:
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts += (text[done:start], PURGED)
        done = end
    return "".join([*parts, text[done:]]).encode(errors="surrogateescape")
