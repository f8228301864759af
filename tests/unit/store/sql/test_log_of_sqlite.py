"""SQLite's log beside the database, taken away or replaced while it is open, and lost between two processes."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from catmem.errors import DamagedError, StoreError
from catmem.plugins.sql.sqlite_file import FileMark
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


REPLACED = {name: harm for name, harm in HARMS.items() if "removed" in name or "another" in name}


@pytest.mark.parametrize("harm", REPLACED.values(), ids=REPLACED)
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
