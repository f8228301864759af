"""The next line of a journal, made but not yet written."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from catmem.clock import timestamp
from catmem.digest import bytes_digest
from catmem.errors import TooLargeError
from catmem.store.changes import change, whole
from catmem.store.fields import matching
from catmem.store.files.frames import MAX_PAYLOAD, frame
from catmem.store.files.records import DIGEST, MAX_DATA, Checkpoint, Head, Record, encode, encode_checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from catmem.store.changes import Change
    from catmem.store.files.records import Draft
    from catmem.store.files.segments import Segment
    from catmem.store.files.system import System

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
        timestamp=moment or timestamp(system.now()),
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
    moment, boot = timestamp(system.now()), system.boot()
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
