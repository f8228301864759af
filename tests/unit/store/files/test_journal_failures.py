"""What a journal does when the disk is full, or fails."""

from __future__ import annotations

import pytest

from catmem.errors import StoreError
from tests.unit.store.journals import Failing, fill, journal_in, put, segments

SMALL = {"segment_records": 4}
APPENDING = [("write_at", 0), ("fsync", 0)]
BEGINNING = [("open", 0), ("write_at", 0), ("fsync", 0), ("rename", 0), ("fsync", 1)]


@pytest.mark.parametrize(
    ("already", "call", "skip"),
    [(3, *failure) for failure in APPENDING] + [(already, *failure) for already in (0, 4) for failure in BEGINNING],
)
def test_a_failed_append_leaves_what_was_there_and_the_journal_in_doubt(tmp_path, already, call, skip):
    system = Failing()
    with journal_in(tmp_path, system, **SMALL) as journal:
        texts = fill(journal, already)
        journal.refresh()
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        system.fails, system.skip = call, skip
        with pytest.raises(OSError, match="No space"):
            put(journal, b"lost")
        system.fails = None
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.suffix == ".log"} == before
        for write in (lambda: put(journal, b"x"), lambda: journal.erase(lambda _, data: data), journal.flush):
            with pytest.raises(StoreError) as caught:
                write()
            assert caught.value.code == "read_only"
        journal.refresh()
        assert [data for _, data in journal.replay()] == texts
    with journal_in(tmp_path, **SMALL) as journal:
        journal.refresh(repair=True)
        assert put(journal, b"again").sequence == already + 1
        assert journal.verify() == []


@pytest.mark.parametrize("already", [0, 3, 4])
def test_short_writes_are_gone_on_with(tmp_path, already):
    system = Failing()
    with journal_in(tmp_path, system, **SMALL) as journal:
        texts = fill(journal, already)
        system.writes_at_most = 7
        put(journal, b"last")
        assert journal.verify() == []
        assert [data for _, data in journal.replay()] == [*texts, b"last"]


def test_an_end_that_could_not_be_cut_back_is_repaired_by_the_next_journal(tmp_path):
    class Full(Failing):
        def truncate(self, *_):
            raise OSError(5, "failed too")

        def write_at(self, descriptor, data, offset):
            if self.writes_at_most < 100:
                self.fails = "write_at"
            return super().write_at(descriptor, data, offset)

    system = Full()
    with journal_in(tmp_path, system) as journal:
        put(journal, b"1")
        system.writes_at_most = 50
        with pytest.raises(OSError, match="No space"):
            put(journal, b"2")
    with journal_in(tmp_path) as journal:
        journal.refresh(repair=True)
        assert journal.head_data("USER.md") == b"1"
        put(journal, b"2")
        assert [fault.code for fault in journal.verify()] == ["journal_leftover"]


def test_a_failed_repair_leaves_the_journal_in_doubt(tmp_path):
    system = Failing()
    with journal_in(tmp_path, system) as journal:
        put(journal, b"1")
        (path,) = segments(tmp_path)
        path.write_bytes(path.read_bytes() + b"tail")
        system.fails = "fsync"
        with pytest.raises(OSError, match="No space"):
            journal.refresh(repair=True)
        system.fails = None
        assert path.read_bytes().endswith(b"tail")
        with pytest.raises(StoreError, match="earlier write"):
            put(journal, b"2")


def test_a_flush_waits_for_the_disk(tmp_path):
    system = Failing()
    with journal_in(tmp_path) as journal:
        put(journal, b"1")
    with journal_in(tmp_path, system) as journal:
        journal.refresh(repair=True)
        journal.flush()
        system.fails = "fsync"
        with pytest.raises(OSError, match="No space"):
            journal.flush()


@pytest.mark.parametrize("call", ["names", "look", "open", "read_at", "status"])
def test_a_journal_that_cannot_be_read_is_not_empty(tmp_path, call):
    system = Failing()
    with journal_in(tmp_path) as journal:
        fill(journal, 3)
    with journal_in(tmp_path, system) as journal:
        system.fails = call
        if call == "look":
            system.fails = None
            journal.refresh()
            system.fails = call
        for read in (journal.refresh, journal.refresh):
            with pytest.raises(OSError, match="No space"):
                read()
        system.fails = None
        journal.refresh()
        assert journal.last.sequence == 3
