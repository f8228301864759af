"""The fields that notes of other programs have in front, between two ``---`` lines.

Read as lines and not as YAML: two of the programs write plain lines, and what is read must never be more than text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_MARK = "---"
_FIELD = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*))?")
_QUOTED = re.compile(r"(['\"])(.*)\1")
_OTHER_KEY = re.compile(r"#.*|[^\s:-][^:]*:(?:\s.*)?")
"""A comment, or a key that a field cannot have: no part of the value above it."""


class Lost(NamedTuple):
    """A line or a field in front that has no place among the fields: what it is, what it says, and why."""

    what: str
    value: str
    why: str


class FrontMatter(NamedTuple):
    """The fields of a text, the rest of it, and what stood in front and is no field."""

    fields: dict[str, str]
    text: str
    lost: tuple[Lost, ...] = ()


def front_matter(text: str) -> FrontMatter:
    """The fields and the rest of a text; no fields, and the whole text, where none are in front.

    A list below a field, or a value of several lines, comes as one value with ``, `` between its lines. Of a field that
    is there twice the last counts, and one on the first level more than one below another.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != _MARK:
        return FrontMatter({}, text)
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _MARK), None)
    if end is None:
        return FrontMatter({}, text)
    reading = _Reading()
    for line in lines[1:end]:
        reading.take(line)
    if not reading.fields:
        return FrontMatter({}, text)
    fields = {name: ", ".join(parts) for name, parts in reading.fields.items()}
    return FrontMatter(fields, "\n".join(lines[end + 1 :]), tuple(reading.lost))


class _Reading:
    """What the lines in front have said so far."""

    def __init__(self) -> None:
        self.fields: dict[str, list[str]] = {}
        self.lost: list[Lost] = []
        self._last = ""

    def take(self, line: str) -> None:
        """Read one more line."""
        last = self._last
        # Fields below an empty one (`metadata:`) count as fields of their own.
        nested = bool(last) and not self.fields[last] and line.startswith(" ")
        found = _FIELD.fullmatch(line.strip() if nested else line.rstrip())
        if found and nested:
            self._take_nested(found[1], _parts(found[2]))
        elif found:
            before = self.fields.get(found[1])
            if before:
                self.lost.append(Lost(found[1], ", ".join(before), "a field of this name comes again"))
            self._last = found[1]
            self.fields[found[1]] = _parts(found[2])
        elif not last or _OTHER_KEY.fullmatch(line.rstrip()):
            if line.strip():
                self.lost.append(Lost("text", line.strip(), "it is no field"))
        elif line.strip():
            more = _plain(re.sub(r"^\s*(?:- )?", "", line).strip())
            if more or self.fields[last]:
                self.fields[last].append(more)

    def _take_nested(self, name: str, value: list[str]) -> None:
        if name not in self.fields:
            self.fields[name] = value
        elif value:
            self.lost.append(Lost(name, value[0], "a field of this name is there already"))


def _parts(value: str | None) -> list[str]:
    plain = _plain(value or "")
    return [plain] if plain else []


def _plain(value: str) -> str:
    quoted = _QUOTED.fullmatch(value.strip())
    return quoted[2] if quoted else value.strip()
