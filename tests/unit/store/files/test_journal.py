"""The journal: what is appended is found again, at the same cost however long it is, by readers beside the writer.

Its branches, its order of calls to the disk, and what an erasure leaves.
"""

import json
import threading
import zlib
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor

import pytest

from catmem.errors import DamagedError, StoreError
from catmem.store.files.journal import Brought
from catmem.store.files.records import RecordDraft, branch_name
from catmem.store.files.segments import walk
from tests.unit.store.journals import Counting, Failing, Noting, draft, fill, journal_in, put, segments

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


# --- growth -----------------------------------------------------------------------------------------------------------


# Both end at the same place of a segment of 256.
SHORT, LONG = 256 + 44, 39 * 256 + 44


def calls_by_work(folder, records):
    """How many calls to the system each kind of work takes on a journal of so many records."""
    with journal_in(folder) as journal:
        for number in range(records):
            put(journal, b"- %d\n" % number)
    system = Counting()
    with journal_in(folder, system) as journal:
        works = {
            "open": journal.refresh,
            "first append": lambda: put(journal, b"first"),
            "append": lambda: put(journal, b"second"),
            "refresh": journal.refresh,
            "head": lambda: journal.head_data("USER.md"),
            "latest": lambda: journal.latest(64),
            "operation": lambda: journal.operation("neo", "never"),
            "find": lambda: journal.find("USER.md", "10"),
            "the records of a file without any": lambda: list(journal.records_of("MEMORY.md")),
        }
        calls = {}
        for name, work in works.items():
            system.calls.clear()
            work()
            calls[name] = system.calls.total()
        return calls


def test_the_calls_to_the_system_do_not_grow_with_the_journal(tmp_path):
    short = calls_by_work(tmp_path / "short", SHORT)
    long = calls_by_work(tmp_path / "long", LONG)
    # Finding halves its way through the segments: four calls for each of log2(40) that it reads.
    assert long.pop("find") <= short.pop("find") + 4 * 6
    assert long == short
    assert long["append"] <= 8
    assert long["refresh"] == 2


# --- readers beside a writer ------------------------------------------------------------------------------------------


WRITES = 240


def write(folder, finished):
    """Append, and now and then erase."""
    try:
        with journal_in(folder, **SMALL) as journal:
            for number in range(2, WRITES + 1):
                journal.refresh()
                journal.cut_tail()
                put(journal, b"- %d secret\n" % number * (number % 40 + 1))
                if number % 20 == 0:
                    journal.erase(lambda _, data: data.replace(b"secret", b"******"))
                    journal.refresh()
                    journal.cut_tail()
    finally:
        finished.set()


def is_of(data, revision):
    """Whether these are the bytes of a revision, before or after an erasure."""
    return data.split(b" ")[1] == revision.encode() and len({*data.splitlines()}) == 1


def read_heads(folder, finished):
    seen = 0
    with journal_in(folder) as journal:
        while not finished.is_set():
            journal.refresh()
            head, data = journal.head("USER.md"), journal.head_data("USER.md")
            assert head.sequence >= seen
            assert is_of(data, head.revision)
            assert [record.sequence for record in journal.latest(2)][-1] == head.sequence
            seen = head.sequence
        journal.refresh()
        return journal.last.sequence


def read_all(folder, finished):
    rounds = 0
    while not finished.is_set() or rounds == 0:
        with journal_in(folder) as journal:
            for record, data in journal.replay():
                assert is_of(data, record.revision)
        rounds += 1
    return rounds


@pytest.mark.parametrize("read", [read_heads, read_all])
def test_a_reader_sees_true_revisions_whatever_the_writer_does(tmp_path, read):
    finished = threading.Event()
    with journal_in(tmp_path, **SMALL) as journal:
        put(journal, b"- 1 secret\n")
    with ThreadPoolExecutor(2) as pool:
        reading, writing = pool.submit(read, tmp_path, finished), pool.submit(write, tmp_path, finished)
        writing.result()
        assert reading.result() >= 1
    with journal_in(tmp_path) as journal:
        assert journal.last.revision == str(WRITES)
        assert journal.verify() == []


# --- what is on the disk, and when ------------------------------------------------------------------------------------


FIRST, SECOND = "000000000001.log", "000000000005.log"


@pytest.fixture
def noting():
    return Noting()


def in_place(name):
    """How a segment is put in place, new or over an old one."""
    return [f"write {name}.new", f"fsync {name}.new", f"rename {name}.new", "fsync folder"]


def test_a_tail_is_cut_off(tmp_path, noting):
    with journal_in(tmp_path) as journal:
        put(journal, b"1")
    (path,) = segments(tmp_path)
    path.write_bytes(path.read_bytes() + b"tail")
    with journal_in(tmp_path, noting) as journal:
        journal.refresh()
        journal.cut_tail()
    assert noting.notes == ["fsync folder", f"truncate {FIRST}", f"fsync {FIRST}"]


def test_erasure_puts_whole_segments_over_the_old_ones_and_leftovers_go_last(tmp_path, noting):
    with journal_in(tmp_path, noting, **SMALL) as journal:
        fill(journal, 6)
        (tmp_path / "000000000099.log.new").write_bytes(b"")
        noting.notes.clear()
        journal.erase(lambda _, data: data.replace(b"revision", b"***"))
    assert noting.notes == [*in_place(FIRST), *in_place(SECOND), "unlink 000000000099.log.new", "fsync folder"]


def test_a_history_is_put_in_place_whole(tmp_path, noting):
    with journal_in(tmp_path, noting, **SMALL) as journal:
        journal.append_history(
            Brought(draft(number, publishes=False, brought=True), b"%d" % number, "2026-11-21T12:00:00.000000Z")
            for number in range(1, 7)
        )
        assert [record.revision for record, _ in journal.replay()] == ["1", "2", "3", "4", "5", "6"]
    assert noting.notes == in_place(FIRST)


# --- branches ---------------------------------------------------------------------------------------------------------


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


# --- erasing ----------------------------------------------------------------------------------------------------------


SECRET = b"hunter2-sk-live-0042"


def everything_in(folder):
    """All bytes that the folder holds, packed ones unpacked."""
    for path in folder.iterdir():
        data = path.read_bytes()
        yield data
        for line in walk(data).lines:
            yield from texts_in(json.loads(line.payload))


def texts_in(value):
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)
    elif isinstance(value, str):
        yield value.encode()
        try:
            data = b64decode(value, validate=True)
            yield data
            yield zlib.decompress(data)
        except (ValueError, zlib.error):
            pass


def redact(_, data):
    return data.replace(SECRET, b"[erased]")


def with_secrets(folder):
    """A journal whose revisions 3 to 9 of USER.md hold the secret, in segments of 4; the texts of the revisions."""
    texts = []
    with journal_in(folder, **SMALL) as journal:
        for number in range(1, 15):
            secret = b"- key: %b\n" % SECRET if 3 <= number <= 9 else b""
            texts.append(b"- line that stays\n" * 50 + secret + b"- %d\n" % number)
            put(journal, texts[-1], note={"why": "because"})
            if number % 5 == 0:
                put(journal, b"- memory %d\n" % number, "MEMORY.md")
    return texts


def test_what_is_erased_is_nowhere_and_all_else_is_as_it_was(tmp_path):
    texts = with_secrets(tmp_path)
    newest = segments(tmp_path)[-1]
    newest.write_bytes(newest.read_bytes() + b"\x1e0000 " + SECRET)
    (tmp_path / "000000000099.log.new").write_bytes(SECRET)
    with journal_in(tmp_path, **SMALL) as journal:
        journal.refresh()
        journal.cut_tail()
        before = list(journal.records())
        assert journal.erase(redact) == 7
        assert not any(SECRET in data for data in everything_in(tmp_path))
        after = list(journal.replay())
        assert [data for record, data in after if record.file == "USER.md"] == [redact("", text) for text in texts]
        assert [record.link for record, _ in after] == [record.line for record in before]
        assert [record.origin for record, _ in after] == [record.head for record in before]
        assert journal.verify() == []
        added = put(journal, b"goes on")
        assert added.sequence == len(before) + 1
        assert (journal.head_data(added.file), journal.verify()) == (b"goes on", [])


@pytest.mark.parametrize("skip", range(3))
@pytest.mark.parametrize("call", ["write_at", "fsync", "rename"])
def test_an_erasure_that_was_stopped_leaves_a_good_journal_and_is_finished_by_the_next(tmp_path, call, skip):
    texts = with_secrets(tmp_path)
    system = Failing()
    with journal_in(tmp_path, system, **SMALL) as journal:
        journal.refresh()
        system.fails, system.skip = call, skip
        with pytest.raises(OSError, match="No space"):
            journal.erase(redact)
    with journal_in(tmp_path, **SMALL) as journal:
        assert [fault.code for fault in journal.verify() if fault.damage] == []
        assert len(list(journal.replay())) == len(texts) + 2
        journal.erase(redact)
        assert not any(SECRET in data for data in everything_in(tmp_path))
        assert [data for r, data in journal.replay() if r.file == "USER.md"] == [redact("", text) for text in texts]
        assert journal.verify() == []
