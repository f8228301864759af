"""The lines that a journal is to get: records, checkpoints, an imported history, and what an erasure leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from catmem import clock
from catmem.digest import bytes_digest
from catmem.errors import TooLargeError
from catmem.store.changes import ByteChange, WholeText, change, splice, whole
from catmem.store.files.records import (
    CHECKPOINT,
    MAX_DATA,
    Checkpoint,
    Head,
    Record,
    RecordDraft,
    Tombstone,
    encode,
    encode_checkpoint,
)
from catmem.store.files.segments import MAX_PAYLOAD, Segment, damaged, frame, segment_name

if TYPE_CHECKING:
    from catmem.store.files.journal_disk import JournalFolder
    from catmem.store.files.system import System

WHOLE_EVERY = 32
"""A file stands whole in the journal at least once in so many of its records."""


def record_line(  # noqa: PLR0913 - what a record is made of
    system: System,
    segment: Segment,
    draft: RecordDraft,
    old: bytes,
    data: bytes,
    *,
    moment: str | None = None,
) -> tuple[Record, ByteChange, bytes]:
    """The record of ``data`` after ``old``, as the next one of ``segment``; its change, and its line."""
    # `moment` is when it was made, where that is not now.
    if len(data) > MAX_DATA:
        raise TooLargeError("file", len(data), MAX_DATA, path=draft.file)
    head = segment.head(draft.file)
    # To compare is far cheaper than to hash or to pack.
    unchanged = head is not None and data == old
    record = Record(
        **{name: getattr(draft, name) for name in RecordDraft.__slots__},
        sequence=segment.sequence + 1,
        timestamp=moment or clock.timestamp(system.now()),
        base=head.head if head else None,
        head=head.head if head and unchanged else bytes_digest(data),
        size=len(data),
        boot=system.boot(),
        previous=segment.link,
        line="",
    )
    since = segment.since_whole(draft.file)
    if since is None or since >= WHOLE_EVERY - 1:
        made: ByteChange = (segment.packed(draft.file) if unchanged else None) or whole(data)
    else:
        made = change(old, data)
    line = framed(encode(record, made), draft.file)
    return replace(record, line=sha256(line).hexdigest()), made, line


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
        )
    line = framed(encode_checkpoint(checkpoint), "checkpoint")
    return replace(checkpoint, line=sha256(line).hexdigest()), line


def framed(payload: bytes, of: str) -> bytes:
    """The line of a payload; ``of`` says in the error what is too large. Raises ``TooLargeError``."""
    if len(payload) > MAX_PAYLOAD:
        raise TooLargeError("record in the journal", len(payload), MAX_PAYLOAD, path=of)
    return frame(payload)


def chain_start(store: str) -> str:
    """What the first line of a journal names as the line before it."""
    return sha256(store.encode()).hexdigest()


class Brought(NamedTuple):
    """A record as it is taken over: what it says, its bytes, and its timestamp in the store that it comes from."""

    draft: RecordDraft
    data: bytes
    timestamp: str


def new_segments(  # noqa: PLR0913, PLR0917 - what the journal knows
    system: System,
    where: Path,
    before: Segment | None,
    history: Iterable[Brought],
    head_data: Callable[[str], bytes],
    is_full: Callable[[Segment], bool],
) -> Iterator[tuple[str, bytes]]:
    """The segments after ``before`` that ``history`` fills, by their names."""
    # What follows a record that publishes is in one with it. `head_data` gives the bytes of the files as `before`
    # leaves them.
    now: dict[str, bytes] = {}

    def data_of(file: str) -> bytes:
        return now[file] if file in now else head_data(file)

    segment: Segment | None = None
    lines: list[bytes] = []
    published = False
    for draft, data, moment in history:
        if segment is not None and not published and is_full(segment):
            yield segment.name, b"".join(lines)
            before, segment = segment, None
        if segment is None:
            checkpoint, first = checkpoint_line(system, before, data_of)
            name = segment_name(checkpoint.sequence)
            segment, lines = Segment(name, where / name, checkpoint, len(first)), [first]
        record, change, line = record_line(system, segment, draft, data_of(draft.file), data, moment=moment)
        segment.add(record, change, len(line))
        lines.append(line)
        published = published or draft.publishes
        if not draft.is_branch:
            now[draft.file] = data
    if segment is not None:
        yield segment.name, b"".join(lines)


RedactFile: TypeAlias = Callable[[str, bytes], bytes]
"""``redact(file, data)`` gives the bytes as they are to be; the same bytes where nothing is to be erased.

For a branch it is asked with the name of its file.
"""

RedactNoteOf: TypeAlias = Callable[[str, Mapping[str, Any], bytes], Mapping[str, Any]]
"""``redact_note(file, note, data)`` gives the note of a revision as it is to be, by its bytes as they were."""


def erase_journal(folder: JournalFolder, redact: RedactFile, redact_note: RedactNoteOf) -> int:
    """Rewrite every segment in which anything changes, the oldest first; returns how many revisions changed."""
    erasing = _Erasing(redact, redact_note)
    for name in folder.names():
        segment, _ = folder.segment(name)
        lines = erasing.lines_of(segment)
        if lines is not None:
            folder.put(name, lines)
    for name in folder.leftovers():
        folder.remove(name)
    folder.settle()
    return erasing.changed


class _Erasing:
    """Goes through the segments in order, and carries from one to the next what its checkpoint repeats."""

    def __init__(self, redact: RedactFile, redact_note: RedactNoteOf) -> None:
        self.changed = 0
        self._redact = redact
        self._redact_note = redact_note
        self._heads: dict[str, Record] = {}

    def lines_of(self, segment: Segment) -> bytes | None:
        """The segment as it is to be; ``None`` if that is how it is."""
        if segment.torn:
            raise damaged(segment.path, "the segment ends in a broken line")
        if any(head.record.file not in self._heads for head in segment.checkpoint.heads):
            raise damaged(segment.path, "the segments before it are missing")
        old = {file: segment.data_before(file) for file in segment.files()}
        new = {name: self._redacted(name, data) if segment.before(name) else b"" for name, data in old.items()}
        checkpoint, line = self._checkpoint(segment.checkpoint, old, new)
        lines = [line]
        same = checkpoint == segment.checkpoint
        for step, (record, data) in zip(tuple(segment.steps), segment.contents(), strict=True):
            before, after = new[record.file], self._redacted(record.file, data)
            note = self._redact_note(record.owner, record.note, data)
            self.changed += after != data or note != record.note
            unchanged = before == old[record.file] and after == data
            change = step.change
            if not unchanged:
                change = whole(after) if isinstance(change, WholeText) else splice(before, after)
            rewritten, line = self._record(replace(record, note=note), change, before, after)
            lines.append(line)
            same = same and rewritten == record
            self._heads[record.file] = rewritten
            old[record.file], new[record.file] = data, after
        return None if same else b"".join(lines)

    def _redacted(self, name: str, data: bytes) -> bytes:
        return self._redact(name.partition("/")[0], data)

    def _checkpoint(
        self, checkpoint: Checkpoint, old: Mapping[str, bytes], new: Mapping[str, bytes]
    ) -> tuple[Checkpoint, bytes]:
        heads = tuple(
            Head(self._heads[file], head.highest, head.whole if new[file] == old[file] else whole(new[file]))
            for head in checkpoint.heads
            for file in (head.record.file,)
        )
        line = framed(encode_checkpoint(replace(checkpoint, heads=heads)), CHECKPOINT)
        if sha256(line).hexdigest() == checkpoint.line:
            return checkpoint, line
        rewritten = replace(checkpoint, heads=heads, was=checkpoint.link)
        return rewritten, framed(encode_checkpoint(rewritten), CHECKPOINT)

    def _record(self, record: Record, change: ByteChange, before: bytes, after: bytes) -> tuple[Record, bytes]:
        base = None if record.base is None else bytes_digest(before)
        new = replace(record, base=base, head=bytes_digest(after), size=len(after))
        line = framed(encode(new, change), record.file)
        if sha256(line).hexdigest() == record.line:
            return record, line
        new = replace(new, was=Tombstone(record.link, record.origin))
        line = framed(encode(new, change), record.file)
        return replace(new, line=sha256(line).hexdigest()), line
