"""Look at every byte of a journal, and say what is not right.

Codes: ``journal_damaged`` (a segment is not what was written: its bytes, its chain or the contents), ``journal_tail``
(the last line is cut short), ``journal_gap`` (a segment is missing), ``journal_chain`` (a segment does not follow from
the one before), ``journal_order`` (revisions that do not count up); and for information ``records_lost`` (a repair went
on behind records that were gone), ``journal_leftover`` and
``journal_stranger``. Of each segment the first fault is reported: what comes after it may well follow from it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from catmem.digest import bytes_digest
from catmem.errors import DamagedError
from catmem.store.changes import ByteChange, WholeText
from catmem.store.contract import Fault
from catmem.store.files.journal_disk import MAX_SEGMENT, JournalFolder
from catmem.store.files.journal_lines import chain_start
from catmem.store.files.records import MalformedError, Record, decode, decode_checkpoint, recorded_name
from catmem.store.files.segments import Segment, walk
from catmem.store.files.system import System

if TYPE_CHECKING:
    from catmem.store.files.folder import Folder

_MEND = "Run 'catmem fsck --repair': it keeps the damaged journal aside and begins a new one."


def verify(folder: JournalFolder) -> list[Fault]:
    """What is not right, the oldest segment first. Raises ``OSError`` for what cannot be read."""
    faults: list[Fault] = []
    before: Segment | None = None
    names = folder.names()
    bridges: set[int] = set()
    for name in names:
        segment, found = _look_at(folder, name, last=name == names[-1])
        if segment is not None and not found:
            found = list(_against(before, segment, first=name == names[0]))
        faults += found
        for record in () if segment is None else [step.record for step in segment.steps if _lost(step.record)]:
            faults.append(_of_loss(record, str(folder.path(name))))
            bridges.add(record.sequence)
        # After a fault it is unknown what the next segment should begin with.
        before = None if any(fault.damage for fault in found) else segment
    return [*faults, *_others(folder, bridges)]


def _look_at(folder: JournalFolder, name: str, *, last: bool) -> tuple[Segment | None, list[Fault]]:
    path = str(folder.path(name))
    try:
        segment, _ = folder.segment(name)
        for head in segment.checkpoint.heads:
            segment.data_before(head.record.file)
        for _ in segment.contents():
            pass  # each is checked against its digest on the way
    except DamagedError as error:
        return None, [_broken("journal_damaged", error.message, path)]
    faults = list(_disorder(segment, path))
    if segment.torn and last:
        hint = "A write was cut short, or goes on just now. The next write keeps the line aside and cuts it off."
        faults.append(Fault("journal_tail", "the last line is no good record", path, hint, repairable=True))
    elif segment.torn:
        faults.append(_broken("journal_damaged", "the last line is damaged, and another segment follows", path))
    return segment, faults


def _broken(code: str, message: str, path: str) -> Fault:
    return Fault(code, message, path, _MEND, repairable=True)


def _disorder(segment: Segment, path: str) -> Iterator[Fault]:
    """Revisions and bases that do not follow from the record before."""
    highest = {head.record.file: head.highest for head in segment.checkpoint.heads}
    now: dict[str, Record] = {head.record.file: head.record for head in segment.checkpoint.heads}
    for record, _ in segment.steps:
        known, before = highest.get(record.file), now.get(record.file)
        if record.base != (before.head if before else None):
            yield _broken(
                "journal_damaged",
                f"record {record.sequence} was made from other bytes than the record before it left",
                path,
            )
            return
        if (
            known is not None
            and record.revision.isdecimal()
            and not known <= record.number <= known + 1 + _lost(record)
        ):
            yield _broken(
                "journal_order", f"revision {record.revision} of {record.file} comes after revision {known}", path
            )
            return
        highest[record.file] = max(known or 0, record.number)
        now[record.file] = record


def _lost(record: Record) -> int:
    """How many numbers a record leaves out on purpose: those of records that are gone (``recovery``)."""
    lost = record.note.get("lost")
    return lost if isinstance(lost, int) and lost > 0 else 0


def _against(before: Segment | None, segment: Segment, *, first: bool) -> Iterator[Fault]:
    """Whether a segment goes on where the one before ended; for the first one, whether it begins the chain."""
    path, checkpoint = str(segment.path), segment.checkpoint
    if before is None:
        if first and checkpoint.sequence > 1:
            yield _broken("journal_gap", f"records 1 to {checkpoint.sequence - 1} are missing", path)
        elif first and checkpoint.previous != chain_start(checkpoint.store):
            yield _broken("journal_chain", "the chain does not begin at the id of this journal", path)
        return
    if checkpoint.sequence != before.sequence + 1:
        yield _broken("journal_gap", f"records {before.sequence + 1} to {checkpoint.sequence - 1} are missing", path)
    elif checkpoint.store != before.checkpoint.store or checkpoint.previous != before.link:
        yield _broken("journal_chain", f"the segment does not follow from {before.name}", path)
    elif {each.record.file: _state(each.record) for each in checkpoint.heads} != {
        file: _state(before.head(file)) for file in before.carried()
    }:
        yield _broken("journal_damaged", f"the checkpoint is not what {before.name} ends with", path)


def _state(record: Record | None) -> tuple[int, str, str] | None:
    """What must be equal in a record and its copy, also while an ``erase`` is half done."""
    return None if record is None else (record.sequence, record.revision, record.origin)


def _of_loss(record: Record, path: str) -> Fault:
    lost, parent = _lost(record), record.parents[0] if record.parents else "0"
    message = (
        f"{lost:,} acknowledged record{' was' if lost == 1 else 's were'} gone before record {record.sequence}; "
        f"{record.file} goes on from revision {parent} with revision {record.revision}"
    )
    hint = (
        "What was in between cannot be shown or restored. This stays reported as long as the journal has that record."
    )
    return Fault("records_lost", message, path, hint, damage=False)


def _others(folder: JournalFolder, bridges: set[int]) -> Iterator[Fault]:
    """Names that are no segments. ``bridges`` are the records in whose place others stood that were lost."""
    for name in folder.leftovers():
        record = name.partition(".tail-")[2].partition("-")[0]
        if record and int(record) in bridges:
            message = "what is left of records that were lost, in no form that catmem can read"
            hint = "Keep it for as long as you may want to look into it. 'catmem purge' removes it."
        else:
            message = "what a write left that was cut short; it holds nothing that was acknowledged"
            hint = "It may be removed. 'catmem purge' removes it too."
        yield Fault("journal_leftover", message, str(folder.path(name)), hint, damage=False)
    for name in folder.strangers():
        message = "something that the journal did not put here"
        yield Fault("journal_stranger", message, str(folder.path(name)), "Move it elsewhere.", damage=False)


@dataclass(slots=True)
class Readable:
    """The highest revision of each file that a good line names, and the branches that one holds."""

    highest: dict[str, int] = field(default_factory=dict)
    _branches: dict[str, tuple[Record, bytes]] = field(default_factory=dict)
    _followed: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, folder: Folder) -> Readable:
        """All that the journal of a locked folder has to say."""
        found = cls()
        descriptor = folder.system.open("journal", os.O_RDONLY | os.O_DIRECTORY, folder=folder.side)
        try:
            for name in folder.system.names(descriptor):
                for record, change, highest in _records(_bytes_of(folder.system, name, descriptor)):
                    found.take(record, change, highest)
        finally:
            folder.system.close(descriptor)
        return found

    def take(self, record: Record, change: ByteChange, highest: int) -> None:
        """Take in one record, and the highest number that its file had by then."""
        self.highest[record.owner] = max(self.highest.get(record.owner, 0), highest)
        self._followed.update(recorded_name(record.owner, parent) for parent in record.parents)
        if record.is_branch and isinstance(change, WholeText):
            try:
                data = change.unpack()
            except ValueError:
                return  # damaged inside a line that is whole: what it said is unknown
            if bytes_digest(data) == record.head:
                self._branches[record.file] = record, data

    @property
    def unmerged(self) -> list[tuple[Record, bytes]]:
        """The branches that no good line follows, in the order in which they were made."""
        left = [kept for name, kept in self._branches.items() if name not in self._followed]
        return sorted(left, key=lambda kept: kept[0].sequence)


def _records(data: bytes) -> Iterator[tuple[Record, ByteChange, int]]:
    """Every record of a segment, and of its checkpoint, that can be read."""
    position: int | None = 0
    while position is not None:
        found = walk(data, position)
        for line in found.lines:
            yield from _of_line(line.payload)
        position = found.resume


def _of_line(payload: bytes) -> Iterator[tuple[Record, ByteChange, int]]:
    try:
        record, change = decode(payload, "")
    except MalformedError:
        try:
            heads = decode_checkpoint(payload, "").heads
        except MalformedError:
            return  # nothing that this version can read
        yield from ((head.record, head.whole, head.highest) for head in heads)
    else:
        yield record, change, record.number


def _bytes_of(system: System, name: str, folder: int) -> bytes:
    if not stat.S_ISREG(system.look(name, folder=folder).st_mode):
        return b""
    descriptor = system.open(name, os.O_RDONLY | os.O_NONBLOCK, folder=folder)
    try:
        size = system.status(descriptor).st_size
        return b"" if size > MAX_SEGMENT else system.read_at(descriptor, size, 0)
    finally:
        system.close(descriptor)
