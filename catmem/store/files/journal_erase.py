"""Rewrite a journal so that certain bytes are in none of its revisions any more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

from catmem.digest import bytes_digest
from catmem.store.changes import Whole, splice, whole
from catmem.store.files.frames import framed
from catmem.store.files.records import CHECKPOINT, Checkpoint, Head, Record, Tombstone, encode, encode_checkpoint
from catmem.store.files.segments import damaged

if TYPE_CHECKING:
    from catmem.store.changes import Change
    from catmem.store.files.journal_disk import Folder
    from catmem.store.files.segments import Segment

Redact: TypeAlias = Callable[[str, bytes], bytes]
"""``redact(file, data)`` gives the bytes as they are to be; the same bytes where nothing is to be erased.

For a branch it is asked with the name of its file.
"""

RedactNote: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Gives the note of a record as it is to be."""


def erase(folder: Folder, redact: Redact, redact_note: RedactNote | None = None) -> int:
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

    def __init__(self, redact: Redact, redact_note: RedactNote | None) -> None:
        self.changed = 0
        self._redact = redact
        self._redact_note = redact_note
        self._heads: dict[str, Record] = {}

    def lines_of(self, segment: Segment) -> bytes | None:
        """The segment as it is to be; ``None`` if that is how it is."""
        if segment.torn:
            raise damaged(segment.path, "the segment ends in a broken line")
        old = {file: segment.data_before(file) for file in segment.files()}
        new = {name: self._redacted(name, data) if segment.before(name) else b"" for name, data in old.items()}
        checkpoint, line = self._checkpoint(segment.checkpoint, old, new)
        lines = [line]
        same = checkpoint == segment.checkpoint
        for step, (record, data) in zip(tuple(segment.steps), segment.contents(), strict=True):
            before, after = new[record.file], self._redacted(record.file, data)
            self.changed += after != data
            unchanged = before == old[record.file] and after == data
            change = step.change if unchanged else _change(step.change, before, after)
            rewritten, line = self._record(record, change, before, after)
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
        heads = tuple(self._head(head, old[head.record.file], new[head.record.file]) for head in checkpoint.heads)
        line = framed(encode_checkpoint(replace(checkpoint, heads=heads)), CHECKPOINT)
        if sha256(line).hexdigest() == checkpoint.line:
            return checkpoint, line
        rewritten = replace(checkpoint, heads=heads, was=checkpoint.link)
        return rewritten, framed(encode_checkpoint(rewritten), CHECKPOINT)

    def _head(self, head: Head, old: bytes, new: bytes) -> Head:
        """The head as the segment before has it now. There is none before the oldest: then it is made from itself."""
        record = self._heads.get(head.record.file)
        if record is None:
            self.changed += new != old
            record = self._heads[head.record.file] = self._oldest(head.record, new)
        return Head(record, head.highest, head.whole if new == old else whole(new))

    def _oldest(self, record: Record, after: bytes) -> Record:
        """A record of which only the checkpoint is left: its line is gone, so its digest stays."""
        new = replace(record, note=self._note(record), head=bytes_digest(after), size=len(after))
        return record if new == record else replace(new, was=Tombstone(record.link, record.origin))

    def _note(self, record: Record) -> dict[str, Any]:
        return dict(record.note if self._redact_note is None else self._redact_note(record.note))

    def _record(self, record: Record, change: Change, before: bytes, after: bytes) -> tuple[Record, bytes]:
        """A record as it is to be, and its line."""
        base = None if record.base is None else bytes_digest(before)
        new = replace(record, note=self._note(record), base=base, head=bytes_digest(after), size=len(after))
        line = framed(encode(new, change), record.file)
        if sha256(line).hexdigest() == record.line:
            return record, line
        new = replace(new, was=Tombstone(record.link, record.origin))
        line = framed(encode(new, change), record.file)
        return replace(new, line=sha256(line).hexdigest()), line


def _change(change: Change, before: bytes, after: bytes) -> Change:
    """The change between redacted bytes, of the same kind as the one it takes the place of."""
    return whole(after) if isinstance(change, Whole) else splice(before, after)
