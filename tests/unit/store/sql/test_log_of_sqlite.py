"""SQLite's log beside the database, taken away or replaced while the store has it open."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from catmem.errors import StoreError
from catmem.model.document import parse
from catmem.service.rows import RowCodec
from catmem.store.contract import Change
from catmem.store.sql.store import SqlStore

USER = "trinity/user"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.db"


@pytest.fixture
def store(path):
    opened = SqlStore(f"sqlite:///{path}", RowCodec(parse))
    yield opened
    opened.close()


def add(store, text, op_id=None):
    return store.commit(USER, None, lambda now: now.data + b"\n## A\n" + text + b"\n", Change(op_id=op_id))


def beside(path, *ends):
    return [Path(f"{path}-{end}") for end in ends]


GONE = {"the log": ["wal"], "its index": ["shm"], "both": ["wal", "shm"]}


@pytest.mark.parametrize("ends", GONE.values(), ids=GONE)
def test_a_log_that_was_removed_is_told_and_what_was_acknowledged_is_saved(store, path, ends):
    add(store, b"one")
    add(store, b"two")
    for each in beside(path, *ends):
        each.unlink()
    with pytest.raises(StoreError, match="write-ahead log") as caught:
        add(store, b"three")
    assert caught.value.code == "read_only"
    assert "and safe" in caught.value.hint
    assert add(store, b"three").revision == "3"
    other = SqlStore(f"sqlite:///{path}", RowCodec(parse))
    assert other.read(USER).data.count(b"##") == 3
    assert other.verify() == []
    other.close()


KILLED = """
import os, sys
from catmem.model.document import parse
from catmem.service.rows import RowCodec
from catmem.store.contract import Change
from catmem.store.sql.store import SqlStore
from catmem.errors import StoreError

path = sys.argv[1]
store = SqlStore(f"sqlite:///{path}", RowCodec(parse))
for number in range(6):
    try:
        done = store.commit("trinity/user", None, lambda now: now.data + b"x", Change())
        print(done.revision, flush=True)
    except StoreError as error:
        print(error.code, flush=True)
    if number == 2:
        os.unlink(f"{path}-wal")
os.kill(os.getpid(), 9)
"""


def test_after_a_kill_everything_is_there_that_was_acknowledged(store, path):
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["1", "2", "3", "read_only", "4", "5"], done.stderr
    assert store.head(USER).revision == "5"
    assert store.verify() == []


def test_a_log_that_is_gone_when_a_write_was_just_made_names_its_op_id(store, path):
    add(store, b"one")

    def update(now):
        beside(path, "wal")[0].unlink()
        return now.data + b"\n## B\ntwo\n"

    with pytest.raises(StoreError, match="write-ahead log") as caught:
        store.commit(USER, None, update, Change(op_id="mine"))
    assert "'mine'" in caught.value.hint
    done = store.commit(USER, None, lambda _: b"## B\ntwo\n", Change(op_id="other"))
    assert done.revision == "3"


REPLACED = """
import shutil, subprocess, sys
from pathlib import Path
from catmem.errors import StoreError
from catmem.model.document import parse
from catmem.service.rows import RowCodec
from catmem.store.contract import Change
from catmem.store.sql.store import SqlStore

path, other = sys.argv[1:]
stores = [SqlStore(f"sqlite:///{path}", RowCodec(parse)) for _ in range(2)]
def add(store, text):
    return store.commit("trinity/user", None, lambda now: now.data + text, Change()).revision
print(add(stores[0], b"a"), add(stores[1], b"b"))
for end in ("wal", "shm"):
    Path(f"{path}-{end}").unlink()
if other:
    subprocess.run([sys.executable, "-c", other, path], check=True)
for store in (*stores, *stores):
    try:
        print(add(store, b"c"))
    except StoreError as error:
        print(error.code, "may be missing" in error.hint)
    store.close()
"""
OTHER = """
import sys
from catmem.model.document import parse
from catmem.service.rows import RowCodec
from catmem.store.contract import Change
from catmem.store.sql.store import SqlStore

store = SqlStore(f"sqlite:///{sys.argv[1]}", RowCodec(parse))
for _ in range(3):
    store.commit("trinity/user", None, lambda now: now.data + b"x", Change())
if "keep" in sys.argv[1]:
    import os
    os._exit(0)
store.close()
"""


def two_stores(path, other):
    words = [sys.executable, "-c", REPLACED, str(path), other]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_two_stores_of_one_process_take_the_new_log_together(store, path):
    done = two_stores(path, "")
    assert done.stdout.splitlines() == ["1 2", "read_only False", "3", "4", "5"], done.stderr
    assert store.head(USER).revision == "5"
    assert store.verify() == []


def test_with_another_log_in_its_place_a_process_writes_nothing_more_and_destroys_nothing(store, tmp_path):
    path = tmp_path / "keep.db"  # the other writer dies with its log there
    done = two_stores(path, OTHER)
    assert done.stdout.splitlines() == ["1 2", *["read_only True"] * 4], done.stderr
    after = SqlStore(f"sqlite:///{path}", RowCodec(parse))
    assert after.read(USER).data.count(b"x") == 3
    assert after.verify() == []
    after.close()


def test_a_store_that_lets_its_connections_go_and_takes_others_is_not_told_of_it(store, path):
    for number in range(3):
        add(store, b"%d" % number)
        store._database._engine.dispose()
        assert not any(each.exists() for each in beside(path, "wal", "shm"))
    assert store.head(USER).revision == "3"
