"""A line of a file as a terminal shows it, with marks under a part of it.

Nothing in it reaches the terminal raw: what acts on one, or shows as nothing, is written as an escape, so a reader sees
what is there.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

WIDTH = 100
_BEFORE = 30
_TAB = 4
_CUT = "…"


class Excerpt(NamedTuple):
    """The line as it is shown, and blanks with marks that stand below it."""

    line: str
    marks: str


def printable(text: str) -> str:
    """The text with what a terminal would act on, or not show, written as escapes; newlines too."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_cell(character)[0] for character in text)


def excerpt(line: str, start: int, end: int) -> Excerpt:
    """One line, marked from ``start`` to ``end`` (offsets in it), cut to about ``WIDTH`` columns around the start."""
    end = max(end, start + 1)
    first = max(start - _BEFORE, 0) if len(line) > WIDTH else 0
    while first and unicodedata.combining(line[first : first + 1] or " "):
        first -= 1  # a mark is shown with its letter
    shown, marks = (_CUT, " ") if first else ("", "")
    for offset, character in enumerate(line[first : first + WIDTH], first):
        is_marked = start <= offset < end
        if character == "\t":
            width = _TAB - len(marks) % _TAB
            text = " " * width
        else:
            text, width = _cell(character)
        if len(marks) + width > WIDTH + 1:
            return Excerpt(shown + _CUT, marks.rstrip())
        shown += text
        marks += ("^" if is_marked else " ") * width
    if first + WIDTH < len(line):
        shown += _CUT
    elif start >= len(line):
        marks += "^"
    return Excerpt(shown, marks.rstrip())


def _cell(character: str) -> tuple[str, int]:
    """How a character is shown, and in how many columns."""
    if character.isascii():
        if character.isprintable():
            return character, 1
        escaped = character.encode("unicode_escape").decode("ascii")
        return escaped, len(escaped)
    category = unicodedata.category(character)
    if category[0] == "C" or category in {"Zl", "Zp"} or _is_selector(character):
        escaped = character.encode("unicode_escape", "surrogatepass").decode("ascii")
        return escaped, len(escaped)
    if category in {"Mn", "Me"}:
        return character, 0
    return character, 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _is_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0e" or "\U000e0100" <= character <= "\U000e01ef"
