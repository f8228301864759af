"""Words that are to be forgotten, taken out of what a declared entity holds or held: its content, at any revision.

Of a text the lines that hold them go; of a JSON value each text, number, true, false or null that holds them, and in
old revisions keys. What is no such content, as half of a file, goes whole; JSON may spell any character in it.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from catmem.config.config import DeclaredEntity
from catmem.digest import canonical_json
from catmem.entities.contents import content_of
from catmem.errors import EditError, UnreadableError
from catmem.model.document import parse
from catmem.text import unify_newlines
from catmem.workspace.redaction import PURGED, Redaction, refuse_mark


class _Redacted(NamedTuple):
    """The bytes with a mark where the words were, the places of these, and of the objects whose keys held them."""

    data: bytes
    places: list[str]
    keyed: list[str]


class ContentRedaction(Redaction):
    """Takes words out of the bytes of a declared entity; the same bytes come back where nothing holds them."""

    def __init__(self, declared: DeclaredEntity, words: str) -> None:
        """``words`` are matched as they are, but for blanks around them and the kind of line ends."""
        said = unify_newlines(words).strip()
        super().__init__(parse, (), needle=b"", text=said)  # no entry is looked for
        refuse_mark(said)
        self._words, self._declared = said, declared
        self._plain = re.compile("".join(r"\r?\n" if each == "\n" else re.escape(each) for each in said))
        spelled = "".join(map(_spellings, said))
        self._spelled = re.compile(spelled)
        self._lines_with = re.compile(rf"(?m)^[^\n]*?{spelled}[^\n]*?(?=\r?(?:\n|\Z))")

    holds_text = Redaction.holds

    def __call__(self, data: bytes) -> bytes:
        """The bytes of an old revision, a branch or a copy without the words."""
        try:
            return self._redacted(data).data
        except UnreadableError:  # a person broke it, or a process was stopped
            return canonical_json(PURGED) if self._declared.content == "json" else PURGED.encode()

    def without(self, data: bytes) -> bytes:
        """The bytes of the present content without the words."""
        found, name = self._redacted(data), self._declared.name
        if found.keyed:
            message = f"{name} has keys that hold the words, in {' and '.join(dict.fromkeys(found.keyed))}"
            hint = f"Write it with other keys (catmem write {name} FILE --expected REVISION), and purge again"
            hint = f"Nothing was forgotten. {hint}: that takes the keys out of old revisions."
            raise EditError(message, code="in_key", hint=hint)
        return found.data

    def places(self, data: bytes) -> tuple[str, ...]:
        """Where the words are: JSON pointers, or lines."""
        return tuple(self._redacted(data).places)

    def in_bytes(self, data: bytes) -> bool:
        """Whether bytes hold the words, however JSON spells them."""
        return bool(self._spelled.search(data.decode(errors="surrogateescape")))

    def is_cut(self, data: bytes) -> bool:
        """Whether the bytes end within the words, at half of them or more: a write that was stopped."""
        lengths = range((len(self._words) + 1) // 2, len(self._words))
        return any(data.endswith(self._words[:length].encode()) for length in lengths)

    # --- how ---------------------------------------------------------------------------------------------------------

    def _redacted(self, data: bytes) -> _Redacted:
        """Raises ``UnreadableError`` for what holds the words and is no such content."""
        found = _Redacted(data, [], [])
        if not self.in_bytes(data):
            return found
        value = content_of(self._declared, data)
        if self._declared.content == "text":
            return self._lines(value)
        rest = self._value(value, "", found)
        return found._replace(data=canonical_json(rest)) if found.places or found.keyed else found

    def _value(self, value: Any, place: str, found: _Redacted) -> Any:  # noqa: ANN401 - any JSON value
        if isinstance(value, list):
            return [self._value(each, f"{place}/{number}", found) for number, each in enumerate(value)]
        if isinstance(value, dict):
            rest: dict[str, Any] = {}
            for key, each in value.items():
                name = key
                if self._plain.search(key):
                    found.keyed.append(place or "the outermost object")
                    names = (PURGED, *(f"{PURGED} {number}" for number in range(2, len(value) + 2)))
                    name = next(name for name in names if name not in value and name not in rest)
                rest[name] = self._value(each, f"{place}/{name.replace('~', '~0').replace('/', '~1')}", found)
            return rest
        if self._plain.search(value if isinstance(value, str) else canonical_json(value).decode()):
            found.places.append(place or "the whole")
            return PURGED
        return value

    def _lines(self, text: str) -> _Redacted:
        places: list[str] = []
        # A mark and what stands around it may be the words anew, so it is looked again until there are none.
        while self._spelled.search(text):
            line, end = 1, 0
            for each in self._lines_with.finditer(text):
                line += text.count("\n", end, each.start())
                end = each.start()
                places.append(f"line {line}")
            text = self._lines_with.sub(PURGED, text)
        return _Redacted(text.encode(), places, [])


def _spellings(character: str) -> str:
    """A pattern for a character as it is, and as JSON may spell it."""
    units = character.encode("utf-16-be").hex()
    escape = "".join(rf"\\u(?i:{units[start : start + 4]})" for start in range(0, len(units), 4))
    short = re.escape(json.dumps(character, ensure_ascii=False)[1:-1])
    if character == "\n":
        return rf"(?:\r|\\r|\\u000(?i:d))?(?:\n|{short}|{escape})"
    return f"(?:{re.escape(character)}|{short}|{escape})"
