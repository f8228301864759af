"""A mark of a SQLite database: whoever commits, by whatever means, it is at another one; and asking waits for nobody."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from catmem.errors import StoreError
from catmem.model.document import parse
from catmem.service.rows import RowCodec
from catmem.store.contract import Change
from catmem.store.sql.store import SqlStore
from tests.unit.store.sql.clients import Client, shell

ENTITY = "neo/user"


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/memory.db"


@pytest.fixture
def written(store):
    put(store, "One fact.")
    return store


def put(store, text, entity=ENTITY):
    return store.commit(entity, None, lambda _: f"{text}\n".encode(), Change())


def test_it_stays_as_long_as_nobody_commits(written, client):
    mark = written.mark()
    written.read(ENTITY)
    client.run("SELECT * FROM user_memories")
    assert written.is_at(mark)
    assert written.mark() == mark


def commit_here(store, url):
    put(store, "Another fact.")


def commit_to_another_entity(store, url):
    put(store, "Another fact.", "trinity/user")


def commit_by_another_store(store, url):
    other = SqlStore(url, RowCodec(parse))
    put(other, "Another fact.")
    other.close()


def change_a_row(store, url):
    client = Client(url)
    client.run("UPDATE user_memories SET content = 'Two facts.'")
    client.close()


def change_a_row_in_another_process(store, url):
    shell(url.removeprefix("sqlite:///"), "UPDATE user_memories SET content = 'Two facts.';")


def change_the_tables(store, url):
    client = Client(url)
    client.run("CREATE TABLE other (fact TEXT)")
    client.close()


def commit_through_the_same_connections_again_and_again(store, url):
    for number in range(50):
        put(store, f"Fact {number}.")


@pytest.mark.parametrize(
    "change",
    [
        commit_here,
        commit_to_another_entity,
        commit_by_another_store,
        change_a_row,
        change_a_row_in_another_process,
        change_the_tables,
        commit_through_the_same_connections_again_and_again,
    ],
    ids=lambda each: each.__name__,
)
def test_whoever_commits_moves_it(written, url, change):
    mark = written.mark()
    change(written, url)
    assert not written.is_at(mark)
    assert written.mark() != mark


def test_what_goes_back_to_what_it_was_is_at_another_mark(written, client):
    mark = written.mark()
    client.run("UPDATE user_memories SET content = 'Two facts.'")
    client.run("UPDATE user_memories SET content = 'One fact.'")
    assert not written.is_at(mark)


def test_what_is_not_committed_moves_nothing(written, client):
    mark = written.mark()
    client.run("BEGIN IMMEDIATE")
    client.run("UPDATE user_memories SET content = 'Two facts.'")
    assert written.is_at(mark)
    client.run("ROLLBACK")
    assert written.is_at(mark)


def test_a_store_that_was_opened_again_is_at_another_mark(written):
    mark = written.mark()
    written.close()
    assert not written.is_at(mark)
    assert written.mark() != mark


def test_a_database_that_is_not_there_has_no_mark(store):
    assert store.mark() is None


def test_it_is_unknown_and_not_waited_for_while_somebody_has_the_database_alone(written, url):
    mark = written.mark()
    path = url.removeprefix("sqlite:///")
    written.close()
    alone = sqlite3.connect(path, isolation_level=None)
    alone.execute("PRAGMA locking_mode = EXCLUSIVE")
    alone.execute("BEGIN EXCLUSIVE")
    assert not written.is_at(mark)
    alone.close()


def test_threads_may_ask_while_others_write(written):
    seen: list[bool] = []

    def ask():
        while len(seen) < 500:
            mark = written.mark()
            now = written.read(ENTITY).data
            # What was read after the mark and found at it is what is there.
            if written.is_at(mark):
                seen.append(now == written.read(ENTITY).data or not written.is_at(mark))
            else:
                seen.append(True)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(60):
        put(written, f"Fact {number}.")
    for thread in threads:
        thread.join()
    assert all(seen)


def test_a_child_has_a_watch_of_its_own_and_leaves_that_of_its_parent_alone(written):
    mark = written.mark()
    child = os.fork()
    if not child:
        right = False
        try:
            right = not written.is_at(mark) and written.mark() != mark
            written.close()
        finally:
            os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert written.is_at(mark)
    put(written, "Another fact.")
    assert not written.is_at(mark)


def test_a_log_that_was_removed_is_let_go_of(written, url):
    written.mark()
    path = url.removeprefix("sqlite:///")
    Path(f"{path}-wal").unlink()
    with pytest.raises(StoreError, match="write-ahead log"):
        put(written, "Another fact.")
    written.close()
    put(written, "A third fact.")
    mark = written.mark()
    put(written, "A fourth fact.")
    assert not written.is_at(mark)
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT content FROM user_memories").fetchall() == [("A fourth fact.",)]
