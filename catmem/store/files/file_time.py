"""When an outsider wrote a file: its mtime, kept in the note of the record that takes its bytes in.

Once catmem has written the file, its own mtime tells nothing of that day any more. Facts without a date of their own
are as old as this says (``docs/staleness.md``).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from catmem.clock import timestamp

FILE_TIME = "mtime"
"""In the note of a record of an outsider's bytes: when the file that held them was last written, UTC."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def file_time_note(mtime_ns: int | None) -> dict[str, str]:
    """The note for a file with this mtime; empty for no file, and for a time that is no date."""
    if mtime_ns is None:
        return {}
    try:
        return {FILE_TIME: timestamp(_EPOCH + timedelta(microseconds=mtime_ns // 1000))}
    except OverflowError:
        return {}
