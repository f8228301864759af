"""Bytes to text and back without a loss, the limits of sizes, newlines, line numbers, and unified diffs.

A line ends at LF or CRLF and at nothing else: not at a lone CR, U+2028, VT or FF (``docs/format.md``, "Bytes and
lines"). So ``str.splitlines`` is never used on memory files.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from catmem.errors import NotUtf8Error, TooLargeError, wrong_type

BOM = "\ufeff"

_JOINERS = "\u200c\u200d"

_NEWLINE = re.compile("\n")


MAX_FILE_BYTES = 16 << 20
"""A memory file, as stored: over it, ``parse`` raises ``TooLargeError``."""
MAX_PARTS = 100_000
"""Delimiters and headers of a memory file; over it, ``parse`` raises ``TooLargeError``, and so does an edit."""
MAX_ENTRY_CHARS = 1 << 20
"""One entry: over it, the document has the problem ``entry-too-large``."""
MAX_TAG_CHARS = 4 << 10
"""One tag block: over it, the block is text and the document has the problem ``tag-block-too-large``."""


def conflict_at(text: str) -> int | None:
    """Where git left an unfinished merge in a text: the offset of its first marker; ``None`` for a text without one."""
    if "<" not in text or "<<<<<<<" not in text or ">>>>>>>" not in text:
        return None
    markers = ["<<<<<<<", "=======", ">>>>>>>"]
    starts: list[int] = []
    offset = 0
    for line in text.split("\n"):
        marker = markers[len(starts)]
        if line.rstrip("\r") == marker or (line.startswith(f"{marker} ") and marker != "======="):
            starts.append(offset)
            if len(starts) == len(markers):
                return starts[0]
        offset += len(line) + 1
    return None


def unmerged_warnings(name: str, text: str) -> tuple[str, ...]:
    """What to know of the file ``name`` if git left an unfinished merge in its text; nothing of another."""
    if conflict_at(text) is None:
        return ()
    said = "holds git's conflict markers, so both versions are in it: keep one, and take the marker lines out"
    return (f"{name} {said} (catmem lint shows the place, CM113)",)


def decode(data: str | bytes) -> str:
    """The text of ``data``, with a BOM kept as its first character. Raises ``EditError`` for what is neither."""
    if isinstance(data, str):
        # A string of n characters has at least n bytes, so the encoding below is bounded too.
        _check_size(len(data))
        if not data.isascii():
            try:
                _check_size(len(data.encode()))
            except UnicodeEncodeError as error:
                offset = len(data[: error.start].encode())
                raise NotUtf8Error(offset, f"lone surrogate U+{ord(data[error.start]):04X}") from None
        return data
    if not isinstance(data, bytes | bytearray | memoryview):
        raise wrong_type("the text", data, "a text or bytes")
    _check_size(len(data))
    try:
        return bytes(data).decode()
    except UnicodeDecodeError as error:
        raise NotUtf8Error(error.start, error.reason) from None


def _check_size(size: int) -> None:
    if size > MAX_FILE_BYTES:
        raise TooLargeError("text", size, MAX_FILE_BYTES)


def dominant_newline(text: str) -> str:
    r"""The newline that new lines of this text use: ``"\r\n"`` if more than half of its lines end so, else ``"\n"``."""
    if "\r" not in text:
        return "\n"
    total = text.count("\n")
    return "\r\n" if total and 2 * text.count("\r\n") > total else "\n"


def unify_newlines(text: str) -> str:
    """The text with every line ending in LF."""
    return text.replace("\r\n", "\n") if "\r" in text else text


def with_newline(text: str, newline: str) -> str:
    r"""A text whose lines end in LF, with another newline; a CR before a line's end stays part of the line.

    >>> with_newline("a\r\nb", "\n")
    'a\r\r\nb'
    """
    return text.replace("\n", newline) if newline != "\n" else text.replace("\r\n", "\r\r\n")


class LineIndex:
    """Line and column of an offset, both from 1, columns in code points."""

    __slots__ = ("_starts",)

    def __init__(self, text: str) -> None:
        """Read the line ends of ``text`` once."""
        self._starts = [0, *(match.end() for match in _NEWLINE.finditer(text))]

    def line(self, offset: int) -> int:
        """The line that holds the character at ``offset``."""
        return bisect_right(self._starts, offset)

    def position(self, offset: int) -> tuple[int, int]:
        """``(line, column)`` of the character at ``offset``."""
        line = self.line(offset)
        return line, offset - self._starts[line - 1] + 1


def printable(text: str) -> str:
    """The text with what a terminal or page would act on (escape sequences, direction marks) written out as escapes."""
    if text.isascii() and text.isprintable():
        return text
    named = {ord(each): _named(each) for each in set(text) if not _is_harmless(each)}
    return text.translate(named) if named else text


def printable_json(value: object, indent: int | None = None) -> str:
    r"""A value as JSON in UTF-8 that decodes to it, with ``\u`` escapes for what ``printable`` writes out."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    if text.isascii() and "\x7f" not in text:
        return text
    acted_on = (each for each in set(text) if not _is_harmless(each))
    units = {each: each.encode("utf-16-be", "surrogatepass").hex(" ", 2).split() for each in acted_on}
    return text.translate({ord(each): "".join(rf"\u{unit}" for unit in said) for each, said in units.items()})


def _is_harmless(character: str) -> bool:
    category = unicodedata.category(character)
    # Many programs break lines at U+2028 and U+2029.
    return character in "\n\t" or character in _JOINERS or not (category[0] == "C" or category in {"Zl", "Zp"})


def _named(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


_TAIL = 64
"""Characters, at the end of a text, among which its newlines usually end."""


def size_of(text: str) -> int:
    """What counts of a file: its whole text, headers and delimiters too, without the newlines at its end."""
    # For a file without sections, as Hermes Agent writes one, that is what Hermes Agent counts.
    tail = text[-_TAIL:]  # a copy of the whole is dear
    end = len(tail.rstrip("\r\n"))
    return len(text) - len(tail) + end if end else len(text.rstrip("\r\n"))


def plural(count: int, one: str, more: str | None = None) -> str:
    """The word for a number of things: ``entry`` for 1, else ``entries``; ``more`` where neither s nor ies does."""
    if count == 1:
        return one
    is_ies = one.endswith("y") and one[-2:-1] not in "aeiou"
    return more or (f"{one[:-1]}ies" if is_ies else f"{one}s")


def few(names: Sequence[str], most: int = 5) -> str:
    """The first of some names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def first_line(body: str, width: int) -> str:
    """The first line of a body, at most ``width`` characters, with ``…`` where something follows."""
    line, _, rest = body.partition("\n")
    if len(line) > width:
        return printable(line[: width - 1]) + "…"
    return printable(line) + (" …" if rest else "")


def counted(count: int, one: str, more: str | None = None) -> str:
    """A number of things: ``1 entry``, ``1,000 entries``."""
    return f"{count:,} {plural(count, one, more)}"


_CONTEXT = 3
_COMPARED = 4_000
"""How many lines of both texts together difflib compares: its time grows with the square of their number."""
_FIRST_LINE = re.compile(r"(?<=[-+])\d+")


def unified_diff(before: Sequence[str], after: Sequence[str], old_name: str, new_name: str) -> Iterator[str]:
    """The lines of a unified diff, with three lines of context; none for equal texts."""
    # Each line of `before` and `after` ends in its newline, but perhaps the last; so do those of the diff.
    import difflib

    start, end = equal_ends(before, after)
    top, bottom = max(start - _CONTEXT, 0), max(end - _CONTEXT, 0)
    old, new = before[top : len(before) - bottom], after[top : len(after) - bottom]
    if len(old) + len(new) <= _COMPARED:
        for line in difflib.unified_diff(old, new, old_name, new_name, n=_CONTEXT):
            yield _FIRST_LINE.sub(lambda number: str(int(number[0]) + top), line) if line.startswith("@@") else line
        return
    yield f"--- {old_name}\n"
    yield f"+++ {new_name}\n"
    # Of no lines the header names the line before.
    yield f"@@ -{top + bool(old)},{len(old)} +{top + bool(new)},{len(new)} @@\n"
    lead, tail = start - top, end - bottom
    yield from (f" {line}" for line in old[:lead])
    yield from (f"-{line}" for line in old[lead : len(old) - tail])
    yield from (f"+{line}" for line in new[lead : len(new) - tail])
    yield from (f" {line}" for line in old[len(old) - tail :])


def equal_ends(before: Sequence[object], after: Sequence[object]) -> tuple[int, int]:
    """How many items (or characters, or bytes) the two begin and end with in common, none of them counted twice."""
    old, new, shorter = len(before), len(after), min(len(before), len(after))
    start = _equal_run(lambda at, step: before[at : at + step] == after[at : at + step], shorter)
    end = _equal_run(
        lambda at, step: before[old - at - step : old - at] == after[new - at - step : new - at], shorter - start
    )
    return start, end


_FIRST_STEP = 1024


def _equal_run(same: Callable[[int, int], bool], most: int) -> int:
    """How many in a row are the same, of ``most``: twice as many are compared at once until some are not."""
    found, step = 0, _FIRST_STEP
    while found < most:
        step = min(step, most - found)
        if same(found, step):
            found += step
            step *= 2
        else:
            most, step = found + step - 1, max(1, step // 2)
    return found


def text_diff(before: str, after: str, old_name: str, new_name: str) -> str:
    """A unified diff for people: what a terminal would act on is written out, carriage returns too."""
    # Split at LF alone, as the format does. A carriage return is shown, since it may be all that changes.
    old, new = (_lines(printable(text.replace("\r\n", "\\r\\n"))) for text in (before, after))
    lines = unified_diff(old, new, printable(old_name), printable(new_name))
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    *whole, last = text.split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])
