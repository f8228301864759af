"""In which order things are written and waited for: what is acknowledged is on the disk, at any moment of a stop."""

import pytest

from catmem.store.files.journal import Brought
from tests.unit.store.journals import Noting, draft, fill, journal_in, put, segments

SMALL = {"segment_records": 4}
FIRST, SECOND = "000000000001.log", "000000000005.log"


@pytest.fixture
def noting():
    return Noting()


def in_place(name):
    """How a segment is put in place, new or over an old one."""
    return [f"write {name}.new", f"fsync {name}.new", f"rename {name}.new", "fsync folder"]


def test_a_tail_is_cut_off_and_kept_aside_before_where_that_is_asked(tmp_path, noting):
    with journal_in(tmp_path) as journal:
        put(journal, b"1")
    (path,) = segments(tmp_path)
    path.write_bytes(path.read_bytes() + b"tail")
    with journal_in(tmp_path, noting) as journal:
        journal.refresh()
        journal.cut_tail()
        cut = ["fsync folder", f"truncate {FIRST}", f"fsync {FIRST}"]
        assert noting.notes == cut
        noting.notes.clear()
        path.write_bytes(path.read_bytes() + b"tail")
        journal.refresh()
        journal.cut_tail(keep=True)
    (aside,) = tmp_path.glob("*.tail-*")
    assert aside.read_bytes() == b"tail"
    assert noting.notes == [*in_place(aside.name), *cut]


def test_erasure_puts_whole_segments_over_the_old_ones_and_tails_go_last(tmp_path, noting):
    with journal_in(tmp_path, noting, **SMALL) as journal:
        fill(journal, 6)
        (tmp_path / f"{FIRST}.tail-3").write_bytes(b"")
        noting.notes.clear()
        journal.erase(lambda _, data: data.replace(b"revision", b"***"))
    assert noting.notes == [*in_place(FIRST), *in_place(SECOND), f"unlink {FIRST}.tail-3", "fsync folder"]


def test_a_history_is_put_in_place_whole(tmp_path, noting):
    with journal_in(tmp_path, noting, **SMALL) as journal:
        journal.append_history(
            Brought(draft(number, publishes=False, brought=True), b"%d" % number, "2026-11-21T12:00:00.000000Z")
            for number in range(1, 7)
        )
        assert [record.revision for record, _ in journal.replay()] == ["1", "2", "3", "4", "5", "6"]
    assert noting.notes == in_place(FIRST)
