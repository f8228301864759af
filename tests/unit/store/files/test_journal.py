"""Writing to the journal and reading it back."""

import pytest

from catmem.errors import StoreError
from tests.unit.store.journals import fill, journal_in, put, segments

SMALL = {"segment_records": 4}


def test_an_operation_is_found_in_the_newest_two_segments(tmp_path):
    with journal_in(tmp_path, **SMALL) as journal:
        fill(journal, 9)
        put(journal, b"x", "MEMORY.md", op_id="USER.md-9")
        assert journal.operation("trinity", "USER.md-9").revision == "9"
        assert journal.operation("trinity", "USER.md-9", file="MEMORY.md").file == "MEMORY.md"
        assert journal.operation("trinity", "USER.md-5").revision == "5"
        assert journal.operation("trinity", "USER.md-4") is None
        assert journal.operation("trinity", "USER.md-5", file="MEMORY.md") is None


def test_without_a_refresh_what_others_appended_is_not_seen_and_not_written_over(tmp_path):
    with journal_in(tmp_path) as one, journal_in(tmp_path) as other:
        put(one, b"1")
        assert other.last.revision == "1"
        put(one, b"2")
        assert other.last.revision == "1"
        with pytest.raises(StoreError, match="was changed") as caught:
            put(other, b"mine")
        assert caught.value.code == "read_only"
        other.refresh()
        assert put(other, b"3").revision == "3"
        one.refresh()
        assert [data for _, data in one.replay()] == [b"1", b"2", b"3"]


@pytest.mark.parametrize("already", [0, 4], ids=["first segment", "next segment"])
def test_two_first_writers_of_a_segment_do_not_write_over_each_other(tmp_path, already):
    with journal_in(tmp_path, **SMALL) as one, journal_in(tmp_path, **SMALL) as other:
        fill(one, already)
        other.refresh()
        put(one, b"mine")
        with pytest.raises(StoreError, match="was changed"):
            put(other, b"theirs")
        other.refresh()
        assert other.head_data("USER.md") == b"mine"


def test_an_anchor_is_contained_until_the_journal_is_rolled_back(tmp_path):
    with journal_in(tmp_path, **SMALL) as journal:
        empty = journal.anchor()
        fill(journal, 6)
        early = journal.anchor()
        before = {path: path.read_bytes() for path in segments(tmp_path)}
        fill(journal, 3, "MEMORY.md")
        late = journal.anchor()
        assert all(journal.contains(anchor) for anchor in (empty, early, late))
        assert not journal.contains({**early, "store": "0" * 32})
        assert not journal.contains({**early, "line": "0" * 64})
    for path in segments(tmp_path):
        path.write_bytes(before[path]) if path in before else path.unlink()
    with journal_in(tmp_path) as journal:
        assert journal.verify() == []
        assert journal.contains(early)
        assert not journal.contains(late)
        fill(journal, 5, "MEMORY.md")
        assert not journal.contains(late)
