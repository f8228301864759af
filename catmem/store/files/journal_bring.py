"""The segments of a journal that a history from another store fills."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from catmem.store.files.frames import checkpoint_line, record_line
from catmem.store.files.records import Draft
from catmem.store.files.segments import Segment, segment_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from catmem.store.files.records import Record
    from catmem.store.files.system import System


class Brought(NamedTuple):
    """A record as it is taken over: what it says, its bytes, and its timestamp in the store that it comes from."""

    draft: Draft
    data: bytes
    timestamp: str


class Filled(NamedTuple):
    """A segment that is to be: its name and its lines."""

    name: str
    lines: bytes


def taken_over(record: Record) -> Draft:
    """A record of another journal as it is to be in this one, as mere history."""
    return Draft(
        file=record.file,
        op=record.op,
        agent=record.agent,
        revision=record.revision,
        parents=record.parents,
        op_id=record.op_id,
        note=record.note,
        publishes=False,
        brought=True,
    )


def new_segments(  # noqa: PLR0913, PLR0917 - what the journal knows
    system: System,
    where: Path,
    before: Segment | None,
    history: Iterable[Brought],
    head_data: Callable[[str], bytes],
    is_full: Callable[[Segment], bool],
) -> Iterator[Filled]:
    """The segments after ``before`` that ``history`` fills. What follows a record that publishes is in one with it.

    ``head_data`` gives the bytes of the files as ``before`` leaves them.
    """
    now: dict[str, bytes] = {}

    def data_of(file: str) -> bytes:
        return now[file] if file in now else head_data(file)

    segment: Segment | None = None
    lines: list[bytes] = []
    published = False
    for draft, data, moment in history:
        if segment is not None and not published and is_full(segment):
            yield Filled(segment.name, b"".join(lines))
            before, segment = segment, None
        if segment is None:
            checkpoint, first = checkpoint_line(system, before, data_of)
            name = segment_name(checkpoint.sequence)
            segment, lines = Segment(name, where / name, checkpoint, len(first)), [first]
        record, change, line = record_line(
            system, segment, draft, data_of(draft.file), data, digest=None, moment=moment
        )
        segment.add(record, change, len(line))
        lines.append(line)
        published = published or draft.publishes
        if not draft.is_branch:
            now[draft.file] = data
    if segment is not None:
        yield Filled(segment.name, b"".join(lines))
