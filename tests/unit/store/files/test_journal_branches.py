"""Branches in the journal: rows of their own beside the file's, pointed to by the headers until they are merged."""

import pytest

from catmem.errors import DamagedError
from catmem.store.files.records import RecordDraft, branch_name
from tests.unit.store.journals import fill, journal_in, put, segments

SMALL = {"segment_records": 4}


def branch(journal, data, name="2a", parents=("1",), file="USER.md", **said):
    drafted = RecordDraft(branch_name(file, name), "put", "neo", name, parents, f"op-{name}", publishes=False, **said)
    return journal.append(drafted, data)


def merge(journal, data, name, *parents):
    return journal.append(RecordDraft("USER.md", "merge", "neo", name, parents, f"op-{name}"), data)


def tips(journal, file="USER.md"):
    return [record.revision for record in journal.tips(file)]


def test_headers_point_to_a_branch_until_it_is_merged(tmp_path):
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
        assert list(journal.records_of("USER.md")) == [*journal.records()][::-1]
        assert journal.verify() == []


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
