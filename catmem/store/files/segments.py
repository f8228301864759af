r"""The segments of a journal: how a line is framed, what a segment holds, and how segments lie in their folder.

A line is ``RS``, the length of its payload and the payload's CRC as eight hex digits each, the payload, and a line
feed: ``\x1e00000002 9e3779b9 {}\n``. A payload holds neither ``RS`` nor a line feed (canonical JSON escapes both), so
the search for the next good line after damage takes linear time, whatever is there.

The CRC is ``zlib.crc32``, and not the CRC-32C of the first design: it is in the standard library and runs at C speed.
It only finds a write that was cut short; what proves that nothing was changed is the chain of SHA-256 digests.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple, TypeAlias
from zlib import crc32

from catmem import clock
from catmem.digest import bytes_digest
from catmem.errors import DamagedError, TooLargeError
from catmem.store.changes import ByteChange, Splice, WholeText, redacted, whole
from catmem.store.changes import change as changed
from catmem.store.contract import is_branch, revision_number
from catmem.store.files.records import (
    MAX_DATA,
    MalformedError,
    Pointer,
    Record,
    RecordDraft,
    SegmentHeader,
    Tombstone,
    decode,
    decode_header,
    encode,
    encode_header,
    recorded_name,
)
from catmem.store.files.system import System, opened, write_whole

START = b"\x1e"
END = b"\n"
MAX_PAYLOAD = 64 * 1024 * 1024

_HEADER = re.compile(rb"\x1e([0-9a-f]{8}) ([0-9a-f]{8}) ")


class JournalLine(NamedTuple):
    """A good line: it is ``buffer[start:end]``."""

    start: int
    end: int
    payload: bytes
    digest: str


class Walk(NamedTuple):
    """What stands in a buffer: good lines up to ``end``, and then perhaps bytes that are no good line.

    ``resume`` is where the next good line begins after those, ``None`` if none does.
    """

    lines: list[JournalLine]
    end: int
    resume: int | None
    size: int


def frame(payload: bytes, of: str) -> bytes:
    """The line of canonical JSON; ``of`` says in the error what is too large. Raises ``TooLargeError``."""
    if len(payload) > MAX_PAYLOAD:
        raise TooLargeError("record in the journal", len(payload), MAX_PAYLOAD, path=of)
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


def payloads(buffer: bytes) -> Iterator[bytes]:
    """Those of all good lines, whatever stands between them."""
    position: int | None = 0
    while position is not None:
        found = walk(buffer, position)
        yield from (line.payload for line in found.lines)
        position = found.resume


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
    return JournalLine(position, end + 1, payload, sha256(buffer[position : end + 1]).hexdigest())


def _next_good(buffer: bytes, position: int) -> int | None:
    while (end := buffer.find(END, position)) >= 0:
        begin = buffer.rfind(START, position, end)
        if begin >= 0 and _line_at(buffer, begin) is not None:
            return begin
        position = end + 1
    return None


WHOLE_EVERY = 32
"""A file stands whole in a segment as its first record there, and at least once in so many."""


class Step(NamedTuple):
    """A record and what it did to the bytes."""

    record: Record
    change: ByteChange


class Segment:
    """The good lines of one segment. ``end`` is where they end in the file.

    ``torn`` tells that the file had more, a line that is cut short or not written yet. ``heads`` point to the newest
    record of each file, here or before, and to each branch that no revision came from. ``starts`` counts the bytes of
    the header and of the first record of each file.
    """

    def __init__(self, path: Path, header: SegmentHeader, line: bytes) -> None:
        """A segment that has only its header, as ``line``."""
        self.name = path.name
        self.path = path
        self.header = header
        self.first_link = sha256(line).hexdigest()
        self.starts = self.end = len(line)
        self.torn = False
        self.steps: list[Step] = []
        self.heads = dict(header.heads)
        self._places: dict[str, list[int]] = {}

    @classmethod
    def begin(cls, folder: Path, before: Segment | None, store: str) -> tuple[Segment, bytes]:
        """The segment after ``before``, or the first one of a ``store``, without records; and its header's line."""
        if before is None:
            header = SegmentHeader(1, store, chain_start(store))
        else:
            header = SegmentHeader(before.sequence + 1, before.header.store, before.link, dict(before.heads))
        line = frame(encode_header(header), "header")
        return cls(folder / segment_name(header.sequence), header, line), line

    @classmethod
    def read(cls, path: Path, data: bytes) -> Segment:
        """The segment that a file holds. Raises ``DamagedError``."""
        first = _line_at(data, 0)
        if first is None:
            raise damaged(path, "the segment does not begin with a good header")
        try:
            header = decode_header(first.payload)
        except MalformedError as error:
            raise damaged(path, f"the header: {error}") from error
        if path.name != segment_name(header.sequence):
            raise damaged(path, f"the segment begins with record {header.sequence}, and its name says another")
        segment = cls(path, header, data[: first.end])
        segment.add_lines(data, first.end)
        return segment

    def add_lines(self, data: bytes, start: int = 0) -> None:
        """Add the lines of ``data`` from ``start`` on. Raises ``DamagedError``; the segment is of no use then."""
        found = walk(data, start)
        for line in found.lines:
            try:
                step = Step(*decode(line.payload, line.digest))
            except MalformedError as error:
                raise damaged(self.path, f"the record after {self.sequence}: {error}") from error
            if step.record.sequence != self.sequence + 1:
                raise damaged(self.path, f"record {step.record.sequence} follows record {self.sequence}")
            if step.record.previous != self.link:
                raise damaged(self.path, f"record {step.record.sequence} breaks the chain")
            self.add(step, line.end - line.start)
        if found.resume is not None:
            raise damaged(self.path, f"bytes {self.end} and following are damaged, and good records follow")
        self.torn = found.end < found.size

    def add(self, step: Step, size: int) -> None:
        """Add the next record, whose line has ``size`` bytes."""
        record = step.record
        for parent in record.parents:
            if is_branch(parent):
                self.heads.pop(recorded_name(record.owner, parent), None)
        self.heads[record.file] = Pointer(record.sequence, record.revision)
        if record.file not in self._places:
            self.starts += size
        self._places.setdefault(record.file, []).append(len(self.steps))
        self.steps.append(step)
        self.end += size

    def next(self, draft: RecordDraft, old: bytes, data: bytes, system: System, moment: str = "") -> tuple[Step, bytes]:
        """The next record, which makes ``data`` of ``old``, and its line. Raises ``TooLargeError``."""
        # `moment` is when it was made, where that is not now.
        if len(data) > MAX_DATA:
            raise TooLargeError("file", len(data), MAX_DATA, path=draft.file)
        record = Record(
            **{name: getattr(draft, name) for name in RecordDraft.__slots__},
            sequence=self.sequence + 1,
            timestamp=moment or clock.timestamp(system.now()),
            head=bytes_digest(data),
            size=len(data),
            boot=system.boot(),
            previous=self.link,
            line="",
        )
        own = self._places.get(draft.file, [])[1 - WHOLE_EVERY :]
        near = any(isinstance(self.steps[place].change, WholeText) for place in own)
        return _lined(record, changed(old, data) if near else whole(data))

    @property
    def sequence(self) -> int:
        """The sequence of the last record, here or before."""
        return self.header.sequence + len(self.steps) - 1

    @property
    def link(self) -> str:
        """The digest that the next line names as its ``previous``."""
        return self.steps[-1].record.link if self.steps else self.first_link

    def record(self, sequence: int) -> Record | None:
        """The record with this sequence, if it is here."""
        place = sequence - self.header.sequence
        return self.steps[place].record if 0 <= place < len(self.steps) else None

    def number_before(self, file: str) -> int:
        """The number of a file's newest revision before this segment."""
        return revision_number(self.header.heads[file].revision) if file in self.header.heads else 0

    def newest_before(self, file: str) -> int:
        """The sequence of a file's newest record before this segment, ``0`` for none."""
        # What was the newest is the head, or a branch that is still open here.
        return max((at.sequence for name, at in self.header.heads.items() if name.partition("/")[0] == file), default=0)

    def records_of(self, file: str) -> list[Record]:
        """The records of a file in this segment, its branches too, the newest first."""
        return [step.record for step in reversed(self.steps) if step.record.owner == file]

    def find(self, file: str, revision: str) -> Record | None:
        """The first record of a revision in this segment."""
        records = (self.steps[place].record for place in self._places.get(file, ()))
        return next((record for record in records if record.revision == revision), None)

    def operation(self, agent: str, op_id: str, file: str | None) -> Record | None:
        """The first record of an agent's operation in this segment."""
        made = (record for record, _ in self.steps if (record.op_id, record.agent) == (op_id, agent))
        return next((record for record in made if file is None or record.owner == file), None)

    def data(self, sequence: int) -> bytes:
        """The bytes that a record here made."""
        record = self.steps[sequence - self.header.sequence].record
        places = self._places[record.file]
        last = bisect_left(places, sequence - self.header.sequence)
        first = last
        while first > 0 and isinstance(self.steps[places[first]].change, Splice):
            first -= 1
        data = b""
        for place in places[first : last + 1]:
            data = self._changed(data, self.steps[place])
        return self._checked(data, record)

    def contents(self) -> Iterator[tuple[Record, bytes]]:
        """Every record with its bytes, in order. Raises ``DamagedError`` at one that is not what it says."""
        now: dict[str, bytes] = {}
        for step in tuple(self.steps):
            file = step.record.file
            if file not in now and isinstance(step.change, Splice):
                raise damaged(self.path, f"record {step.record.sequence} changes bytes that are not here")
            now[file] = self._checked(self._changed(now.get(file, b""), step), step.record)
            yield step.record, now[file]

    def _changed(self, data: bytes, step: Step) -> bytes:
        try:
            return step.change.apply(data)
        except ValueError as error:
            raise damaged(self.path, f"record {step.record.sequence}: {error}") from error

    def _checked(self, data: bytes, record: Record) -> bytes:
        if len(data) != record.size or bytes_digest(data) != record.head:
            raise damaged(self.path, f"the bytes of record {record.sequence} are not what its digest says")
        return data


def _lined(record: Record, made: ByteChange) -> tuple[Step, bytes]:
    line = frame(encode(record, made), record.file)
    return Step(replace(record, line=sha256(line).hexdigest()), made), line


def chain_start(store: str) -> str:
    """What the first line of a journal names as the line before it."""
    return sha256(store.encode()).hexdigest()


def segment_name(sequence: int) -> str:
    """The name of the segment that begins with this record."""
    return f"{sequence:012}.log"


def damaged(path: Path, message: str) -> DamagedError:
    """The error for a segment that is not as it was written."""
    return DamagedError(message, path=path, hint="Run catmem fsck: it says what is lost, and how to go on.")


def acknowledged(lost: int) -> str:
    """So many records that are lost, as the subject of a sentence."""
    return f"{lost:,} acknowledged record{' is' if lost == 1 else 's are'}"


# --- what an erasure leaves of a segment ---

RedactFile: TypeAlias = Callable[[str, bytes], bytes]
"""``redact(file, data)`` gives the bytes as they are to be; the same bytes where nothing is to be erased.

For a branch it is asked with the name of its file.
"""

RedactNoteOf: TypeAlias = Callable[[str, Mapping[str, Any], bytes], Mapping[str, Any]]
"""``redact_note(file, note, data)`` gives the note of a revision as it is to be, by its bytes as they were."""


def erased(segment: Segment, redact: RedactFile, redact_note: RedactNoteOf) -> tuple[bytes | None, int]:
    """The segment as it is to be, ``None`` if that is how it is; and how many records say something else then."""
    lines = [frame(encode_header(segment.header), "header")]
    is_same, count = True, 0
    old: dict[str, bytes] = {}
    new: dict[str, bytes] = {}
    for (record, made), (_, data) in zip(tuple(segment.steps), segment.contents(), strict=True):
        file = record.file
        after, note = redact(record.owner, data), redact_note(record.owner, record.note, data)
        count += after != data or note != record.note
        change = redacted(made, (old.get(file, b""), new.get(file, b"")), (data, after))
        rewritten = replace(record, note=note, head=bytes_digest(after), size=len(after))
        step, line = _lined(rewritten, change)
        if step.record.line != record.line:
            is_same = False
            _, line = _lined(replace(rewritten, was=Tombstone(record.link, record.origin)), change)
        lines.append(line)
        old[file], new[file] = data, after
    return None if is_same else b"".join(lines), count


# --- segments on the disk ---

MAX_SEGMENT = 1024 * 1024 * 1024
"""Bytes of one segment; a larger file is none that this module wrote."""

_SEGMENT = re.compile(r"[0-9]{12}\.log")
_LEFTOVER = re.compile(r"[0-9]{12}\.log\.new")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def is_segment(name: str) -> bool:
    """Whether this is the name of a segment."""
    return _SEGMENT.fullmatch(name) is not None


def is_leftover(name: str) -> bool:
    """Whether this is the name of a segment that was never finished."""
    return _LEFTOVER.fullmatch(name) is not None


class SegmentFolder(NamedTuple):
    """The folder of a journal: ``descriptor`` is open, ``where`` its path, for messages."""

    system: System
    descriptor: int
    where: Path

    def names(self) -> list[str]:
        """The names of the segments, the oldest first."""
        return list(filter(is_segment, self.system.names(self.descriptor)))

    def leftovers(self) -> list[str]:
        """Segments that were never finished."""
        return list(filter(is_leftover, self.system.names(self.descriptor)))

    def status(self, name: str) -> os.stat_result | None:
        """What stands under the name; ``None`` for nothing."""
        try:
            return self.system.look(name, folder=self.descriptor)
        except FileNotFoundError:
            return None

    def open(self, name: str, flags: int = os.O_RDONLY) -> tuple[int, os.stat_result]:
        """A descriptor of a segment. Raises ``FileNotFoundError``, and ``DamagedError`` for what is none."""
        descriptor = self.system.open(name, flags | os.O_NONBLOCK, folder=self.descriptor)
        try:
            status = self.system.status(descriptor)
            if S_ISREG(status.st_mode):
                return descriptor, status
        except BaseException:
            self.system.close(descriptor)
            raise
        self.system.close(descriptor)
        raise damaged(self.where / name, "this is no regular file")

    def read(self, name: str, descriptor: int, start: int, size: int) -> bytes:
        """The bytes of an open segment from ``start`` up to ``size``, or to its end if that comes first."""
        if size > MAX_SEGMENT:
            raise damaged(self.where / name, f"the segment has {size:,} bytes, over {MAX_SEGMENT:,}")
        parts = []
        while start < size and (part := self.system.read_at(descriptor, size - start, start)):
            parts.append(part)
            start += len(part)
        return b"".join(parts)

    def load(self, name: str) -> tuple[bytes, os.stat_result]:
        """The bytes of a segment as they are on the disk. Raises ``FileNotFoundError`` and ``DamagedError``."""
        descriptor, status = self.open(name)
        try:
            return self.read(name, descriptor, 0, status.st_size), status
        finally:
            self.system.close(descriptor)

    def segment(self, name: str) -> tuple[Segment, os.stat_result]:
        """A segment as it is on the disk. Raises ``FileNotFoundError`` and ``DamagedError``."""
        data, status = self.load(name)
        return Segment.read(self.where / name, data), status

    def put(self, name: str, data: bytes) -> None:
        """Put a file in place, new or over the old one: whole and durable, or not at all."""
        unfinished = f"{name}.new"
        self.remove(unfinished)
        with opened(self.system, unfinished, self.descriptor, _NEW) as descriptor:
            try:
                write_whole(self.system, descriptor, data)
                self.system.fsync(descriptor)
            except OSError:
                # The first error is the one to tell; what cannot be removed now is removed before the next attempt.
                with suppress(OSError):
                    self.system.unlink(unfinished, folder=self.descriptor)
                raise
        self.system.rename(unfinished, name, old_folder=self.descriptor, new_folder=self.descriptor)
        self.settle()

    def remove(self, name: str) -> None:
        """Remove a name, if it is there."""
        with suppress(FileNotFoundError):
            self.system.unlink(name, folder=self.descriptor)

    def settle(self) -> None:
        """Have the disk keep the names."""
        self.system.fsync(self.descriptor)
