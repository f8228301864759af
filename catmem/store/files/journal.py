"""The journal of one folder of memory files: every revision ever written, in the order it was written.

The journal is a row of segments, files named by the sequence of their first record. Only the newest is appended to; the
others never change, except by ``erase``. Each begins with a header that points to the newest record of each file, and
holds a file whole before any splice of it: so what is there now is read from two segments at most, however long the
journal is.

A writer (``append``, ``bring``, ``cut_tail``, ``flush``, ``erase``) holds the lock of the folder and has called
``refresh`` since taking it. Reading needs no lock. A ``Journal`` is not for several threads at once.

Methods raise ``OSError`` as the system does, and ``DamagedError`` for what is not as it was written.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from catmem.errors import CatmemError, DamagedError, StoreError, TooLargeError
from catmem.store.contract import Anchor, Fault, is_branch, revision_number
from catmem.store.files.records import MalformedError, Record, RecordDraft, decode, decode_header, recorded_name
from catmem.store.files.segments import (
    MAX_SEGMENT,
    RedactFile,
    RedactNoteOf,
    Segment,
    SegmentFolder,
    chain_start,
    damaged,
    erased,
    payloads,
    segment_name,
)
from catmem.store.files.system import System, write_whole

SEGMENT_RECORDS = 256
SEGMENT_BYTES = 256 * 1024
_CACHED = 2


class Brought(NamedTuple):
    """A record as it is taken over: what it says, its bytes, and its timestamp in the store that it comes from."""

    draft: RecordDraft
    data: bytes
    timestamp: str


class Journal:
    """The records of one folder. It reads nothing before it is asked something."""

    def __init__(
        self,
        system: System,
        folder: int,
        where: Path,
        *,
        segment_records: int = SEGMENT_RECORDS,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        """``folder`` is a descriptor of the journal's folder, ``where`` its path, for messages."""
        # A new segment begins when the newest has `segment_records`, or is larger than `segment_bytes` and than twice
        # what the files take in it when they are first written there.
        self._system = system
        self._folder = SegmentFolder(system, folder, where)
        self._segment_records = segment_records
        self._segment_bytes = segment_bytes
        self._in_doubt = False
        self._reader = self._writer = -1
        self._forget()

    def _forget(self) -> None:
        self._is_read = False
        self._newest: Segment | None = None
        self._names: list[str] = []
        """Of the segments before the newest one, the oldest first."""
        self._status: os.stat_result | None = None
        self._older: dict[str, tuple[Segment, os.stat_result]] = {}
        self._heads: dict[str, tuple[Record, bytes]] = {}
        self._pointed: dict[int, tuple[tuple[int, ...], Record]] = {}

    # --- what is there now ---------------------------------------------------------------------------------------

    @property
    def last(self) -> Record | None:
        """The newest record of any file."""
        segment = self._segment()
        return self._at(segment.sequence) if segment and segment.sequence else None

    @property
    def last_write(self) -> Record | None:
        """The record of the newest write that may be unfinished: the last one, or where that is a branch its file's."""
        last = self.last
        return self.head(last.owner) if last is not None and last.is_branch else last

    def files(self) -> list[str]:
        """Every file that has a record, sorted."""
        segment = self._segment()
        return sorted(name for name in segment.heads if "/" not in name) if segment else []

    def tips(self, file: str) -> list[Record]:
        """The head of a file, and its branches that no revision came from, the newest first."""
        segment = self._segment()
        heads = segment.heads.items() if segment else ()
        branches = [self._pointed_at(at.sequence) for name, at in heads if name.startswith(f"{file}/")]
        head = self.head(file)
        return [*([head] if head else []), *sorted(branches, key=lambda each: each.sequence, reverse=True)]

    def head(self, file: str) -> Record | None:
        """The newest record of a file, ``None`` if it has none."""
        segment = self._segment()
        pointer = segment.heads.get(file) if segment else None
        return self._pointed_at(pointer.sequence) if pointer else None

    def head_data(self, file: str) -> bytes:
        """The bytes of the newest record of a file, empty if it has none. They are kept in memory."""
        head = self.head(file)
        if head is None:
            return b""
        kept = self._heads.get(file)
        if kept is None or kept[0].line != head.line:
            kept = self._heads[file] = head, self.data(head)
        return kept[1]

    def anchor(self) -> Anchor:
        """The end of the journal, for keeping elsewhere: the chain begins at the ``store``, 32 random hex digits."""
        segment, last = self._segment(), self.last
        store = segment.header.store if segment else ""
        return {"store": store, "sequence": last.sequence if last else 0, "line": last.link if last else ""}

    def contains(self, anchor: Anchor) -> bool:
        """Whether the journal still goes through the point of an anchor; any goes through that of an empty one."""
        segment, sequence = self._segment(), anchor["sequence"]
        if sequence == 0:
            return True
        if segment is None or anchor["store"] != segment.header.store or sequence > segment.sequence:
            return False
        return self._at(sequence).link == anchor["line"]

    # --- what was there ------------------------------------------------------------------------------------------

    def latest(self, count: int) -> list[Record]:
        """The newest ``count`` records of all files, the newest last."""
        return list(islice(self.records(newest_first=True), count))[::-1]

    def newest(self, file: str) -> list[Record]:
        """The records of a file that are at hand, the newest first: those of the newest segment, and the one before."""
        segment = self._segment()
        before = segment.newest_before(file) if segment else 0
        return [*(segment.records_of(file) if segment else ()), *([self._pointed_at(before)] if before else ())]

    def records_of(self, file: str) -> Iterator[Record]:
        """The records of a file, the newest first; no segment is read that has none of them."""
        segment = self._segment()
        while segment is not None:
            yield from segment.records_of(file)
            sequence = segment.newest_before(file)
            segment = self._holder(self._at(sequence).sequence) if sequence else None

    def operation(self, agent: str, op_id: str, *, file: str | None = None) -> Record | None:
        """The first record of an agent's operation (of ``file``, if given), among those of the newest two segments."""
        # That is at least 256 records, less where files are so large that segments fill up sooner.
        found = (each.operation(agent, op_id, file) for each in islice(self._segments(newest_first=True), 2))
        return next(filter(None, found), None)

    def records(self, *, newest_first: bool = False) -> Iterator[Record]:
        """All records, read segment by segment; none that is appended meanwhile."""
        newest = self._segment()
        end = newest.sequence if newest else 0
        for segment in self._segments(newest_first=newest_first):
            steps = reversed(segment.steps) if newest_first else tuple(segment.steps)
            yield from (step.record for step in steps if step.record.sequence <= end)

    def find(self, file: str, revision: str) -> Record | None:
        """The first record of a revision, ``None`` if there is none."""
        newest, name = self._segment(), recorded_name(file, revision)
        if newest is None or revision == "0":
            return None
        branch = is_branch(revision)
        if branch and name in newest.heads:
            return self._at(newest.heads[name].sequence)
        # A branch such as 8a is recorded some time after the head 7, an 8 when it becomes the head.
        number = revision_number(revision) - branch
        if newest.number_before(file) < number:
            return newest.find(name, revision)
        names = [*self._names, newest.name]
        low = bisect_left(names, number, key=lambda each: self._load(each, newest).number_before(file))
        if not low:
            _refuse_no_beginning(self._load(names[0], newest))
        older: Segment | None = None
        for each in names[max(0, low - 1) : None if branch else low + 1]:
            segment = self._load(each, newest)
            _refuse_gap(older, segment)
            if (found := segment.find(name, revision)) is not None:
                return found
            older = segment
        return None

    def data(self, record: Record) -> bytes:
        """The bytes of a record."""
        self._at(record.sequence)  # which says so if it is missing
        return self._holder(record.sequence).data(record.sequence)

    def replay(self) -> Iterator[tuple[Record, bytes]]:
        """All records with their bytes, the oldest first, each checked against its digest."""
        for segment in self._segments():
            yield from segment.contents()

    def verify(self) -> list[Fault]:
        """Look at every byte of every segment, and say what is not right; a damaged journal raises nothing here."""
        return verify(self._folder)

    def _segment(self) -> Segment | None:
        """The newest segment; ``None`` for a journal without records."""
        if not self._is_read:
            self.refresh()
        return self._newest

    def _segments(self, *, newest_first: bool = False) -> Iterator[Segment]:
        """Every segment. Raises ``DamagedError`` where one does not follow the other."""
        newest = self._segment()
        if newest is None:
            return
        names = [*self._names, newest.name]
        seen: Segment | None = None
        for name in reversed(names) if newest_first else names:
            segment = self._load(name, newest)
            if name == names[0]:
                _refuse_no_beginning(segment)
            if seen is not None:
                _refuse_gap(*((segment, seen) if newest_first else (seen, segment)))
            seen = segment
            yield segment

    def _at(self, sequence: int) -> Record:
        """The record with this sequence."""
        record = self._holder(sequence).record(sequence)
        if record is None:
            raise damaged(self._folder.where, f"record {sequence} is in no segment, and later ones are there")
        return record

    def _pointed_at(self, sequence: int) -> Record:
        """The record of a head or an open branch; of an older segment from memory, if its file is the same still."""
        newest = self._segment()
        if newest is None or sequence >= newest.header.sequence:
            return self._at(sequence)
        there = self._folder.status(self._older_name(sequence))
        if there is None:
            return self._at(sequence)
        kept = self._pointed.get(sequence)
        if kept is None or kept[0] != _state(there):
            kept = self._pointed[sequence] = _state(there), self._at(sequence)
        return kept[1]

    def _holder(self, sequence: int) -> Segment:
        """The segment in which the record with this sequence should be."""
        newest = self._segment()
        if newest is not None and sequence >= newest.header.sequence:
            return newest
        return self._load(self._older_name(sequence), newest)

    def _older_name(self, sequence: int) -> str:
        """The name of the segment before the newest one in which the record with this sequence should be."""
        place = bisect_right(self._names, segment_name(sequence))
        if not place:
            raise damaged(self._folder.where, f"record {sequence} is in no segment, and later ones are there")
        return self._names[place - 1]

    def _load(self, name: str, newest: Segment | None) -> Segment:
        """A segment by its name; from memory if its file is the same still."""
        if newest is not None and name == newest.name:
            return newest
        cached = self._older.pop(name, None)
        there = self._folder.status(name) if cached else None
        if cached is None or there is None or _state(cached[1]) != _state(there):
            try:
                cached = self._folder.segment(name)
            except FileNotFoundError:
                message = "this segment is missing, and later ones are there"
                raise damaged(self._folder.where / name, message) from None
            if cached[0].torn:
                raise damaged(cached[0].path, "the segment ends in a damaged record, and another segment follows")
        self._older[name] = cached
        while len(self._older) > _CACHED:
            del self._older[next(iter(self._older))]
        return cached[0]

    # --- the newest segment on the disk --------------------------------------------------------------------------

    def refresh(self) -> None:
        """Read what was appended since the last time, by whomever."""
        # A line at the end that is cut short is passed over, since a writer may be at it. Who has the lock, so that
        # none is, cuts it off (`cut_tail`). Damage before a good record raises `DamagedError`.
        if self._newest is None or not self._read_on(self._newest):
            try:
                self._read_anew()
            except (DamagedError, FileNotFoundError):
                # Without the lock one may read half of what is being cut off and half of what is written in its place.
                self._read_anew()

    def _read_on(self, segment: Segment) -> bool:
        """Take in what was appended; false if this is no longer the newest segment, or another file."""
        there = self._folder.status(segment.name)
        if there is None or not self._is_open(there) or there.st_size < segment.end:
            return False
        if there.st_size > segment.end:
            # If this makes no sense, perhaps a record that was read before was taken back by a writer whose disk
            # failed, and another one is in its place: then all of it is read.
            try:
                segment.add_lines(self._folder.read(segment.name, self._reader, segment.end, there.st_size))
            except DamagedError:
                return False
            if segment.torn:
                return False
        segment.torn = False
        return not self._is_followed(segment)

    def _read_anew(self) -> None:
        self.close()
        names = self._folder.names()
        if names:
            # It stays open, so that its inode number is not given to another file.
            self._reader, self._status = self._folder.open(names[-1])
            data = self._folder.read(names[-1], self._reader, 0, self._status.st_size)
            self._newest = Segment.read(self._folder.where / names[-1], data)
            self._names = names[:-1]
        self._is_read = True

    def _is_open(self, there: os.stat_result) -> bool:
        return self._status is not None and os.path.samestat(there, self._status)

    def _is_followed(self, segment: Segment) -> bool:
        """Whether another segment follows. Only one that has a record can be followed."""
        return bool(segment.steps) and self._folder.status(segment_name(segment.sequence + 1)) is not None

    def close(self) -> None:
        """Let go of what is open. A later call opens it again."""
        opened = self._reader, self._writer
        self._reader = self._writer = -1
        self._forget()
        for descriptor in opened:
            if descriptor >= 0:
                self._system.close(descriptor)

    # --- writing -------------------------------------------------------------------------------------------------

    def append(self, draft: RecordDraft, data: bytes) -> Record:
        """Write a record of ``data`` as the newest revision of ``draft.file``; it is durable when this returns."""
        # Any `OSError` leaves the journal in doubt: the file is cut back to its old end if that can be done, the error
        # is raised on, and every later write raises `StoreError` (`read_only`) until a new `Journal` is made.
        self.refuse_doubt()
        segment, old = self._segment(), self.head_data(draft.file)
        if segment is None or self._is_full(segment):
            following, first = Segment.begin(self._folder.where, segment, self._system.token())
            step, line = following.next(draft, old, data, self._system)
            self._put(following.name, first + line)
            with suppress(OSError):  # the record is durable; the next caller reads it anew, and gets any error
                self._read_anew()
        else:
            step, line = segment.next(draft, old, data, self._system)
            self._append_to(segment, line)
            segment.add(step, len(line))
        if not draft.is_branch:
            self._heads[draft.file] = step.record, data
        return step.record

    def append_history(self, history: Iterable[Brought]) -> None:
        """Take over many records, in a segment of their own: all of them, or none whatever stops it."""
        self.refuse_doubt()
        segment, first = Segment.begin(self._folder.where, self._segment(), self._system.token())
        lines, size = [first], len(first)
        now: dict[str, bytes] = {}
        for draft, data, moment in history:
            step, line = segment.next(draft, now.get(draft.file, b""), data, self._system, moment)
            segment.add(step, len(line))
            lines.append(line)
            size += len(line)
            if size > MAX_SEGMENT:
                raise TooLargeError("history", size, MAX_SEGMENT, path=draft.file)
            now[draft.file] = data
        if segment.steps:
            try:
                self._put(segment.name, b"".join(lines))
            finally:
                self.close()

    def cut_tail(self) -> None:
        """Cut off a broken line at the end: a write that was not acknowledged."""
        segment = self._segment()
        if segment is None or not segment.torn:
            return
        with self._writing():
            writer = self._opened_to_write(segment)
            self._system.truncate(writer, segment.end)
            self._system.fsync(writer)
        segment.torn = False

    def flush(self) -> None:
        """Have the disk keep all that is there, records included whose writer did not live to wait for it."""
        # For recovery, before it acts on a record that another process left unpublished.
        with self._writing():
            if self._newest is not None:
                self._system.fsync(self._opened_to_write(self._newest))
                self._folder.settle()

    def erase(self, redact: RedactFile, redact_note: RedactNoteOf = lambda _, note, __: note) -> int:
        """Rewrite the journal so that each revision's bytes are ``redact(file, bytes)``; returns how many changed."""
        # Its note becomes `redact_note(file, note, bytes)`, by the bytes as they were. A rewritten record says in `was`
        # what stood in its place, and the chain goes on through that. If it is stopped half way, the journal is whole,
        # and running it again finishes the work.
        # A journal that is damaged anywhere is left as it is: what is missing or broken may be the text to erase.
        changed = 0
        try:
            with self._writing():
                for fault in self.verify():
                    if fault.damage:
                        raise DamagedError(fault.message, path=fault.path, hint=fault.hint)
                for name in self._folder.names():
                    segment, _ = self._folder.segment(name)
                    data, count = erased(segment, redact, redact_note)
                    changed += count
                    if data is not None:
                        self._folder.put(name, data)
                for name in self._folder.leftovers():
                    self._folder.remove(name)
                self._folder.settle()
        finally:
            self.close()
        return changed

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Whatever stops the work inside leaves the journal in doubt, except catmem's own refusals."""
        self.refuse_doubt()
        self._in_doubt = True
        try:
            yield
        except CatmemError:
            self._in_doubt = False
            raise
        self._in_doubt = False

    def refuse_doubt(self) -> None:
        """Raise ``StoreError`` (``read_only``) if an earlier write failed."""
        if self._in_doubt:
            raise StoreError(
                "an earlier write to the journal failed, so nothing more is written",
                code="read_only",
                path=self._folder.where,
                hint="What was acknowledged is safe. Mend the disk or make room, then open the store again.",
            )

    def _is_full(self, segment: Segment) -> bool:
        large = max(self._segment_bytes, 2 * segment.starts)
        return len(segment.steps) >= self._segment_records or segment.end > large

    def _refuse_changed(self) -> None:
        """Raise ``StoreError`` if another process wrote since ``refresh``, although the caller has the lock."""
        segment = self._newest
        there = self._folder.status(segment.name) if segment else None
        if segment is None:
            same = not self._folder.names()
        else:
            same = there is not None and self._is_open(there) and there.st_size == segment.end
            same = same and not self._is_followed(segment)
        if not same:
            raise StoreError(
                "the journal was changed since it was read",
                code="read_only",
                path=self._folder.where,
                hint="Nothing was written. Read it again under the lock, and repeat the write.",
            )

    def _append_to(self, segment: Segment, line: bytes) -> None:
        self._refuse_changed()
        with self._writing():
            writer = self._opened_to_write(segment)
            try:
                write_whole(self._system, writer, line, segment.end)
                self._system.fsync(writer)
            except OSError:
                # The first error is the one to tell. If the end cannot be cut off now, the next repair does it.
                with suppress(OSError):
                    self._system.truncate(writer, segment.end)
                raise

    def _put(self, name: str, data: bytes) -> None:
        """Begin a segment: its header and its records go in place together, whole and durable."""
        self._refuse_changed()
        with self._writing():
            try:
                self._folder.put(name, data)
            except OSError:
                # The first error is the one to tell. Without a name the segment was never there.
                with suppress(OSError):
                    self._folder.remove(name)
                raise

    def _opened_to_write(self, segment: Segment) -> int:
        if self._writer < 0:
            self._writer, _ = self._folder.open(segment.name, os.O_WRONLY)
            # The process that put the segment in place may have died before the disk kept its name.
            self._folder.settle()
        return self._writer


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _refuse_gap(older: Segment | None, newer: Segment) -> None:
    if older is not None and newer.header.previous != older.link:
        raise damaged(newer.path, f"the segment does not follow {older.name}")


def _refuse_no_beginning(first: Segment) -> None:
    if first.header.sequence > 1:
        raise damaged(first.path, f"records 1 to {first.header.sequence - 1} are missing")


# --- a look at every byte ---------------------------------------------------------------------------------------------
#
# Codes: `journal_damaged` (a segment is missing, or is not what was written: its bytes, its chain or the contents),
# `journal_tail` (the last line is cut short); and for information `journal_leftover`. Of each segment the first fault
# is reported: what comes after may follow from it.

_MEND = "Run 'catmem fsck --repair': it keeps the damaged journal aside and begins a new one."


def verify(folder: SegmentFolder) -> list[Fault]:
    """What is not right, the oldest segment first. Raises ``OSError`` for what cannot be read."""
    faults: list[Fault] = []
    before: Segment | None = None
    names = folder.names()
    for name in names:
        path, is_last = str(folder.where / name), name == names[-1]
        try:
            segment, _ = folder.segment(name)
            _check(segment, before, is_first=name == names[0], is_last=is_last)
        except DamagedError as error:
            faults.append(Fault("journal_damaged", error.message, path, _MEND, repairable=True))
            before = None  # it is unknown what the next segment should begin with
            continue
        if segment.torn:
            hint = "A write was cut short, or goes on just now. The next write cuts the line off."
            faults.append(Fault("journal_tail", "the last line is no good record", path, hint, repairable=True))
        before = segment
    for name in folder.leftovers():
        message = "what a write left that was cut short; it holds nothing that was acknowledged"
        hint = "Remove it, or leave it: nothing reads it."
        faults.append(Fault("journal_leftover", message, str(folder.where / name), hint, damage=False))
    return faults


def _check(segment: Segment, before: Segment | None, *, is_first: bool, is_last: bool) -> None:
    """Raise ``DamagedError`` unless a segment follows from the one before, and its records from each other."""
    header = segment.header
    if is_first:
        _refuse_no_beginning(segment)
        if header.previous != chain_start(header.store):
            raise damaged(segment.path, "the chain does not begin at the id of this journal")
    elif before is not None:
        if header.sequence != before.sequence + 1:
            raise damaged(segment.path, f"records {before.sequence + 1} to {header.sequence - 1} are missing")
        if (header.store, header.previous, header.heads) != (before.header.store, before.link, before.heads):
            raise damaged(segment.path, f"the segment does not follow from {before.name}")
    if segment.torn and not is_last:
        raise damaged(segment.path, "the last line is damaged, and another segment follows")
    numbers = {name: revision_number(at.revision) for name, at in header.heads.items()}
    for record, _ in segment.contents():  # each is checked against its digest on the way
        known = numbers.get(record.file)
        if known is not None and not known <= record.number <= known + 1:
            raise damaged(segment.path, f"revision {record.revision} of {record.file} comes after revision {known}")
        numbers[record.file] = record.number


def last_numbers(folder: SegmentFolder) -> tuple[int, dict[str, int]]:
    """The last sequence that a good line names, and of each file its highest revision, in a journal that is damaged."""
    last, highest = 0, dict[str, int]()
    for segment in folder.names():
        with suppress(DamagedError):  # no file, or one over the limit
            for payload in payloads(folder.load(segment)[0]):
                sequence, numbers = _numbers(payload)
                last = max(last, sequence)
                highest |= {name: max(number, highest.get(name, 0)) for name, number in numbers.items()}
    return last, highest


def _numbers(payload: bytes) -> tuple[int, dict[str, int]]:
    """The sequence and the revisions that a line names, a record or a header; none where it can be read as neither."""
    with suppress(MalformedError):
        record, _ = decode(payload, "")
        return record.sequence, {record.owner: record.number}
    with suppress(MalformedError):
        header = decode_header(payload)
        heads = header.heads.items()
        return header.sequence - 1, {name: revision_number(at.revision) for name, at in heads if "/" not in name}
    return 0, {}
