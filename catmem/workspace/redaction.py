"""What is to be forgotten, taken out of any bytes: revisions, backups, files that are no text, lines of others.

In memory files these are entries, found as the root parses them, so that no delimiter or other entry is ever touched.
In the past of the own file a heading or another line that holds the text goes too. Bytes that cannot be parsed are not
taken apart: what holds such an entry goes whole.

In a declared entity these are words, and what holds them goes whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from catmem.config.config import DeclaredEntity
from catmem.digest import canonical_json
from catmem.errors import EditError, NotUtf8Error, TooLargeError
from catmem.model.document import Document, Entry, parse
from catmem.model.edit import TextEdit, apply_edits, remove_entry
from catmem.names import PURGED, UNCATEGORIZED, slugify
from catmem.store.contract import DECISION, Revision
from catmem.text import unify_newlines

_MARKER = re.compile(r"[-*+] ")


def read(parse: Callable[[bytes | str], Document], data: bytes | str) -> Document | None:
    """The bytes as a document; ``None`` if they are no UTF-8, or too large for one."""
    try:
        return parse(data)
    except (NotUtf8Error, TooLargeError):
        return None


def entries_with(document: Document | None, needle: bytes) -> list[Entry]:
    """The entries that have the needle in them, but for marks; none of what is no document."""
    if document is None:
        return []
    return [entry for entry in document.entries if said_in(needle, entry.raw) and not is_purged(entry)]


def says(entry: Entry) -> str:
    """What an entry is known by: its body, or its tags if it has nothing else."""
    return entry.body or entry.text


def is_purged(entry: Entry) -> bool:
    """Whether this is only the mark of an entry that was forgotten before."""
    return entry.raw == PURGED


def refuse_mark(words: str, mark: str = PURGED) -> None:
    """Raise ``EditError`` (``in_mark``) for words that would be found again in what stands for them."""
    if words in mark:
        message = f"{PURGED} is what stands for words, and these are a piece of it"
        raise EditError(message, code="in_mark", hint="Nothing was forgotten. Give a longer piece of the text.")


def needle_of(text: str) -> bytes:
    """Bytes that stand in every file with an entry that says ``text``: its longest line, however it is stored."""
    lines = unify_newlines(text).strip().split("\n")
    lines[0] = _MARKER.sub("", lines[0], count=1)
    return max((line.strip().encode(errors="replace") for line in lines), key=len)


def said_in(words: str | bytes, text: str | bytes) -> bool:
    """Whether a text holds words, as they are or as a value in quotes of a tag spells them."""
    said, where = (each if isinstance(each, str) else each.decode(errors="replace") for each in (words, text))
    return said in where or ("\\" in where and spelled(said).search(where) is not None)


class Redaction:
    """Takes the entries with certain bodies out of bytes, and leaves every other byte as it is."""

    def __init__(
        self,
        parse: Callable[[bytes | str], Document],
        bodies: Iterable[str],
        *,
        needle: bytes,
        text: str | None = None,
        is_own: bool = True,
    ) -> None:
        """``needle`` stands in all bytes that may hold one of the bodies."""
        self.bodies = frozenset(bodies)
        self.text = text
        self.sought = self.bodies if text is None else (text,)
        self._parse = parse
        self.needle = needle
        self._is_own = is_own
        self._slug = slugify(text or "")
        said = spelled((text or "").strip()).pattern
        self._line = re.compile(rf"(?m)^(#+ )?[^\n]*?{said}[^\n]*?(?=\r?(?:\n|\Z))")

    def elsewhere(self) -> Redaction:
        """The same for files of others."""
        return Redaction(self._parse, self.bodies, needle=self.needle, text=self.text, is_own=False)

    def entries(self, data: bytes) -> list[Entry]:
        """The entries that are to be forgotten."""
        return self._chosen(read(self._parse, data)) if said_in(self.needle, data) else []

    def _chosen(self, document: Document | None) -> list[Entry]:
        return [entry for entry in entries_with(document, self.needle) if {says(entry), entry.text} & self.bodies]

    def __call__(self, data: bytes) -> bytes:
        """The bytes with a mark in the place of each such entry and line, or of all that cannot be parsed."""
        if not said_in(self.needle, data):
            return data
        document = read(self._parse, data)
        if document is None:
            return PURGED.encode() if self.in_bytes(data) else data
        entries = self._chosen(document)
        rest = _marked(document.text, entries) if entries else data
        # A mark and what stands around it may be the text anew, so it is looked again until there is none.
        while self.line_with_text(rest):
            rest = self._line.sub(rf"\g<1>{PURGED}", rest.decode()).encode()
        return rest

    def line_with_text(self, data: bytes) -> int | None:
        """The number of the first line of the own file that says the text by which the bodies were chosen."""
        if not self._is_own or self.text is None or not said_in(self.needle, data):
            return None
        said = data.decode()
        found = self._line.search(said)
        return said.count("\n", 0, found.start()) + 1 if found else None

    def note(self, note: Mapping[str, Any], data: bytes) -> Mapping[str, Any]:
        """The note of a revision without evidence and reasons for such entries, and without any that quote them.

        A mark takes the place of a category whose slug says the text.
        """
        ids, quoted = {entry.id for entry in self.entries(data)}, [self.text] if self.text else self.bodies

        def bare(said: Mapping[str, Any], *, is_about: bool = False) -> dict[str, Any]:
            words = str(said.get("reason", said.get("evidence", "")))
            goes = is_about or any(text in words for text in quoted)
            rest = {key: value for key, value in said.items() if not (goes and key in {"reason", "evidence"})}
            return rest | ({"category": self.category(said["category"])} if "category" in said else {})

        actions = note.get("actions", ())
        rest = bare(note, is_about=any(each["id"] in ids for each in actions))
        rest |= {"actions": [bare(each, is_about=each["id"] in ids) for each in actions]} if actions else {}
        rest |= {DECISION: bare(note[DECISION])} if DECISION in note else {}
        if "sorted" in note:
            rest["sorted"] = {self.category(name): count for name, count in note["sorted"].items()}
        if "declared" in note:
            rest["declared"] = list(map(self.category, note["declared"]))
        return rest

    def category(self, name: str) -> str:
        """The name of a category in a note, or a mark if its slug says the text."""
        return PURGED if self._slug and self._slug in name and name != UNCATEGORIZED else name

    def quoted_in(self, revision: Revision, data: bytes) -> bool:
        """Whether anything of the note of a revision goes."""
        return self.note(revision.note, data) != revision.note

    def is_in(self, revision: Revision, data: bytes) -> bool:
        """Whether anything of a revision goes."""
        return self.holds(data) or self.quoted_in(revision, data)

    def holds(self, data: bytes) -> bool:
        """Whether there is such an entry."""
        return said_in(self.needle, data) and self(data) != data

    def without(self, data: bytes) -> bytes:
        """The bytes without such entries, as if each had been removed by an edit, and without empty such headings."""
        if not self.holds(data):
            return data
        document = self._parse(data)
        text = document.text
        while chosen := self._chosen(document):
            try:
                edited = remove_entry(document, chosen[0])
            except EditError:
                # Without it other entries would read otherwise: then the mark takes its place.
                return _marked(text, chosen)
            document = edited.document
            text = document.text
        empty = [each for each in document.sections if not text[each.header_end : each.end].strip()]
        gone = [each for each in empty if self.line_with_text(text[each.start : each.end].encode())]
        return apply_edits(text, [TextEdit(each.start, each.end, "") for each in gone]).encode()

    # --- bytes that are no memory file, or half of one --------------------------------------------------------------

    def in_bytes(self, data: bytes) -> bool:
        """Whether bytes that cannot be parsed hold the text, or, of others or chosen by an id, lines that end so."""
        if not said_in(self.needle, data):
            return False
        said = unify_newlines(data.decode(errors="replace"))
        if self._is_own and self.text is not None:
            return said_in(self.text.strip(), said)
        lines = [line.strip() for line in said.replace("\0", "\n").split("\n")]
        return any(
            all(any(line.endswith(_MARKER.sub("", each.strip())) for line in lines) for each in body.split("\n"))
            for body in self.bodies
        )

    def holds_text(self, data: bytes) -> bool:
        """Whether an entry of the own file holds the text by which the bodies were chosen, in any words."""
        if not self._is_own or self.text is None or not said_in(self.needle, data):
            return False
        return any(said_in(self.text, entry.text) for entry in entries_with(read(self._parse, data), self.needle))

    def is_cut(self, data: bytes) -> bool:
        """Whether the bytes end within such an entry, at half of it or more: a write that was stopped."""
        document = read(self._parse, data.decode(errors="ignore"))
        last = document.entries[-1:] if document else ()
        return any(
            body.startswith(says(entry)) and len(says(entry)) * 2 >= len(body) for entry in last for body in self.bodies
        )


def _marked(text: str, entries: Iterable[Entry]) -> bytes:
    return apply_edits(text, [TextEdit(each.start, each.end, PURGED) for each in entries]).encode()


# --- what a declared entity holds -------------------------------------------------------------------------------------


class ContentRedaction(Redaction):
    """Puts a mark in the place of all bytes of a declared entity that hold words, however JSON spells them."""

    def __init__(self, declared: DeclaredEntity, words: str) -> None:
        """``words`` are matched as they are, but for blanks around them and the kind of line ends."""
        said = unify_newlines(words).strip()
        super().__init__(parse, (), needle=b"", text=said)  # no entry is looked for
        self._mark = canonical_json(PURGED) if declared.content == "json" else PURGED.encode()
        refuse_mark(said, self._mark.decode())
        self._words, self._name = said, declared.name
        self._spelled = spelled(said)

    holds_text = Redaction.holds

    def __call__(self, data: bytes) -> bytes:
        """The bytes, or the mark if they hold the words."""
        return self._mark if self.in_bytes(data) else data

    def without(self, data: bytes) -> bytes:
        """The present content, which its writers alone change. Raises ``EditError`` (``in_content``)."""
        if self.in_bytes(data):
            message = f"{self._name} holds the words now"
            hint = f"Write it without them (catmem write {self._name} FILE --expected REVISION), and purge again"
            hint = f"Nothing was forgotten. {hint}: every revision, branch and copy that holds them goes whole."
            raise EditError(message, code="in_content", hint=hint)
        return data

    def in_bytes(self, data: bytes) -> bool:
        """Whether bytes hold the words, as they are or as JSON spells them."""
        return bool(self._spelled.search(data.decode(errors="surrogateescape")))

    def is_cut(self, data: bytes) -> bool:
        """Whether the bytes end within the words, at half of them or more: a write that was stopped."""
        lengths = range((len(self._words) + 1) // 2, len(self._words))
        return any(data.endswith(self._words[:length].encode()) for length in lengths)


@lru_cache(maxsize=64)
def spelled(words: str) -> re.Pattern[str]:
    """A pattern for words as they are, and as JSON or a value in quotes may spell them."""
    return re.compile("".join(map(_spellings, words)))


def _spellings(character: str) -> str:
    """A pattern for a character as it is, and as JSON may spell it."""
    units = character.encode("utf-16-be").hex()
    escape = "".join(rf"\\u(?i:{units[start : start + 4]})" for start in range(0, len(units), 4))
    short = re.escape(json.dumps(character, ensure_ascii=False)[1:-1].replace("/", "\\/"))
    if character == "\n":
        return rf"(?:\r|\\r|\\u000(?i:d))?(?:\n|{short}|{escape})"
    return f"(?:{re.escape(character)}|{short}|{escape})"
