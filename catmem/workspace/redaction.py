"""What is to be forgotten, and any bytes without it: revisions, backups, files that are no text, lines of others.

In memory files these are entries, found as the root parses them, so that no delimiter or other entry is ever touched.
In the past of the own file a heading or another line that says the words goes too. What cannot be parsed, as whatever a
declared entity holds, is not taken apart: it goes whole if it says the words.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from catmem.errors import EditError, NotUtf8Error, TooLargeError, UnreadableError
from catmem.model.document import Document, Entry
from catmem.model.edit import TextEdit, apply_edits, remove_entry
from catmem.names import PURGED, UNCATEGORIZED, slugify
from catmem.store.contract import DECISION, Kept, Revision
from catmem.text import unify_newlines

_MARKER = re.compile(r"[-*+] ")
_ENCODINGS = ("utf-8", "cp1252", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
_QUOTED = r"(?:(?<=\n)[>#][ \t\r\n>#]*)?"
"""The marks of a quotation or a comment, before the words go on in a new line."""


# --- how words are found ---------------------------------------------------------------------------------------------


def said_in(words: str, text: str | bytes) -> bool:
    """Whether a text says words: as they are, folded over lines, or as a value in quotes or JSON spells them."""
    for each in [text] if isinstance(text, str) else _readings(text):
        if words in each or spelled(words, escaped="\\" in each).search(each) is not None:
            return True
    return False


def _readings(data: bytes) -> Iterator[str]:
    """Bytes as text; those that are no UTF-8 as each text that they may be."""
    try:
        yield data.decode()
    except UnicodeDecodeError:
        yield from (data.decode(each, errors="replace") for each in _ENCODINGS)
    else:  # ASCII in two or four bytes each is UTF-8 too
        yield from (data.decode(each, errors="replace") for each in _ENCODINGS if b"\0" in data)


@lru_cache(maxsize=64)
def spelled(words: str, *, escaped: bool = True) -> re.Pattern[str]:
    """A pattern for all spellings of words; the ``escaped`` ones take longer to look for."""
    blank = r"[ \t\r\n]+"
    if escaped:
        blank = r"(?:[ \t\r\n]|\\(?:[ntr\n ]|(?:x|u00|U000000)(?i:20|09|0a|0d)))+"
    ways = []
    for said in dict.fromkeys((words, unicodedata.normalize("NFC", words))):
        pieces = re.split(r"[ \t\r\n]+", said)
        ways.append(
            (blank + _QUOTED).join("".join(_spellings(each, escaped=escaped) for each in piece) for piece in pieces)
        )
    return re.compile(f"(?:{'|'.join(ways)})")


def _spellings(character: str, *, escaped: bool) -> str:
    ways = ["''?" if character == "'" else re.escape(character)]
    if escaped:
        code, units = f"{ord(character):08x}", character.encode("utf-16-be").hex()
        escapes = [r"\\".join(f"u(?i:{units[start : start + 4]})" for start in range(0, len(units), 4))]
        escapes += [f"U(?i:{code})", *([f"x(?i:{code[6:]})"] if code < "00000100" else [])]
        ways.append(re.escape(json.dumps(character, ensure_ascii=False)[1:-1].replace("/", "\\/")))
        ways.append(rf"\\(?:{'|'.join(escapes)})")
    parts = unicodedata.normalize("NFD", character)
    if parts != character:
        ways.append("".join(_spellings(each, escaped=escaped) for each in parts))
    return f"(?:{'|'.join(dict.fromkeys(ways))})"


@lru_cache(maxsize=64)
def needle_of(words: str) -> str:
    """What stands in every file with an entry that says words: their longest line, however it is stored."""
    lines = words.strip().split("\n")
    lines[0] = _MARKER.sub("", lines[0], count=1)
    return max(map(str.strip, lines), key=len)


@lru_cache(maxsize=64)
def _lines_saying(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?m)^(#+ )?[^\n]*?{spelled(words).pattern}[^\n]*?(?=\r?(?:\n|\Z))")


# --- what goes -------------------------------------------------------------------------------------------------------


def read(parse: Callable[[bytes | str], Document] | None, data: bytes | str) -> Document | None:
    """The bytes as a document; ``None`` if they are no UTF-8, too large for one, or never one."""
    try:
        return parse(data) if parse else None
    except (NotUtf8Error, TooLargeError):
        return None


def entries_with(document: Document, needle: str) -> list[Entry]:
    """The entries that have a needle in them, but for marks."""
    search = spelled(needle, escaped="\\" in document.text).search
    return [entry for entry in document.entries if search(entry.raw) and not is_purged(entry)]


def says(entry: Entry) -> str:
    """What an entry is known by: its body, or its tags if it has nothing else."""
    return entry.body or entry.text


def is_purged(entry: Entry) -> bool:
    """Whether this is only the mark of an entry that was forgotten before."""
    return entry.raw == PURGED


def content_redaction(words: str, content: Literal["text", "json"] = "text") -> Redaction:
    """What is to be forgotten in a declared entity."""
    return Redaction(None, words, mark=f'"{PURGED}"' if content == "json" else PURGED)


def choose(parse: Callable[[bytes | str], Document], words: str, texts: Iterable[bytes]) -> Redaction:
    """What is to be forgotten by words or an id: each body that an entry of some texts with them has."""
    with_id, with_words = set(), set()
    is_id, needle = words.startswith("b2:"), needle_of(words)
    for data in texts:
        # An id is no text that any file holds.
        document = read(parse, data) if is_id or said_in(needle, data) else None
        if is_id and document:
            with_id |= {says(entry) for entry in document.entries if entry.id == words}
        for entry in entries_with(document, needle) if document else ():
            # An entry that holds the words in its tags alone is known by its whole text.
            with_words |= {*[text for text in (says(entry), entry.text) if said_in(words, text)][:1]}
    return Redaction(parse, next(iter(with_id), words), frozenset(with_id or with_words), bool(with_id))


@dataclass(frozen=True)
class Redaction:
    """Takes entries with certain ``bodies`` out of bytes, and leaves every other byte as it is.

    ``words`` are those by which the bodies were chosen, or the one body that an id named (``is_exact``). ``parse`` is
    how the root reads a document; without it all bytes go whole. ``is_own``: of the file that was named.
    """

    parse: Callable[[bytes | str], Document] | None
    words: str
    bodies: frozenset[str] = frozenset()
    is_exact: bool = False
    is_own: bool = True
    mark: str = PURGED

    def elsewhere(self) -> Redaction:
        """The same for files of others, in which other entries that say the words are left."""
        return replace(self, is_own=False)

    def __call__(self, data: bytes) -> bytes:
        """The bytes with a mark in the place of each such entry and line, or of all that cannot be parsed."""
        return self.taken_from(data)[0]

    def taken_from(self, data: bytes) -> tuple[bytes, list[Entry]]:
        """What is left of the bytes, and the entries that are to be forgotten."""
        if not said_in(needle_of(self.words), data):
            return data, []
        document = read(self.parse, data)
        if document is None:
            return (self.mark.encode() if self.in_bytes(data) else data), []
        entries = self._chosen(document)
        rest = _marked(document.text, entries) if entries else data
        # A mark and what stands around it may be the text anew, so it is looked again until there is none.
        while self.line_with_text(rest):
            rest = _lines_saying(self.words).sub(rf"\g<1>{PURGED}", rest.decode()).encode()
        return rest, entries

    def _chosen(self, document: Document) -> list[Entry]:
        there = entries_with(document, needle_of(self.words))
        return [entry for entry in there if says(entry) in self.bodies or entry.text in self.bodies]

    def line_with_text(self, data: bytes) -> int | None:
        """The number of the first line of the own file that says the words."""
        if not self.is_own or self.is_exact or not said_in(needle_of(self.words), data):
            return None
        text = data.decode()
        found = _lines_saying(self.words).search(text)
        return text.count("\n", 0, found.start()) + 1 if found else None

    def without(self, data: bytes, entity: str) -> bytes:
        """The present text without such entries, each removed by an edit, and without empty headings that say so.

        Raises ``EditError`` (``in_content``) for what its writers alone change, ``UnreadableError`` for no document.
        """
        if not self.holds(data):
            return data
        if self.parse is None:
            hint = f"Write it without them (catmem write {entity} FILE --expected REVISION), and purge again"
            hint = f"Nothing was forgotten. {hint}: every revision, branch and copy that holds them goes whole."
            raise EditError(f"{entity} holds the words now", code="in_content", hint=hint)
        try:
            document = self.parse(data)
        except UnreadableError as error:
            message = f"{entity} holds the text, and cannot be taken apart: {error.message}"
            hint = f"Nothing was forgotten there. Purge again when it is mended: 'catmem fsck {entity}' says how."
            raise UnreadableError(message, code=error.code, hint=hint) from error
        while chosen := self._chosen(document):
            try:
                document = remove_entry(document, chosen[0]).document
            except EditError:
                # Without it other entries would read otherwise: then the mark takes its place.
                return _marked(document.text, chosen)
        text = document.text
        empty = [each for each in document.sections if not text[each.header_end : each.end].strip()]
        gone = [each for each in empty if self.line_with_text(text[each.start : each.end].encode())]
        return apply_edits(text, [TextEdit(each.start, each.end, "") for each in gone]).encode()

    # --- the note of a revision -------------------------------------------------------------------------------------

    def note(self, note: Mapping[str, Any], data: bytes) -> Mapping[str, Any]:
        """The note of a revision without evidence and reasons for such entries, and without any that quote them.

        A mark takes the place of a category whose slug says the words.
        """
        actions = note.get("actions", ())
        has_texts = any({"reason", "evidence"} & each.keys() for each in (note, *actions))
        ids = {entry.id for entry in self.taken_from(data)[1]} if has_texts else set()

        def bare(said: Mapping[str, Any], *, is_about: bool = False) -> dict[str, Any]:
            goes = is_about or said_in(self.words, str(said.get("reason", said.get("evidence", ""))))
            rest = {key: value for key, value in said.items() if not (goes and key in {"reason", "evidence"})}
            return rest | ({"category": self.category(said["category"])} if "category" in said else {})

        rest = bare(note, is_about=any(each["id"] in ids for each in actions))
        rest |= {"actions": [bare(each, is_about=each["id"] in ids) for each in actions]} if actions else {}
        rest |= {DECISION: bare(note[DECISION])} if DECISION in note else {}
        if "sorted" in note:
            rest["sorted"] = {self.category(name): count for name, count in note["sorted"].items()}
        if "declared" in note:
            rest["declared"] = list(map(self.category, note["declared"]))
        return rest

    def category(self, name: str) -> str:
        """The name of a category in a note, or a mark if its slug says the words."""
        slug = "" if self.is_exact else slugify(self.words)
        return PURGED if slug and slug in name and name != UNCATEGORIZED else name

    # --- whether it is there ----------------------------------------------------------------------------------------

    def holds(self, data: bytes) -> bool:
        """Whether anything of the bytes goes."""
        return self(data) != data

    def stays(self, rest: bytes) -> bool:
        """Whether what does not go says the words, or has the id if they are one."""
        document = read(self.parse, rest) if self.words.startswith("b2:") else None
        is_named = any(entry.id == self.words for entry in document.entries) if document else False
        return not self.is_exact and (is_named or said_in(self.words, rest))

    def quoted_in(self, revision: Revision, data: bytes) -> bool:
        """Whether anything of the note of a revision goes."""
        return self.note(revision.note, data) != revision.note

    def is_in(self, revision: Revision, data: bytes) -> bool:
        """Whether anything of a revision goes."""
        return self.holds(data) or self.quoted_in(revision, data)

    def in_bytes(self, data: bytes) -> bool:
        """Whether bytes that are no memory file say the words; of an entry that its id named, at the end of a line."""
        if not self.is_exact:
            return said_in(self.words, data)
        ends = re.compile(rf"{spelled(needle_of(self.words)).pattern}[ \t\r]*(?:[\0\n]|\Z)")
        return any(ends.search(text) for text in _readings(data))

    def holds_kept(self, each: Kept) -> bool:
        """Whether a text that is kept in the folder of an entity goes; of what is left the end is enough."""
        if each.kind == "stray":
            return self.in_bytes(each.data)
        return self.holds(each.data) or (each.kind == "left" and each.own is None and self.is_cut(each.data))

    def is_cut(self, data: bytes) -> bool:
        """Whether the bytes end within an entry or the words, at half of it or more: a write that was stopped."""
        text = data.decode(errors="ignore")
        document = read(self.parse, text)
        end = unify_newlines(text) if document is None else says(document.entries[-1]) if document.entries else ""
        return any(
            end.endswith(whole[:length])
            for whole in self.bodies or {self.words}
            for length in range((len(whole) + 1) // 2, len(whole))
        )


def _marked(text: str, entries: Iterable[Entry]) -> bytes:
    return apply_edits(text, [TextEdit(each.start, each.end, PURGED) for each in entries]).encode()
