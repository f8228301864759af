"""A SQLite database that goes away: it is told, nothing is made in its place, and it goes on when it is back."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from catmem.errors import DamagedError, StoreError, UnreadableError
from catmem.model.document import parse
from catmem.plugins.sql.sql_store import SqlStore
from catmem.store.contract import Change
from catmem.workspace.rows import RowCodec
from tests.end_to_end.terminal import run
from tests.golden.case import put
from tests.unit.store.sql.writes import USER


@pytest.fixture
def store(marked):
    opened = marked()
    add(opened, b"one")
    return opened


def add(store, text, op_id=None):
    return store.commit(USER, None, lambda now: now.data + b"\n## A\n" + text + b"\n", Change(op_id=op_id))


def files(path):
    return sorted(path.parent.glob(f"{path.name}*"))


def mark_of(path):
    """What the root says of the database that it had."""
    (mark,) = (path.parent / ".catmem").glob("database-*.json")
    return mark


def move(path, aside, *, alone=False):
    """Move the database away, ``alone`` or with what SQLite has beside it; returns what moves it back."""
    aside.mkdir()
    moved = [path] if alone else files(path)
    for each in moved:
        each.rename(aside / each.name)

    def back():
        for each in moved:
            (aside / each.name).rename(each)

    return back


USES = {
    "peek": lambda store: store.peek(USER),
    "read": lambda store: store.read(USER),
    "an old revision": lambda store: store.read(USER, "1"),
    "head": lambda store: store.head(USER),
    "log": lambda store: list(store.log(USER)),
    "replay": lambda store: list(store.replay(USER)),
    "branches": lambda store: store.branches(USER),
    "entities": lambda store: store.entities(),
    "check": lambda store: store.check_writable([]),
    "verify": lambda store: store.verify(),
    "mend": lambda store: store.mend(),
    "anchors": lambda store: list(store.anchors()),
    "rows": lambda store: store.rows(),
    "commit": lambda store: add(store, b"never"),
}


@pytest.mark.parametrize("who", ["the store that had it open", "one that was closed", "a new one"])
@pytest.mark.parametrize("alone", [True, False])
def test_nobody_takes_a_database_that_is_away_for_an_empty_one(store, marked, path, alone, who):
    for number, (name, use) in enumerate(USES.items(), 2):
        back = move(path, path.with_name(name), alone=alone)
        if who == "one that was closed":
            store.close()
        asked = marked() if who == "a new one" else store
        with pytest.raises(StoreError) as caught:
            use(asked)
        assert (caught.value.code, caught.value.path) == ("database_gone", str(path)), name
        assert not path.exists()
        back()
        assert asked.read(USER).data.count(b"one") == 1
        assert add(asked, b"more").revision == str(number)
        assert asked.verify() == []
        if who == "a new one":
            asked.close()


def test_a_database_that_is_deleted_is_not_made_anew_before_somebody_says_so(store, marked, path):
    for each in files(path):
        each.unlink()
    with pytest.raises(StoreError, match="not there any more"):
        add(store, b"never")
    store.close()
    mark_of(path).unlink()
    assert add(marked(), b"anew").revision == "1"


def copied(path, new):
    with closing(sqlite3.connect(path)) as here, closing(sqlite3.connect(new)) as there:
        here.backup(there)


def an_empty_file(new):
    new.touch()


def a_database_of_something_else(new):
    with closing(sqlite3.connect(new)) as made:
        made.execute("CREATE TABLE facts (fact TEXT)")


def another_store(new):
    with closing(SqlStore(f"sqlite:///{new}", RowCodec(parse))) as other:
        add(other, b"theirs")


@pytest.mark.parametrize("make", [an_empty_file, a_database_of_something_else, another_store])
def test_what_is_put_in_its_place_is_neither_read_nor_written(store, path, tmp_path, make):
    back = move(path, tmp_path / "aside")
    make(path)
    before = path.read_bytes()
    for use in USES.values():
        with pytest.raises(StoreError) as caught:
            use(store)
        assert caught.value.code == "other_database"
    assert path.read_bytes() == before
    for each in files(path):
        each.unlink()
    back()
    assert store.read(USER).revision == "1"
    assert add(store, b"two").revision == "2"


@pytest.mark.parametrize("make", [an_empty_file, a_database_of_something_else])
def test_a_new_process_takes_no_database_without_tables_for_the_one_that_the_root_had(store, marked, path, make):
    store.close()
    path.unlink()
    make(path)
    new = marked()
    for name in ("read", "commit", "mend"):
        with pytest.raises(StoreError) as caught:
            USES[name](new)
        assert caught.value.code == "database_gone"


def test_a_copy_of_the_same_store_is_taken_by_the_next_process_if_nothing_acknowledged_is_missing(
    store, marked, path, tmp_path
):
    add(store, b"later")
    new = tmp_path / "copy.db"
    copied(path, new)
    move(path, tmp_path / "aside")
    shutil.copy(new, path)
    with pytest.raises(StoreError) as caught:
        add(store, b"never")
    assert caught.value.code == "other_database"
    after = marked()
    assert add(after, b"three").revision == "3"
    assert after.verify() == []


def test_an_older_copy_is_taken_only_if_somebody_says_so(store, marked, path, tmp_path):
    new = tmp_path / "copy.db"
    copied(path, new)
    add(store, b"later")
    store.close()
    shutil.copy(new, path)
    after = marked()
    for use in (USES[name] for name in USES if name != "mend"):
        with pytest.raises(DamagedError, match="1 acknowledged revision is not in the database"):
            use(after)
    assert path.read_bytes() == new.read_bytes()
    assert "taken as it is" in after.mend()[0]
    assert add(after, b"two").revision == "2"
    assert after.verify() == []


def test_another_store_is_taken_by_a_new_process_only_if_somebody_says_so(store, marked, path):
    store.close()
    path.unlink()
    another_store(path)
    after = marked()
    for name in ("read", "commit"):
        with pytest.raises(StoreError) as caught:
            USES[name](after)
        assert caught.value.code == "other_database"
    assert "taken as it is" in after.mend()[0]
    assert after.read(USER).data.count(b"theirs") == 1
    assert add(after, b"two").revision == "2"


def test_a_write_during_which_it_went_away_is_not_acknowledged_and_made_once(store, path, tmp_path):
    backs = []

    def update(now):
        backs.append(move(path, tmp_path / "aside"))
        return now.data + b"\n## B\ntwo\n"

    with pytest.raises(StoreError) as caught:
        store.commit(USER, None, update, Change(op_id="mine"))
    assert caught.value.code == "database_gone"
    assert "'mine'" in caught.value.hint
    backs[0]()
    done = store.commit(USER, None, lambda now: now.data + b"\n## B\ntwo\n", Change(op_id="mine"))
    assert done.revision == "2"


def test_what_stands_in_the_log_is_there_again_though_another_program_began_the_place_anew(store, path, tmp_path):
    back = move(path, tmp_path / "aside", alone=True)
    with closing(sqlite3.connect(path)) as made:  # SQLite removes the log as it finds an empty database beside it
        made.execute("CREATE TABLE facts (fact TEXT)")
    with pytest.raises(StoreError, match="another"):
        store.read(USER)
    path.unlink()
    back()
    assert store.read(USER).revision == "1"
    with pytest.raises(StoreError, match="write-ahead log"):
        add(store, b"two")
    store.close()
    assert add(store, b"two").revision == "2"
    assert store.verify() == []


def test_a_root_that_cannot_say_what_it_had_is_not_taken_for_new(store, marked, path):
    store.close()
    path.unlink()
    mark_of(path).write_text("{")
    with pytest.raises(UnreadableError, match="which revisions"):
        marked().peek(USER)
    assert not path.exists()


def test_a_mistyped_store_begins_no_other_database(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [talk]\nwritable_categories: [talk]\n")
    put(tmp_path / "catmem.yaml", "store: sqlite:///.catmem/memory.db\n")
    run("add", "-p", "neo", "-c", "talk", "Likes tables.")
    put(tmp_path / "catmem.yaml", "store: sqlite:///.catmem/memry.db\n")
    before = files(tmp_path / ".catmem" / "memory.db")
    for words in (["prompt", "neo"], ["list", "-p", "neo"], ["add", "-p", "neo", "-c", "talk", "x"]):
        said = run(*words, status=4).stderr
        assert "the memory of this root was in another one" in said
        assert "memory.db, which lies beside it, is one." in said
    assert not (tmp_path / ".catmem" / "memry.db").exists()
    assert files(tmp_path / ".catmem" / "memory.db") == before
    mark_of(tmp_path / "memory.db").unlink()
    assert "No entries" in run("list", "-p", "neo").stderr  # as the hint says, this root begins anew
