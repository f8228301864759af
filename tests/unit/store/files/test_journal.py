"""Writing to the journal and reading it back."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256

import pytest

from catmem.digest import bytes_digest
from catmem.errors import DamagedError, StoreError
from catmem.store.files import journal_lines
from catmem.store.files.records import RecordDraft, Retired
from tests.unit.store.journals import Quick, draft, fill, journal_in, put, segments

SMALL = {"segment_records": 4}


def test_a_record_says_what_it_was_made_from_and_what_it_made(tmp_path):
    with journal_in(tmp_path) as journal:
        first = put(journal, b"one\n", op="seed", note={"from": "neo"})
        second = put(journal, b"one\ntwo\n", agent="neo", retired=Retired(4, 5, bytes_digest(b"one\n")))
    assert (first.sequence, first.revision, first.base, first.head, first.size) == (
        1,
        "1",
        None,
        bytes_digest(b"one\n"),
        4,
    )
    assert (first.op, first.note, first.publishes) == ("seed", {"from": "neo"}, True)
    assert (second.sequence, second.revision, second.parents, second.base) == (2, "2", ("1",), first.head)
    assert (second.agent, second.retired.mtime_ns, second.previous) == ("neo", 5, first.line)


def test_the_chain_begins_at_the_random_store_id(tmp_path):
    with journal_in(tmp_path / "a") as one, journal_in(tmp_path / "b") as other:
        put(one, b"one")
        put(other, b"one")
        store, another = one.store_id, other.store_id
    assert len(store) == 32
    assert store != another
    line, record = segments(tmp_path / "a")[0].read_bytes().splitlines(keepends=True)
    assert sha256(store.encode()).hexdigest() in line.decode()
    assert sha256(line).hexdigest() in record.decode()


@pytest.mark.parametrize("limits", [{}, SMALL, {"segment_bytes": 1}], ids=["one segment", "by records", "by bytes"])
def test_what_was_written_is_read_back(tmp_path, limits):
    with journal_in(tmp_path, **limits) as journal:
        texts = fill(journal, 14)
        written = list(journal.records())
    with journal_in(tmp_path, **limits) as journal:
        assert list(journal.records()) == written
        assert list(journal.records(newest_first=True)) == written[::-1]
        assert [data for _, data in journal.replay()] == texts
        assert [record for record, _ in journal.replay()] == written
        assert [journal.data(record) for record in written] == texts
        assert [journal.find("USER.md", record.revision) for record in written] == written
        assert (journal.head("USER.md"), journal.last, journal.head_data("USER.md")) == (
            written[-1],
            written[-1],
            texts[-1],
        )
        assert journal.verify() == []


def test_a_branch_is_found_though_it_was_recorded_late(tmp_path):
    with journal_in(tmp_path, **SMALL) as journal:
        fill(journal, 14)
        branch = journal.append(RecordDraft("USER.md/8a", "put", "neo", "8a", ("7",), "b", publishes=False), b"branch")
        for number in range(15, 22):
            journal.append(draft(number), b"on and on %d" % number)
        assert journal.find("USER.md", "8a") == branch
        assert journal.data(branch) == b"branch"
        assert journal.find("USER.md", "8").revision == "8"
        assert journal.find("USER.md", "16").revision == "16"
        assert journal.verify() == []


def test_an_operation_is_found_in_the_newest_two_segments(tmp_path):
    with journal_in(tmp_path, **SMALL) as journal:
        fill(journal, 9)
        put(journal, b"x", "MEMORY.md", op_id="USER.md-9")
        assert journal.operation("trinity", "USER.md-9").revision == "9"
        assert journal.operation("trinity", "USER.md-9", file="MEMORY.md").file == "MEMORY.md"
        assert journal.operation("trinity", "USER.md-5").revision == "5"
        assert journal.operation("trinity", "USER.md-4") is None
        assert journal.operation("trinity", "USER.md-5", file="MEMORY.md") is None


@pytest.fixture
def costly(monkeypatch):
    """The bytes that the journal hashed or packed whole."""
    noted = []
    for name in ("bytes_digest", "whole"):
        work = getattr(journal_lines, name)
        monkeypatch.setattr(journal_lines, name, lambda data, work=work: noted.append(data) or work(data))
    return noted


@pytest.mark.parametrize("limits", [{}, SMALL], ids=["one segment", "many"])
def test_bytes_that_stay_are_neither_hashed_nor_packed_again(tmp_path, costly, limits):
    text = b"- a line that stays\n" * 100
    with journal_in(tmp_path, **limits) as journal:
        put(journal, text)
        assert costly == [text, text]
        for _ in range(70):
            put(journal, text)
            put(journal, b"resting", "MEMORY.md")
        assert costly == [text, text, b"resting", b"resting"]
        assert [data for record, data in journal.replay() if record.file == "USER.md"] == [text] * 71
        assert journal.verify() == []


def test_a_head_that_stands_whole_is_not_packed_again_for_the_next_segment_and_any_other_is(tmp_path, costly):
    with journal_in(tmp_path, **SMALL) as journal:
        texts = fill(journal, 4)
        costly.clear()
        put(journal, texts[-1] + b"5")
        assert costly == [texts[-1], texts[-1] + b"5"]
    with journal_in(tmp_path, segment_records=1) as journal:
        put(journal, b"6" * 2_000)
        costly.clear()
        put(journal, b"7")
        assert costly == [b"7"]
        assert journal.verify() == []


def test_every_file_stands_whole_at_least_every_32_records(tmp_path):
    text = b"- a line that stays\n" * 100
    with journal_in(tmp_path) as journal:
        for number in range(70):
            put(journal, text + b"- %d\n" % number)
    wholes = [b'"whole"' in line for line in segments(tmp_path)[0].read_bytes().splitlines()[1:]]
    assert [number for number, whole in enumerate(wholes) if whole] == [0, 32, 64]


def test_another_process_may_append_in_between(tmp_path):
    program = (
        "import sys; from pathlib import Path; from tests.unit.store.journals import journal_in, put\n"
        "with journal_in(Path(sys.argv[1]), segment_records=4) as journal:\n"
        "    put(journal, sys.argv[2].encode())"
    )
    with journal_in(tmp_path, **SMALL) as journal:
        texts = []
        for number in range(6):
            texts += [b"mine %d" % number, b"theirs %d" % number]
            journal.refresh(repair=True)
            put(journal, texts[-2])
            subprocess.run([sys.executable, "-c", program, str(tmp_path), texts[-1]], check=True, timeout=60)
            journal.refresh()
            assert journal.head_data("USER.md") == texts[-1]
        assert [data for _, data in journal.replay()] == texts
        assert journal.verify() == []


def test_a_reader_follows_a_writer_over_segments(tmp_path):
    with journal_in(tmp_path, **SMALL) as writer, journal_in(tmp_path) as reader:
        for number in range(1, 30):
            put(writer, b"- %d\n" % number)
            if number % 3 == 0:
                reader.refresh()
                assert reader.last == writer.last
                assert reader.head_data("USER.md") == b"- %d\n" % number


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


def test_no_descriptor_stays_open(tmp_path):
    class Open(Quick):
        count = 0

        def open(self, *args, **kwargs):
            self.count += 1
            return super().open(*args, **kwargs)

        def close(self, descriptor):
            self.count -= 1
            super().close(descriptor)

    system = Open()
    with journal_in(tmp_path, system, **SMALL) as journal:
        fill(journal, 14)
        list(journal.replay())
        journal.find("USER.md", "3")
        journal.erase(lambda _, data: data.replace(b"3", b"x"))
        journal.verify()
        journal.refresh()
        assert system.count == 1
    assert system.count == 0


def test_the_bytes_of_a_record_of_another_journal_are_missing(tmp_path):
    with journal_in(tmp_path / "a") as one, journal_in(tmp_path / "b") as other:
        fill(one, 3)
        fill(other, 1)
        with pytest.raises(DamagedError):
            other.data(one.last)


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
