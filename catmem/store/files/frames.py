r"""The lines of the journal: how one is framed and made, and how a buffer of them is walked.

A line is ``RS``, the length of its payload and the payload's CRC as eight hex digits each, the payload, and a line
feed: ``\x1e00000002 9e3779b9 {}\n``. A payload holds neither ``RS`` nor a line feed (canonical JSON escapes both), so
the search for the next good line after damage takes linear time, whatever is there.

The CRC is ``zlib.crc32``, and not the CRC-32C of the first design: it is in the standard library and runs at C speed.
It only finds a write that was cut short; what proves that nothing was changed is the chain of SHA-256 digests.
"""

from __future__ import annotations

import re
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from catmem import clock
from catmem.digest import bytes_digest
from catmem.errors import TooLargeError
from catmem.store.changes import change, whole
from catmem.store.fields import matching
from catmem.store.files.records import DIGEST, MAX_DATA, Checkpoint, Head, Record, encode, encode_checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from catmem.store.changes import Change
    from catmem.store.files.records import Draft
    from catmem.store.files.segments import Segment
    from catmem.store.files.system import System

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


WHOLE_EVERY = 32
"""A file stands whole in the journal at least once in so many of its records."""


class NewLine(NamedTuple):
    """A record, its change, and its line."""

    record: Record
    change: Change
    line: bytes


def record_line(  # noqa: PLR0913 - what a record is made of
    system: System,
    segment: Segment,
    draft: Draft,
    old: bytes,
    data: bytes,
    *,
    digest: str | None,
    moment: str | None = None,
) -> NewLine:
    """The record of ``data`` after ``old``, as the next one of ``segment``. ``digest`` is that of ``data``, if known.

    ``moment`` is when it was made, where that is not now.

    Raises ``TooLargeError``, and ``TypeError`` or ``ValueError`` for a note that is no JSON, or no digest.
    """
    if len(data) > MAX_DATA:
        raise TooLargeError("file", len(data), MAX_DATA, path=draft.file)
    head = segment.head(draft.file)
    # To compare is far cheaper than to hash or to pack.
    unchanged = head is not None and data == old
    record = Record(
        file=draft.file,
        op=draft.op,
        agent=draft.agent,
        revision=draft.revision,
        parents=tuple(draft.parents),
        op_id=draft.op_id,
        note=dict(draft.note),
        retired=draft.retired,
        late_of=draft.late_of,
        publishes=draft.publishes,
        brought=draft.brought,
        sequence=segment.sequence + 1,
        timestamp=moment or clock.timestamp(system.now()),
        base=head.head if head else None,
        head=head.head if head and unchanged else _digest(data, digest),
        size=len(data),
        boot=system.boot(),
        previous=segment.link,
        line="",
    )
    since = segment.since_whole(draft.file)
    if since is None or since >= WHOLE_EVERY - 1:
        made: Change = (segment.packed(draft.file) if unchanged else None) or whole(data)
    else:
        made = change(old, data)
    line = framed(encode(record, made), draft.file)
    return NewLine(replace(record, line=sha256(line).hexdigest()), made, line)


def checkpoint_line(
    system: System, before: Segment | None, head_data: Callable[[str], bytes]
) -> tuple[Checkpoint, bytes]:
    """The checkpoint of the segment after ``before``, or of the first one, and its line. Raises ``TooLargeError``."""
    moment, boot = clock.timestamp(system.now()), system.boot()
    if before is None:
        store = system.token()
        checkpoint = Checkpoint(1, moment, boot, store, chain_start(store))
    else:
        heads = [(before.head(file), file) for file in before.carried()]
        checkpoint = Checkpoint(
            sequence=before.sequence + 1,
            timestamp=moment,
            boot=boot,
            store=before.checkpoint.store,
            previous=before.link,
            heads=tuple(
                Head(head, before.highest(file), before.packed(file) or whole(head_data(file)))
                for head, file in heads
                if head
            ),
            retired=tuple(before.retired()),
        )
    line = framed(encode_checkpoint(checkpoint), "checkpoint")
    return replace(checkpoint, line=sha256(line).hexdigest()), line


def _digest(data: bytes, known: str | None) -> str:
    return bytes_digest(data) if known is None else matching(known, "digest", DIGEST)


def framed(payload: bytes, of: str) -> bytes:
    """The line of a payload; ``of`` says in the error what is too large. Raises ``TooLargeError``."""
    if len(payload) > MAX_PAYLOAD:
        raise TooLargeError("record in the journal", len(payload), MAX_PAYLOAD, path=of)
    return frame(payload)


def chain_start(store: str) -> str:
    """What the first line of a journal names as the line before it."""
    return sha256(store.encode()).hexdigest()
