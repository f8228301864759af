"""Branches in the journal: rows of their own beside the file's, carried by the checkpoints until they are merged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from catmem.errors import DamagedError
from catmem.store.files.records import RecordDraft, branch_name, recorded_name
from tests.unit.store.journals import Quick, draft, fill, journal_in, put, segments

SMALL = {"segment_records": 4}
START = datetime(2026, 1, 1, tzinfo=UTC)


class Days(Quick):
    """A clock that goes on by a day with each record."""

    day = 0

    def now(self):
        self.day += 1
        return START + timedelta(days=self.day)


def branch(journal, data, name="2a", parents=("1",), file="USER.md", **said):
    drafted = RecordDraft(branch_name(file, name), "put", "neo", name, parents, f"op-{name}", publishes=False, **said)
    return journal.append(drafted, data)


def merge(journal, data, name, *parents):
    return journal.append(RecordDraft("USER.md", "merge", "neo", name, parents, f"op-{name}"), data)


def tips(journal, file="USER.md"):
    return [record.revision for record in journal.tips(file)]


@pytest.mark.parametrize(("revision", "name"), [("8", "USER.md"), ("8a", "USER.md/8a"), ("12ab", "USER.md/12ab")])
def test_only_a_branch_is_kept_under_a_name_of_its_own(revision, name):
    assert recorded_name("USER.md", revision) == name


def test_a_branch_is_no_part_of_the_file_that_it_is_of(tmp_path):
    with journal_in(tmp_path) as journal:
        put(journal, b"one\n")
        two = put(journal, b"two\n")
        record = branch(journal, b"mine\n")
        assert (record.owner, record.is_branch, record.base) == ("USER.md", True, None)
        assert (journal.head("USER.md"), journal.head_data("USER.md")) == (two, b"two\n")
        assert (journal.files(), journal.last, journal.last_write) == (["USER.md"], record, two)
        three = put(journal, b"three\n")
        assert three.base == two.head
        assert [data for _, data in journal.replay()] == [b"one\n", b"two\n", b"mine\n", b"three\n"]
        assert journal.verify() == []


def test_the_operation_of_a_branch_is_one_of_its_file(tmp_path):
    with journal_in(tmp_path) as journal:
        put(journal, b"one\n")
        record = branch(journal, b"mine\n")
        assert journal.operation("neo", "op-2a", file="USER.md") == record
        assert journal.operation("neo", "op-2a", file="MEMORY.md") is None


def test_checkpoints_carry_a_branch_until_it_is_merged(tmp_path):
    with journal_in(tmp_path, **SMALL) as journal:
        fill(journal, 2)
        record = branch(journal, b"mine\n")
        for number in range(3, 20):
            put(journal, b"%d\n" % number)
        assert tips(journal) == ["19", "2a"]
        assert journal.find("USER.md", "2a") == record
        merge(journal, b"20\n", "20", "19", "2a")
        assert tips(journal) == ["20"]
        for number in range(21, 30):
            put(journal, b"%d\n" % number)
        assert tips(journal) == ["29"]
        assert b"USER.md/2a" not in segments(tmp_path)[-1].read_bytes()
        assert (journal.find("USER.md", "2a"), journal.data(record)) == (record, b"mine\n")
        assert journal.verify() == []


def test_a_branch_that_another_goes_on_from_is_carried_no_more(tmp_path):
    with journal_in(tmp_path, **SMALL) as journal:
        fill(journal, 2)
        branch(journal, b"mine\n")
        branch(journal, b"mine\nmore\n", "3a", ("2a",))
        for number in range(3, 12):
            put(journal, b"%d\n" % number)
        assert tips(journal) == ["11", "3a"]


def test_the_branches_of_two_files_are_told_apart(tmp_path):
    with journal_in(tmp_path, **SMALL) as journal:
        for name in ("USER.md", "USER.md.more", "MEMORY.md"):
            put(journal, b"one\n", name)
            put(journal, b"two\n", name)
        branch(journal, b"of user\n")
        branch(journal, b"of memory\n", file="MEMORY.md")
        assert (tips(journal), tips(journal, "MEMORY.md"), tips(journal, "USER.md.more")) == (
            ["2", "2a"], ["2", "2a"], ["2"]
        )  # fmt: skip
        merge(journal, b"3\n", "3", "2", "2a")
        for number in range(4, 12):
            put(journal, b"%d\n" % number)
        assert (tips(journal), tips(journal, "MEMORY.md")) == (["11"], ["2", "2a"])
        assert journal.data(journal.find("MEMORY.md", "2a")) == b"of memory\n"


def test_a_reader_of_the_end_alone_sees_the_branches(tmp_path):
    with journal_in(tmp_path, **SMALL) as journal:
        fill(journal, 2)
        branch(journal, b"mine\n")
        for number in range(3, 20):
            put(journal, b"%d\n" % number)
    for path in segments(tmp_path)[:-1]:
        path.unlink()
    with journal_in(tmp_path, **SMALL) as journal:
        assert tips(journal) == ["19", "2a"]
        assert journal.data(journal.tips("USER.md")[1]) == b"mine\n"


def test_erasing_reaches_branches_wherever_they_are_kept(tmp_path):
    secret = b"hunter2"

    def redact(file, data):
        return data.replace(secret, b"[gone]") if file == "USER.md" else data

    with journal_in(tmp_path, **SMALL) as journal:
        fill(journal, 2)
        branch(journal, b"mine: hunter2\n")
        branch(journal, b"merged: hunter2\n", "2b")
        put(journal, b"hunter2\n", "MEMORY.md")
        merge(journal, b"3\n", "3", "2", "2b")
        for number in range(4, 16):
            put(journal, b"%d\n" % number)
        assert journal.erase(redact) == 2
        texts = {record.file: data for record, data in journal.replay()}
        assert texts["USER.md/2a"] == b"mine: [gone]\n"
        assert texts["USER.md/2b"] == b"merged: [gone]\n"
        assert texts["MEMORY.md"] == b"hunter2\n"
        assert journal.data(journal.tips("USER.md")[1]) == b"mine: [gone]\n"
        assert journal.verify() == []
        assert journal.erase(redact) == 0


@pytest.mark.parametrize(
    "drafted",
    [
        pytest.param(RecordDraft("USER.md/2b", "put", "neo", "2a", (), "x", publishes=False), id="the name of another"),
        pytest.param(RecordDraft("USER.md/2a", "put", "neo", "2a", (), "x"), id="goes into the file"),
        pytest.param(RecordDraft("USER.md/2", "put", "neo", "2", (), "x", publishes=False), id="no branch"),
        pytest.param(RecordDraft("../2a", "put", "neo", "2a", (), "x", publishes=False), id="of no file"),
        pytest.param(RecordDraft("a/b/2a", "put", "neo", "2a", (), "x", publishes=False), id="of a file elsewhere"),
    ],
)
def test_a_branch_that_is_not_what_its_name_says_is_damage(tmp_path, drafted):
    with journal_in(tmp_path) as journal:
        fill(journal, 1)
        journal.append(drafted, b"mine\n")
    with journal_in(tmp_path) as journal, pytest.raises(DamagedError):
        journal.refresh()


def test_a_commit_reads_no_more_of_a_journal_with_branches_than_of_one_without(tmp_path):
    """The branches lie in the newest checkpoint, so the newest segment still says all that is there now."""
    read = {}
    for count in (20, 200):
        folder = tmp_path / str(count)
        with journal_in(folder, **SMALL) as journal:
            fill(journal, 2)
            branch(journal, b"mine\n")
            for number in range(3, count):
                journal.append(draft(number), b"%d\n" % number)
        opened = []
        with journal_in(folder, Opening(opened), **SMALL) as journal:
            assert tips(journal)[1:] == ["2a"]
            journal.append(draft(count), b"end\n")
        read[count] = len(opened)
    assert read[20] == read[200]


class Opening(Quick):
    """Notes what is opened."""

    def __init__(self, opened):
        super().__init__()
        self.opened = opened

    def open(self, name, *arguments, **named):
        self.opened.append(name)
        return super().open(name, *arguments, **named)
