"""When an outsider wrote a file is kept with the record of its bytes: catmem's own write replaces the file's time."""

import os

import pytest

from catmem.store.files.external_changes import FILE_TIME, file_time_note
from tests.unit.store.one_file import add

THEN = 1_767_225_600_123_456_789
SAID = "2026-01-01T00:00:00.123456Z"


def notes(store):
    """What each revision says of the time of a file, the oldest first."""
    return [revision.note.get(FILE_TIME) for revision, _ in store.replay("user")]


def test_a_new_journal_after_damage(store, file, tmp_path):
    add(store, b"ours\n")
    store.close()
    (segment,) = (tmp_path / ".catmem" / "journal").glob("*.log")
    segment.write_bytes(b"damage" + segment.read_bytes())
    os.utime(file, ns=(THEN, THEN))
    store.mend()
    assert notes(store) == [SAID]


@pytest.mark.parametrize(
    ("mtime", "note"),
    [
        (None, {}),
        (0, {FILE_TIME: "1970-01-01T00:00:00.000000Z"}),
        (-1_000, {FILE_TIME: "1969-12-31T23:59:59.999999Z"}),
        (2**63, {FILE_TIME: "2262-04-11T23:47:16.854775Z"}),
        (2**70, {}),
        (-(2**70), {}),
    ],
)
def test_times_that_are_no_dates(mtime, note):
    assert file_time_note(mtime) == note
