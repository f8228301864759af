"""What goes wrong with a database: each its own code, and nothing half applied."""

import os
import sqlite3

import pytest

from catmem.errors import BusyError, DamagedError, StoreError
from tests.unit.store.sql.writes import USER, add


@pytest.mark.parametrize(
    "url", ["mysql://host/db", "sqlite://", "sqlite:///:memory:", "nonsense", "postgresql//u:secret@h", "sqlite:///"]
)
def test_what_is_no_url_of_a_store_is_refused_without_showing_it(opened, url):
    with pytest.raises(StoreError) as caught:
        opened(url)
    assert (caught.value.code, caught.value.exit_status) == ("bad_store", 2)
    assert "secret" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("password", ["100%secret", "secret%", "secret%2", "secret%zz"])
def test_a_password_with_a_raw_percent_sign_is_told_how_to_write_it(opened, password):
    for url in (f"postgresql://me:{password}@host/db", f"postgresql://host/db?password={password}"):
        with pytest.raises(StoreError, match="two hex digits") as caught:
            opened(url)
        assert caught.value.code == "bad_store"
        assert "%25" in caught.value.message
        assert "secret" not in f"{caught.value} {caught.value.hint}"
    opened("postgresql://me:100%25secret@host/db")


def test_a_server_that_is_not_there_is_not_available_and_no_password_is_shown(opened):
    store = opened("postgresql://somebody:secret@127.0.0.1:1/memory?password=secret", timeout=0.3)
    for act in (lambda: add(store), lambda: store.peek(USER), lambda: list(store.log(USER)), store.verify):
        with pytest.raises(StoreError) as caught:
            act()
        assert caught.value.code == "not_available"
        assert "secret" not in f"{caught.value} {caught.value.hint} {store.name}"
        assert caught.value.__cause__ is None or "secret" not in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://me:se?cret@host/db", "postgresql://host/db"),
        ("postgresql://me:sec@ret@host/db", "postgresql://host/db"),
        ("postgresql://me:secret@host?password=sec@ret", "postgresql://host"),
        ("postgresql://me@one:1,two:2/db?x=1", "postgresql://one:1,two:2/db"),
        ("postgresql:///db", "postgresql:///db"),
    ],
)
def test_the_name_of_a_server_is_without_user_and_password(opened, url, name):
    assert opened(url).name == name


@pytest.mark.parametrize("name", ["not there/memory.db", "folder"])
def test_a_file_that_cannot_be_opened_is_told_without_a_word_of_servers(opened, tmp_path, name):
    (tmp_path / "folder").mkdir()
    store = opened(f"sqlite:///{tmp_path / name}")
    with pytest.raises(StoreError) as caught:
        add(store)
    assert (caught.value.code, caught.value.path) == ("not_available", str(tmp_path / name))
    assert "cannot be opened" in caught.value.message
    assert "PASSWORD" not in str(caught.value.hint)


@pytest.fixture
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_nobody_else_may_look_into_a_new_database(opened, tmp_path):
    store = opened(f"sqlite:///{tmp_path}/.catmem/memory.db")
    add(store)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / ".catmem").iterdir()}
    assert modes == dict.fromkeys(("memory.db", "memory.db-wal", "memory.db-shm"), 0o600)
    assert (tmp_path / ".catmem").stat().st_mode & 0o777 == 0o700


def test_a_file_that_is_no_database_is_damage(opened, path):
    path.write_bytes(b"this is no database, and nobody said so" * 100)
    store = opened(f"sqlite:///{path}")
    for act in (lambda: add(store), lambda: store.peek(USER)):
        with pytest.raises(DamagedError):
            act()
    assert path.read_bytes().startswith(b"this is no database")


def test_a_database_that_somebody_keeps_locked_is_busy_and_unchanged(marked, path):
    store = marked()
    add(store)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(BusyError) as caught:
        add(store)
    assert caught.value.code == "locked"
    assert store.peek(USER) == b"## A\nx\n"
    holder.execute("ROLLBACK")
    holder.close()
    assert add(store).revision == "2"


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_text_is_sent_as_utf_8_whatever_the_reader_has_set(opened, url, store, encoding, monkeypatch):
    monkeypatch.setenv("PGCLIENTENCODING", encoding)
    add(store, "## A\ncafé → 🐈\n".encode())
    add(store, "§\n雪 → x\n".encode())
    other = opened(url)
    assert other.read(USER).data.decode() == "## A\ncafé → 🐈\n§\n雪 → x\n"
    assert other.verify() == []
