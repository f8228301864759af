"""The texts that outsiders and tools write: lines and blocks, each with a token that nobody else ever writes.

A *line* is ``line TOKEN``. A *block*, as a rewriter adds it, runs from ``begin TOKEN`` to ``end TOKEN``, so that a half of it
can be told from the whole.
"""

import re

KEPT = 20
"""Lines and blocks that whoever shortens the text leaves in it."""

ROW = "a row of the block\n"
_TOKENS = re.compile(rb"(?:line|end) (\S+)\n")
_BEGINS = re.compile(rb"^begin (\S+)$", re.MULTILINE)
_ENDS = re.compile(rb"^end (\S+)$", re.MULTILINE)


def line(token: str) -> bytes:
    return f"line {token}\n".encode()


def block(token: str, rows: int) -> bytes:
    return f"begin {token}\n{ROW * rows}end {token}\n".encode()


def with_line(text: bytes, token: str) -> bytes:
    """The text without its oldest lines and blocks, and with one line more."""
    short = shortened(text)
    return short + (b"\n" if short and not short.endswith(b"\n") else b"") + line(token)


def shortened(text: bytes) -> bytes:
    """The text without its oldest lines and blocks."""
    parts = _parts(text)
    return text if len(parts) <= KEPT else b"".join(parts[-KEPT:])


def _parts(text: bytes) -> list[bytes]:
    """The text cut into lines and whole blocks. A block that does not end is cut into its lines."""
    parts: list[bytes] = []
    rows = text.splitlines(keepends=True)
    ends = {row: number for number, row in enumerate(rows) if row.startswith(b"end ")}
    number = 0
    while number < len(rows):
        last = ends.get(b"end" + rows[number].removeprefix(b"begin"), number)
        last = max(last, number) if rows[number].startswith(b"begin ") else number
        parts.append(b"".join(rows[number : last + 1]))
        number = last + 1
    return parts


def tokens(text: bytes) -> set[str]:
    """The tokens of all lines and of all blocks that are there to their end, wherever they stand."""
    return {found.decode() for found in _TOKENS.findall(text)}


def begun(text: bytes) -> set[str]:
    """The tokens of the blocks that begin in a text and do not end in it."""
    ends = set(_ENDS.findall(text))
    return {found.decode() for found in _BEGINS.findall(text) if found not in ends}


def without_last(text: bytes, lines: set[bytes]) -> bytes:
    """The text without those of the lines that it ends with."""
    rows = text.splitlines(keepends=True)
    while rows and rows[-1] in lines:
        rows.pop()
    return b"".join(rows)
