r"""The lines of the journal: how one is framed and made, and how a buffer of them is walked.

A line is ``RS``, the length of its payload and the payload's CRC as eight hex digits each, the payload, and a line
feed: ``\x1e00000002 9e3779b9 {}\n``. A payload holds neither ``RS`` nor a line feed (canonical JSON escapes both), so
the search for the next good line after damage takes linear time, whatever is there.

The CRC is ``zlib.crc32``, and not the CRC-32C of the first design: it is in the standard library and runs at C speed.
It only finds a write that was cut short; what proves that nothing was changed is the chain of SHA-256 digests.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from catmem.digest import bytes_digest
from catmem.errors import DamagedError
from catmem.store.changes import ByteChange, Splice, WholeText
from catmem.store.files.records import (
    Checkpoint,
    Head,
    MalformedError,
    Record,
    decode,
    decode_checkpoint,
    recorded_name,
)

START = b"\x1e"
END = b"\n"
MAX_PAYLOAD = 64 * 1024 * 1024

_HEADER = re.compile(rb"\x1e([0-9a-f]{8}) ([0-9a-f]{8}) ")


class JournalLine(NamedTuple):
    """A good line: it is ``buffer[start:end]``."""

    start: int
    end: int
    payload: bytes


class Walk(NamedTuple):
    """What stands in a buffer: good lines up to ``end``, and then perhaps bytes that are no good line.

    ``resume`` is where the next good line begins after those, ``None`` if none does.
    """

    lines: list[JournalLine]
    end: int
    resume: int | None
    size: int

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
    lines: list[JournalLine] = []
    position = start
    while (line := _line_at(buffer, position)) is not None:
        lines.append(line)
        position = line.end
    resume = None if position == len(buffer) else _next_good(buffer, position)
    return Walk(lines, position, resume, len(buffer))


def _line_at(buffer: bytes, position: int) -> JournalLine | None:
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
    return JournalLine(position, end + 1, payload)


def _next_good(buffer: bytes, position: int) -> int | None:
    while (end := buffer.find(END, position)) >= 0:
        begin = buffer.rfind(START, position, end)
        if begin >= 0 and _line_at(buffer, begin) is not None:
            return begin
        position = end + 1
    return None


class Step(NamedTuple):
    """A record and what it did to the bytes."""

    record: Record
    change: ByteChange


class Segment:
    """The good lines of one segment. ``end`` is where they end in the file.

    ``torn`` tells that the file had more, a line that is cut short or not written yet.
    """

    def __init__(self, name: str, path: Path, checkpoint: Checkpoint, size: int) -> None:
        """A segment that has only its checkpoint, a line of ``size`` bytes."""
        self.name = name
        self.path = path
        self.checkpoint = checkpoint
        self.checkpoint_size = size
        self.end = size
        self.torn = False
        self.steps: list[Step] = []
        self._places: dict[str, list[int]] = {}
        self._before = {head.record.file: head for head in checkpoint.heads}

    @classmethod
    def read(cls, name: str, path: Path, data: bytes) -> Segment:
        """The segment that a file holds. Raises ``DamagedError``."""
        checkpoint, size = checkpoint_of(path, data, walk(data))
        if name != segment_name(checkpoint.sequence):
            raise damaged(path, f"the segment begins with record {checkpoint.sequence}, and its name says another")
        segment = cls(name, path, checkpoint, size)
        segment.take(data, size)
        return segment

    def take(self, data: bytes, start: int = 0) -> None:
        """Add the lines of ``data`` from ``start`` on. Raises ``DamagedError``; the segment is of no use then."""
        end = self.end - start
        found = walk(data, start)
        for line in found.lines:
            try:
                record, change = decode(line.payload, line_digest(data, line))
            except MalformedError as error:
                raise damaged(self.path, f"the record after {self.sequence}: {error}") from error
            if record.sequence != self.sequence + 1:
                raise damaged(self.path, f"record {record.sequence} follows record {self.sequence}")
            if record.previous != self.link:
                raise damaged(self.path, f"record {record.sequence} breaks the chain")
            self.add(record, change)
        end += found.end
        if found.damaged:
            raise damaged(self.path, f"bytes {end} and following are damaged, and good records follow")
        self.end = end
        self.torn = found.cut

    def add(self, record: Record, change: ByteChange, size: int = 0) -> None:
        """Add the next record, whose line has ``size`` bytes."""
        self._places.setdefault(record.file, []).append(len(self.steps))
        self.steps.append(Step(record, change))
        self.end += size

    @property
    def sequence(self) -> int:
        """The sequence of the last record, here or before."""
        return self.steps[-1].record.sequence if self.steps else self.checkpoint.sequence - 1

    @property
    def link(self) -> str:
        """The digest that the next line names as its ``previous``."""
        return self.steps[-1].record.link if self.steps else self.checkpoint.link

    @property
    def last(self) -> Record | None:
        """The newest record, here or before."""
        if self.steps:
            return self.steps[-1].record
        return max((head.record for head in self.checkpoint.heads), key=lambda record: record.sequence, default=None)

    def link_at(self, sequence: int) -> str | None:
        """The link of the record with this sequence, if it is here."""
        place = self._place(sequence)
        return None if place is None else self.steps[place].record.link

    def files(self) -> list[str]:
        """Every file and branch that has a record, here or before."""
        return sorted(self._before.keys() | self._places.keys())

    def carried(self) -> list[str]:
        """The files and branches that the next checkpoint is to have: all but the branches that a revision came from.

        Those were merged, or another branch goes on from them: they are history like any old revision.
        """
        records = [step.record for step in self.steps]
        followed = {recorded_name(record.owner, parent) for record in records for parent in record.parents}
        return [name for name in self.files() if "/" not in name or name not in followed]

    def before(self, file: str) -> Head | None:
        """The head of a file as the checkpoint has it."""
        return self._before.get(file)

    def data_before(self, file: str) -> bytes:
        """The bytes of a file as the checkpoint has them, empty if it has none. Raises ``DamagedError``."""
        before = self._before.get(file)
        return b"" if before is None else self._unpacked(before)

    def head(self, file: str) -> Record | None:
        """The newest record of a file, here or before."""
        places = self._places.get(file)
        if places:
            return self.steps[places[-1]].record
        before = self._before.get(file)
        return before.record if before else None

    def highest(self, file: str) -> int:
        """The highest number of a revision of the file, here or before."""
        before = self._before.get(file)
        numbers = (self.steps[place].record.number for place in self._places.get(file, ()))
        return max(numbers, default=0) if before is None else max(before.highest, *numbers, 0)

    def since_whole(self, file: str) -> int | None:
        """How many records of the file stand after its last whole; ``None`` if there is no whole."""
        places = self._places.get(file, [])
        for count, place in enumerate(reversed(places)):
            if not isinstance(self.steps[place].change, Splice):
                return count
        return len(places) if file in self._before else None

    def packed(self, file: str) -> WholeText | None:
        """The bytes of a file's head as they stand packed here already; ``None`` if they do not."""
        for place in reversed(self._places.get(file, ())):
            change = self.steps[place].change
            if isinstance(change, WholeText):
                return change
            if change.removed or change.inserted:
                return None
        before = self._before.get(file)
        return before.whole if before else None

    def find(self, file: str, revision: str) -> Record | None:
        """The first record of a revision in this segment."""
        for place in self._places.get(file, ()):
            if self.steps[place].record.revision == revision:
                return self.steps[place].record
        return None

    def operation(self, agent: str, op_id: str, file: str | None) -> Record | None:
        """The first record of an agent's operation in this segment."""
        records = (step.record for step in self.steps if step.record.op_id == op_id)
        made = (record for record in records if record.agent == agent)
        return next((record for record in made if file is None or record.owner == file), None)

    def data(self, sequence: int) -> bytes | None:
        """The bytes that the record with this sequence made; ``None`` if it is neither here nor a head before."""
        place = self._place(sequence)
        if place is None:
            for head in self.checkpoint.heads:
                if head.record.sequence == sequence:
                    return self._unpacked(head)
            return None
        record = self.steps[place].record
        places = self._places[record.file]
        last = bisect_left(places, place)
        first = last
        while first >= 0 and isinstance(self.steps[places[first]].change, Splice):
            first -= 1
        data = self.data_before(record.file) if first < 0 else b""
        for step in (self.steps[place] for place in places[max(first, 0) : last + 1]):
            data = self._changed(data, step)
        return self._checked(data, record)

    def contents(self) -> Iterator[tuple[Record, bytes]]:
        """Every record with its bytes, in order. Raises ``DamagedError`` at one that is not what it says."""
        now: dict[str, bytes] = {}
        for step in tuple(self.steps):
            file = step.record.file
            before = now[file] if file in now else self.data_before(file)
            now[file] = self._checked(self._changed(before, step), step.record)
            yield step.record, now[file]

    def _unpacked(self, head: Head) -> bytes:
        try:
            data = head.whole.unpack()
        except ValueError as error:
            raise damaged(self.path, f"the checkpoint's {head.record.file}: {error}") from error
        return self._checked(data, head.record)

    def _changed(self, data: bytes, step: Step) -> bytes:
        try:
            return step.change.apply(data) if isinstance(step.change, Splice) else step.change.unpack()
        except ValueError as error:
            raise damaged(self.path, f"record {step.record.sequence}: {error}") from error

    def _checked(self, data: bytes, record: Record) -> bytes:
        if len(data) != record.size or bytes_digest(data) != record.head:
            raise damaged(self.path, f"the bytes of record {record.sequence} are not what its digest says")
        return data

    def _place(self, sequence: int) -> int | None:
        place = sequence - self.checkpoint.sequence
        return place if 0 <= place < len(self.steps) else None


def checkpoint_of(path: Path, data: bytes, found: Walk) -> tuple[Checkpoint, int]:
    """The checkpoint with which the bytes of a segment begin, and where it ends. Raises ``DamagedError``."""
    if not found.lines:
        raise damaged(path, "the segment does not begin with a good checkpoint")
    first = found.lines[0]
    try:
        return decode_checkpoint(first.payload, line_digest(data, first)), first.end
    except MalformedError as error:
        raise damaged(path, f"the checkpoint: {error}") from error


def segment_name(sequence: int) -> str:
    """The name of the segment that begins with this record."""
    return f"{sequence:012}.log"


def line_digest(data: bytes, line: JournalLine) -> str:
    """The SHA-256 of a whole line."""
    return sha256(data[line.start : line.end]).hexdigest()


def damaged(path: Path, message: str) -> DamagedError:
    """The error for a segment that is not as it was written."""
    return DamagedError(message, path=path, hint="Run catmem fsck; nothing is written until then.")
