"""Look at every byte of a journal, and say what is not right.

Codes: ``journal_damaged`` (a segment is missing, or is not what was written: its bytes, its chain or the contents),
``journal_tail`` (the last line is cut short); and for information ``records_lost`` (a repair went on behind records
that were gone) and ``journal_leftover``. Of each segment the first fault is reported: what comes after it may well
follow from it.
"""

from __future__ import annotations

from contextlib import suppress

from catmem.errors import DamagedError
from catmem.store.contract import Fault, revision_number
from catmem.store.files.records import MalformedError, Record, decode, decode_header
from catmem.store.files.segments import Segment, SegmentFolder, acknowledged, chain_start, damaged, payloads

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
        faults += [_of_loss(record, path) for record, _ in segment.steps if _lost(record)]
        before = segment
    for name in folder.leftovers():
        message = "what a write left that was cut short; it holds nothing that was acknowledged"
        if ".tail-" in name:
            message = "what is left of records that were lost, in no form that catmem can read"
        hint = "Keep it for as long as you may want to look into it. 'catmem purge' removes it."
        faults.append(Fault("journal_leftover", message, str(folder.where / name), hint, damage=False))
    return faults


def _check(segment: Segment, before: Segment | None, *, is_first: bool, is_last: bool) -> None:
    """Raise ``DamagedError`` unless a segment follows from the one before, and its records from each other."""
    header = segment.header
    if is_first:
        if header.sequence > 1:
            raise damaged(segment.path, f"records 1 to {header.sequence - 1} are missing")
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
        if known is not None and not known <= record.number <= known + 1 + _lost(record):
            raise damaged(segment.path, f"revision {record.revision} of {record.file} comes after revision {known}")
        numbers[record.file] = record.number


def _lost(record: Record) -> int:
    """How many numbers a record leaves out on purpose: those of records that are gone (``recovery``)."""
    lost = record.note.get("lost")
    return lost if isinstance(lost, int) and lost > 0 else 0


def _of_loss(record: Record, path: str) -> Fault:
    parent = record.parents[0] if record.parents else "0"
    said = f"{acknowledged(_lost(record))} gone before record {record.sequence}"
    message = f"{said}; {record.file} goes on from revision {parent} with revision {record.revision}"
    hint = (
        "What was in between cannot be shown or restored. This stays reported as long as the journal has that record."
    )
    return Fault("records_lost", message, path, hint, damage=False)


def highest_numbers(folder: SegmentFolder) -> dict[str, int]:
    """The highest number of a revision of each file that a good line names, in a journal that is damaged."""
    highest: dict[str, int] = {}
    for segment in folder.names():
        with suppress(DamagedError):  # no file, or one over the limit
            for payload in payloads(folder.load(segment)[0]):
                for name, number in _numbers(payload).items():
                    highest[name] = max(number, highest.get(name, 0))
    return highest


def _numbers(payload: bytes) -> dict[str, int]:
    """The numbers of revisions that a line names, a record or a header; none where this version can read neither."""
    with suppress(MalformedError):
        record, _ = decode(payload, "")
        return {record.owner: record.number}
    with suppress(MalformedError):
        heads = decode_header(payload).heads
        return {name: revision_number(at.revision) for name, at in heads.items() if "/" not in name}
    return {}
