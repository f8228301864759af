r"""Escapes of boundary lines (``docs/format.md``, "Entries").

A line of an entry that would read as a boundary is stored with a backslash in front. Escaping is lexical, so that any
text can be stored: reading takes one backslash from every line that matches ``\\+(§|##?)``, wherever it stands, and
writing adds one to every such line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# At the start of a line, one or more backslashes and then what a boundary begins with. The possessive run keeps a long
# row of backslashes linear. A CR right before the end of the text counts as part of that line end.
_ESCAPED = re.compile(r"(?:^|(?<=\n))\\++(?=§[ \t]*(?:\r?\n|\r?\Z)|##?[ \t])")


def unescape(text: str) -> str:
    """One backslash less on every escaped line of an entry as it is stored."""
    if "\\" not in text:
        return text
    return _ESCAPED.sub(lambda run: run.group()[1:], text)


def escape(text: str, boundaries: Iterable[int]) -> str:
    """One backslash more on every escaped line and at every offset in ``boundaries`` (starts of lines)."""
    starts = set(boundaries)
    if "\\" in text:
        starts.update(match.start() for match in _ESCAPED.finditer(text))
    return with_backslashes(text, starts)


def with_backslashes(text: str, starts: Iterable[int]) -> str:
    """One backslash more at each of these offsets."""
    parts: list[str] = []
    done = 0
    for start in sorted(starts):
        parts += (text[done:start], "\\")
        done = start
    parts.append(text[done:])
    return "".join(parts)
