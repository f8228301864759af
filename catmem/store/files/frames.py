r"""The lines of the journal: how one is framed, and how a buffer of them is walked.

A line is ``RS``, the length of its payload and the payload's CRC as eight hex digits each, the payload, and a line
feed: ``\x1e00000002 9e3779b9 {}\n``. A payload holds neither ``RS`` nor a line feed (canonical JSON escapes both), so
the search for the next good line after damage takes linear time, whatever is there.

The CRC is ``zlib.crc32``, and not the CRC-32C of the first design: it is in the standard library and runs at C speed.
It only finds a write that was cut short; what proves that nothing was changed is the chain of SHA-256 digests.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from zlib import crc32

START = b"\x1e"
END = b"\n"
HEADER_SIZE = 19
MAX_PAYLOAD = 64 * 1024 * 1024

_HEADER = re.compile(rb"\x1e([0-9a-f]{8}) ([0-9a-f]{8}) ")


class Line(NamedTuple):
    """A good line: it is ``buffer[start:end]``."""

    start: int
    end: int
    payload: bytes


class Walk(NamedTuple):
    """What stands in a buffer: good lines up to ``end``, and then perhaps bytes that are no good line.

    ``resume`` is where the next good line begins after those, ``None`` if none does.
    """

    lines: list[Line]
    end: int
    resume: int | None
    size: int

    @property
    def good(self) -> bool:
        """Whether there is nothing but good lines."""
        return self.end == self.size

    @property
    def cut(self) -> bool:
        """Whether the last bytes are no good line, and nothing good follows: a write that was cut short."""
        return self.end < self.size and self.resume is None

    @property
    def damaged(self) -> bool:
        """Whether bytes that are no good line stand before a good one."""
        return self.resume is not None


def frame(payload: bytes) -> bytes:
    """The line of a payload. Raises ``ValueError`` for one that is too long or holds what frames a line."""
    if len(payload) > MAX_PAYLOAD:
        raise ValueError(f"a payload of {len(payload):,} bytes is over the limit of {MAX_PAYLOAD:,}")
    if START in payload or END in payload:
        raise ValueError("a payload holds no record separator and no line feed")
    return b"\x1e%08x %08x %b\n" % (len(payload), crc32(payload), payload)


def walk(buffer: bytes, start: int = 0) -> Walk:
    """The good lines from ``start`` on, up to the first byte that begins none."""
    lines: list[Line] = []
    position = start
    while (line := _line_at(buffer, position)) is not None:
        lines.append(line)
        position = line.end
    resume = None if position == len(buffer) else _next_good(buffer, position)
    return Walk(lines, position, resume, len(buffer))


def payload_size(header: bytes) -> int | None:
    """The length that the header of a line names; ``None`` if it is no header of a good line."""
    match = _HEADER.match(header)
    size = None if match is None else int(match[1], 16)
    return None if size is None or size > MAX_PAYLOAD else size


def _line_at(buffer: bytes, position: int) -> Line | None:
    match = _HEADER.match(buffer, position)
    if match is None:
        return None
    first = match.end()
    end = buffer.find(END, first, first + MAX_PAYLOAD + 1)
    if end < 0 or end - first != int(match[1], 16):
        return None
    payload = buffer[first:end]
    # Without a separator inside, the last one before a line feed is the only place where its line can begin.
    if crc32(payload) != int(match[2], 16) or START in payload:
        return None
    return Line(position, end + 1, payload)


def _next_good(buffer: bytes, position: int) -> int | None:
    while (end := buffer.find(END, position)) >= 0:
        begin = buffer.rfind(START, position, end)
        if begin >= 0 and _line_at(buffer, begin) is not None:
            return begin
        position = end + 1
    return None
