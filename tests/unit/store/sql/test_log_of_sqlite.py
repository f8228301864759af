"""SQLite's log beside the database, taken away, replaced or cut short: while it is open, and between two processes."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from catmem.errors import DamagedError, StoreError
from catmem.plugins.sql.sqlite_file import Connection, FileMark
from catmem.store.contract import Change
from tests.unit.store.sql.writes import USER


@pytest.fixture
def store(marked):
    return marked()


def add(store, text, op_id=None):
    return store.commit(USER, None, lambda now: now.data + b"\n## A\n" + text + b"\n", Change(op_id=op_id))


def beside(path, *ends):
    return [Path(f"{path}-{end}") for end in ends]


WRITER = """
import os, shutil, signal, sys
from pathlib import Path
from catmem.errors import StoreError
from catmem.model.document import parse
from catmem.workspace.rows import RowCodec
from catmem.store.contract import Change
from catmem.plugins.sql.sql_store import SqlStore

path, first, harm, last, end = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5]
wal, shm = Path(f"{path}-wal"), Path(f"{path}-shm")
store = SqlStore(f"sqlite:///{path}", RowCodec(parse), root=path.parent)

def write(number):
    for _ in range(number):
        try:
            made = store.commit("trinity/user", None, lambda now: now.data + b"x", Change())
            print(made.revision, flush=True)
        except StoreError as error:
            print(error.code, flush=True)

write(first)
exec(harm)
write(last)
if end == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if end == "close":
    store.close()
"""
"""Writes, does some harm, writes again, and is killed or ends in peace; prints what it was told of each write."""


def write(path, first, *, harm="", last=0, end="kill"):
    words = [sys.executable, "-c", WRITER, str(path), str(first), harm, str(last), end]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == (-signal.SIGKILL if end == "kill" else 0), done.stderr
    return done.stdout.split()


HARMS = {
    "the log is emptied in place": "os.truncate(wal, 0)",
    "the log is cut to a part": "os.truncate(wal, wal.stat().st_size // 2)",
    "the log is overwritten": "wal.write_bytes(bytes(wal.stat().st_size))",
    "the log is removed": "wal.unlink()",
    "the index is removed": "shm.unlink()",
    "both are removed": "wal.unlink(); shm.unlink()",
    "another log is put in its place": "shutil.copy(wal, f'{wal}.new'); os.replace(f'{wal}.new', wal)",
}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_no_write_is_acknowledged_after_it_and_after_a_kill_a_loss_is_told(path, marked, harm):
    assert write(path, 3, harm=harm, last=3) == ["1", "2", "3", *["read_only"] * 3]
    before = path.read_bytes()
    after = marked()
    try:
        there = [each.revision for each in after.log(USER)]
    except StoreError as error:
        # Without its first log the database has not even its tables.
        assert error.code in {"damaged", "database_gone"}
        with pytest.raises(StoreError):
            add(after, b"never")
        assert path.read_bytes() == before
    else:
        assert {"1", "2", "3"} <= set(there)


LOST = {name: harm for name, harm in HARMS.items() if "index" not in name and "another" not in name}


@pytest.mark.parametrize("harm", LOST.values(), ids=LOST)
def test_a_log_that_is_lost_between_two_processes_is_told_until_somebody_takes_what_there_is(path, marked, harm):
    write(path, 2, end="close")
    assert write(path, 3) == ["3", "4", "5"]
    write(path, 0, harm=harm)  # by a program that opens nothing
    for _ in range(2):
        after = marked()
        for use in (after.read, after.head, lambda _, store=after: add(store, b"never"), lambda _, s=after: s.verify()):
            with pytest.raises(DamagedError, match="acknowledged revision") as caught:
                use(USER)
            assert "fsck --repair" in caught.value.hint
        after.close()
    mended = marked()
    said = mended.mend()
    assert "acknowledged revision" in said[0]
    there = int(mended.head(USER).revision)
    assert 2 <= there < 5
    assert add(mended, b"on").revision == str(there + 1)
    assert mended.verify() == []
    assert mended.mend() == []


@pytest.mark.parametrize("end", ["close", "leave"])
def test_a_program_that_ends_in_peace_brings_a_log_that_was_removed_into_the_database(path, marked, end):
    told = write(path, 3, harm="wal.unlink(); shm.unlink()", last=1, end=end)
    assert told == ["1", "2", "3", "read_only"]
    after = marked()
    assert after.head(USER).revision == "3"
    assert after.verify() == []


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_beside_the_mark_is_no_loss(path, marked, moment):
    """The mark is set after the commit: it is never ahead of what was committed."""
    die = "os.kill(os.getpid(), signal.SIGKILL)"
    steps = [die, "old(*a, **k)"] if moment == "before" else ["old(*a, **k)", die]
    harm = (
        "from catmem.plugins.sql.sqlite_file import FileMark\nold = FileMark.write\ndef new(*a, **k):\n    "
        + "\n    ".join(steps)
        + "\nFileMark.write = new"
    )
    assert write(path, 2, harm=harm, last=1) == ["1", "2"]
    after = marked()
    assert after.head(USER).revision == "3"
    assert add(after, b"on").revision == "4"


def test_a_write_of_another_process_between_the_look_and_the_mark_is_no_loss(marked, monkeypatch):
    writer, reader = marked(), marked()
    add(writer, b"1")
    read = FileMark.read

    def write_first(mark):
        monkeypatch.setattr(FileMark, "read", read)
        add(writer, b"2")
        return read(mark)

    monkeypatch.setattr(FileMark, "read", write_first)
    assert reader.head(USER).revision == "2"


def test_a_log_that_is_gone_when_a_write_was_just_made_names_its_op_id(store, path):
    add(store, b"one")

    def update(now):
        beside(path, "wal")[0].unlink()
        return now.data + b"\n## B\ntwo\n"

    with pytest.raises(StoreError, match="write-ahead log") as caught:
        store.commit(USER, None, update, Change(op_id="mine"))
    assert "'mine'" in caught.value.hint
    store.close()
    done = store.commit(USER, None, lambda now: now.data + b"\n## B\ntwo\n", Change(op_id="mine"))
    assert done.revision == "2"


def test_a_log_that_another_process_emptied_rightly_is_no_loss(store, path):
    for number in range(3):
        add(store, b"%d" % number)
        with closing(sqlite3.connect(path)) as other:
            assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall() == [(0, 0, 0)]
        assert beside(path, "wal")[0].stat().st_size == 0
    assert add(store, b"on").revision == "4"
    assert store.verify() == []


def told(store):
    """What is said of one more write: its revision, or the code of the refusal."""
    try:
        return add(store, b"x").revision
    except StoreError as error:
        return error.code


@pytest.fixture
def two(opened, path):
    """Two stores of one process, of which each has written, and whose log was removed since."""
    stores = [opened(f"sqlite:///{path}") for _ in range(2)]
    assert [told(each) for each in stores] == ["1", "2"]
    for each in beside(path, "wal", "shm"):
        each.unlink()
    return stores


def told_until_closed(stores):
    for each in (*stores, *stores):
        yield told(each)
        each.close()


def test_two_stores_of_one_process_never_mix_two_logs(two, opened, path):
    assert list(told_until_closed(two)) == ["read_only", "read_only", "3", "4"]
    after = opened(f"sqlite:///{path}")
    assert after.head(USER).revision == "4"
    assert after.verify() == []


def test_with_another_log_in_its_place_a_process_writes_nothing_more_and_destroys_nothing(two, path):
    assert write(path, 3) == ["1", "2", "3"]  # the other writer dies with its log there
    assert list(told_until_closed(two)) == ["read_only"] * 4
    look = "print(store.peek('trinity/user').count(b'x'), len(store.verify()), flush=True)"
    assert write(path, 0, harm=look) == ["3", "0"]


# --- no false alarm ----------------------------------------------------------------------------------------------------


class Overtaken(Connection):
    """A connection beside which ``meanwhile`` happens once, after it was looked where its files are."""

    meanwhile = None

    def _found(self):
        found, meanwhile = super()._found(), self.meanwhile
        self.meanwhile = None
        if meanwhile is not None:
            meanwhile()
        return found


def test_two_threads_that_learn_at_once_where_the_log_is_find_it_in_place(path):
    with closing(sqlite3.connect(path, factory=Overtaken)) as connection:
        connection.begin(str(path))

        def learn():
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE told (word TEXT)")
            assert connection.is_in_place()

        connection.meanwhile = learn
        assert connection.is_in_place()
        assert all(each.exists() for each in beside(path, "wal", "shm"))
        assert connection.is_in_place()


class ClosedMeanwhile(Connection):
    """A connection that another thread, or the collection of garbage, closes while it is asked what it is on."""

    def is_on(self, database):
        found = super().is_on(database)
        self.close()
        return found


def test_a_connection_that_is_closed_at_the_moment_of_a_look_lost_no_log(store, path):
    add(store, b"a")
    store.close()
    other = sqlite3.connect(path, factory=ClosedMeanwhile)
    other.execute("SELECT count(*) FROM mem_log").close()
    other.begin(str(path))
    assert store.read(USER).data.endswith(b"a\n")
    assert add(store, b"b").revision == "2"


def test_a_log_that_another_writer_begins_at_the_moment_of_a_look_is_whole(store, path, marked, monkeypatch):
    add(store, b"a")
    store.close()
    assert not any(each.exists() for each in beside(path, "wal", "shm"))
    reader, look, looks = marked(), os.fstat, []
    assert reader.head(USER).revision == "1"

    def begun(descriptor):
        looks.append(descriptor)
        if len(looks) == 2:  # before the write, which changes nothing, and after it
            with closing(marked()) as other:
                add(other, b"b")
        return look(descriptor)

    monkeypatch.setattr(os, "fstat", begun)
    reader.check_writable()
    monkeypatch.undo()
    assert len(looks) > 2
    assert store.head(USER).revision == "2"
