"""The journal of one folder of memory files: every revision ever written, in the order it was written.

The journal is a row of segments, files named by the sequence of their first record. Only the newest is appended to; the
others never change, except by ``erase``. Each begins with a checkpoint that holds every file whole, so the newest alone
says what is there now, however long the journal is.

A writer (``append``, ``bring``, ``refresh`` with ``repair``, ``cut_tail``, ``flush``, ``erase``) holds the lock of the
folder and has called ``refresh`` since taking it. Reading needs no lock. A ``Journal`` is not for several threads at
once.

Methods raise ``OSError`` as the system does, and ``DamagedError`` for what is not as it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from catmem.errors import CatmemError, StoreError
from catmem.store.contract import Anchor, Fault
from catmem.store.files.journal_disk import JournalFolder, OlderSegments, Tip
from catmem.store.files.journal_lines import (
    Brought,
    RedactFile,
    RedactNoteOf,
    checkpoint_line,
    erase_journal,
    new_segments,
    record_line,
)
from catmem.store.files.records import Record, RecordDraft
from catmem.store.files.segments import Segment, segment_name
from catmem.store.files.system import System, write_whole

SEGMENT_RECORDS = 256
SEGMENT_BYTES = 256 * 1024


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
        # its checkpoint.
        self._system = system
        self._folder = JournalFolder(system, folder, where)
        self._tip = Tip(system, self._folder)
        self._past = OlderSegments(self._folder)
        self._heads: dict[str, tuple[Record, bytes]] = {}
        self._segment_records = segment_records
        self._segment_bytes = segment_bytes
        self._in_doubt = False

    # What is there now

    @property
    def store_id(self) -> str:
        """32 random hex digits, made with the first record; the chain begins at it. Empty before."""
        segment = self._newest()
        return segment.checkpoint.store if segment else ""

    @property
    def last(self) -> Record | None:
        """The newest record of any file."""
        segment = self._newest()
        return segment.last if segment else None

    @property
    def last_write(self) -> Record | None:
        """The record of the newest write that may be unfinished: the last one, or where that is a branch its file's."""
        last = self.last
        return self.head(last.owner) if last is not None and last.is_branch else last

    def files(self) -> list[str]:
        """Every file that has a record, sorted."""
        segment = self._newest()
        return [name for name in segment.files() if "/" not in name] if segment else []

    def tips(self, file: str) -> list[Record]:
        """The head of a file, and its branches that no revision came from, the newest first. Only the end is read."""
        segment = self._newest()
        if segment is None:
            return []
        names = [name for name in segment.carried() if "/" in name and name.partition("/")[0] == file]
        branches = [head for name in names if (head := segment.head(name))]
        head = segment.head(file)
        return [*([head] if head else []), *sorted(branches, key=lambda each: each.sequence, reverse=True)]

    def head(self, file: str) -> Record | None:
        """The newest record of a file, ``None`` if it has none."""
        segment = self._newest()
        return segment.head(file) if segment else None

    def head_data(self, file: str) -> bytes:
        """The bytes of the newest record of a file, empty if it has none. They are kept in memory."""
        head = self.head(file)
        if head is None:
            return b""
        kept = self._heads.get(file)
        if kept is None or kept[0].line != head.line:
            kept = self._heads[file] = head, self.data(head)
        return kept[1]

    def refresh(self, *, repair: bool = False) -> None:
        """Read what was appended since the last time, by whomever."""
        # A line at the end that is cut short is passed over, since a writer may be at it. With `repair` (the caller has
        # the lock, so none is) it is kept in a file beside the segment and cut off. Damage before a good record raises
        # `DamagedError`.
        self._tip.refresh()
        if repair:
            self.cut_tail()

    def cut_tail(self) -> None:
        """Cut off the broken line at the end that ``refresh`` found, if any; see there."""
        if self._tip.segment is not None and self._tip.segment.torn:
            with self._writing():
                self._tip.cut_tail()

    def anchor(self) -> Anchor:
        """The end of the journal, for keeping elsewhere."""
        last = self.last
        return {"store": self.store_id, "sequence": last.sequence if last else 0, "line": last.link if last else ""}

    def contains(self, anchor: Anchor) -> bool:
        """Whether the journal still goes through the point that an anchor names. One of an empty journal always holds.

        It is false where another record stands at that point, where the journal ends before it, and for an anchor of
        another journal. Raises ``DamagedError`` if that part of this journal is missing.
        """
        segment, sequence = self._newest(), anchor["sequence"]
        if sequence == 0:
            return True
        if segment is None or anchor["store"] != segment.checkpoint.store or sequence > segment.sequence:
            return False
        return self._past.link(segment, sequence) == anchor["line"]

    def close(self) -> None:
        """Let go of what is open. A later call opens it again."""
        self._tip.close()
        self._past.clear()
        self._heads.clear()

    # What was there

    def latest(self, count: int) -> list[Record]:
        """The newest ``count`` records of all files, the newest last."""
        found = list(islice(self.records(newest_first=True), count))
        found.reverse()
        return found

    def newest(self) -> list[Record]:
        """The records of the newest segment, the newest first."""
        segment = self._newest()
        return [step.record for step in reversed(segment.steps)] if segment else []

    def operation(self, agent: str, op_id: str, *, file: str | None = None) -> Record | None:
        """The first record of an agent's operation (of ``file``, if given), among those of the newest two segments."""
        # That is at least 256 records, less where files are so large that segments fill up sooner.
        for segment in islice(self._segments(newest_first=True), 2):
            found = segment.operation(agent, op_id, file)
            if found is not None:
                return found
        return None

    def records(self, *, newest_first: bool = False) -> Iterator[Record]:
        """All records, read segment by segment; none that is appended meanwhile."""
        newest = self._newest()
        end = newest.sequence if newest else 0
        for segment in self._segments(newest_first=newest_first):
            steps = reversed(segment.steps) if newest_first else tuple(segment.steps)
            yield from (step.record for step in steps if step.record.sequence <= end)

    def find(self, file: str, revision: str) -> Record | None:
        """The first record of a revision, ``None`` if there is none."""
        segment = self._newest()
        return self._past.find(segment, file, revision) if segment and revision != "0" else None

    def data(self, record: Record) -> bytes:
        """The bytes of a record."""
        return self._past.data(self._newest(), record)

    def replay(self) -> Iterator[tuple[Record, bytes]]:
        """All records with their bytes, the oldest first, each checked against its digest."""
        for segment in self._segments():
            yield from segment.contents()

    def verify(self) -> list[Fault]:
        """Look at every byte of every segment, and say what is not right; a damaged journal raises nothing here."""
        from catmem.store.files.journal_check import verify

        return verify(self._folder)

    # Writing

    def append(self, draft: RecordDraft, data: bytes) -> Record:
        """Write a record of ``data`` as the newest revision of ``draft.file``; it is durable when this returns."""
        # Any `OSError` leaves the journal in doubt: the file is cut back to its old end if that can be done, the error
        # is raised on, and every later write raises `StoreError` (`read_only`) until a new `Journal` is made.
        self.refuse_doubt()
        segment, old = self._newest(), self.head_data(draft.file)
        if segment is None or self._is_full(segment):
            record = self._append_to_new(segment, draft, old, data)
        else:
            record = self._append_to(segment, draft, old, data)
        if not draft.is_branch:
            self._heads[draft.file] = record, data
        return record

    def bring(self, history: Iterable[Brought]) -> None:
        """Take over many records."""
        # They go into segments of their own, which are on the disk before the first gets its name. So what is raised
        # while `history` is read leaves nothing; only a stop in the moment in which the segments get their names, one
        # after the other, leaves the first of them. What publishes, and all that follows it, is in one segment.
        self.refuse_doubt()
        staged: list[str] = []
        try:
            filled = new_segments(
                self._system, self._folder.where, self._newest(), history, self.head_data, self._is_full
            )
            for name, lines in filled:
                staged.append(name)
                with self._writing():
                    self._folder.stage(name, lines)
            self._tip.check()
            with self._writing():
                for name in staged:
                    self._folder.unstage(name)
                    self._folder.settle()  # one name after the other also on the disk: no power cut makes a gap
        except BaseException:
            with suppress(OSError):  # the first error is the one to report; the next staging removes what is left
                self._folder.drop_staged(staged)
            raise
        finally:
            self.close()

    def flush(self) -> None:
        """Have the disk keep all that is there, records included whose writer did not live to wait for it."""
        # For recovery, before it acts on a record that another process left unpublished.
        with self._writing():
            if self._tip.segment is not None:
                self._system.fsync(self._tip.writer())
                self._folder.settle()

    def erase(self, redact: RedactFile, redact_note: RedactNoteOf = lambda _, note, __: note) -> int:
        """Rewrite the journal so that each revision's bytes are ``redact(file, bytes)``; returns how many changed."""
        # Its note becomes `redact_note(file, note, bytes)`, by the bytes as they were. A rewritten record says in `was`
        # what stood in its place, and the chain goes on through that. Broken tails that were set aside are removed:
        # what is in them is unknown. If it is stopped half way, the journal is whole, and running it again finishes the
        # work.
        try:
            with self._writing():
                return erase_journal(self._folder, redact, redact_note)
        finally:
            self.close()

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
        large = max(self._segment_bytes, 2 * segment.checkpoint_size)
        return len(segment.steps) >= self._segment_records or segment.end > large

    def _append_to(self, segment: Segment, draft: RecordDraft, old: bytes, data: bytes) -> Record:
        record, change, line = record_line(self._system, segment, draft, old, data)
        self._tip.check()
        with self._writing():
            writer = self._tip.writer()
            try:
                write_whole(self._system, writer, line, segment.end)
                self._system.fsync(writer)
            except OSError:
                # The first error is the one to tell. If the end cannot be cut off now, the next repair does it.
                with suppress(OSError):
                    self._system.truncate(writer, segment.end)
                raise
        segment.add(record, change, len(line))
        return record

    def _append_to_new(self, before: Segment | None, draft: RecordDraft, old: bytes, data: bytes) -> Record:
        """Begin a segment: its checkpoint and the record go in place together, whole and durable."""
        checkpoint, first = checkpoint_line(self._system, before, self.head_data)
        name = segment_name(checkpoint.sequence)
        segment = Segment(name, self._folder.path(name), checkpoint, len(first))
        record, change, line = record_line(self._system, segment, draft, old, data)
        self._tip.check()
        with self._writing():
            try:
                self._folder.put(name, first + line)
            except OSError:
                # The first error is the one to tell. Without a name the segment was never there.
                with suppress(OSError):
                    self._folder.remove(name)
                raise
            segment.add(record, change, len(line))
            try:
                self._tip.follow(segment)
            except OSError:
                self._tip.close()  # the record is durable; the next caller reads it anew, and gets any error
        return record

    def _newest(self) -> Segment | None:
        if not self._tip.read:
            self.refresh()
        return self._tip.segment

    def _segments(self, *, newest_first: bool = False) -> Iterator[Segment]:
        segment = self._newest()
        if segment is None:
            return
        if newest_first:
            # The newest is often all that is wanted: no look into the folder for that.
            yield segment
        yield from islice(self._past.segments(segment, newest_first=newest_first), int(newest_first), None)
