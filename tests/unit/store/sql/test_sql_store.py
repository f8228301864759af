"""Which rows a commit writes, and what looking over, mending and forgetting do to a database."""

import pytest

from catmem.errors import DamagedError
from catmem.plugins.sql import sql_upkeep
from catmem.plugins.sql.connections import Database
from tests.erasures import erasure_of
from tests.unit.store.sql.writes import USER, put

SECRET = b"hunter2"


def text(*bodies):
    return ("## Rules\n" + "\n§\n".join(bodies) + "\n").encode()


def contents(client):
    return [content for (content,) in client.run("SELECT content FROM user_memories ORDER BY position, id")]


def test_positions_find_room_however_often_something_comes_between_the_same_two(store, client):
    bodies = ["first", "last"]
    put(store, text(*bodies))
    for number in range(80):
        bodies.insert(1, f"entry {number}")
        put(store, text(*bodies))
    assert contents(client) == bodies
    assert store.verify() == []


def test_a_text_that_no_row_can_show_has_no_rows_and_keeps_its_bytes(store, client):
    for data in (b"\xff\xfe", b"a\x00b\n"):
        put(store, data)
        assert contents(client) == []
        assert store.read(USER).data == data
        assert store.verify() == []
    put(store, text("a"))
    assert contents(client) == ["a"]


def test_reading_makes_no_tables_and_no_file(store, client, tmp_path):
    assert store.peek(USER) == b""
    assert list(store.log(USER)) == list(store.entities()) == list(store.branches(USER)) == store.verify() == []
    assert list(store.anchors()) == []
    assert list(tmp_path.glob("*.db*")) == []
    with pytest.raises(Exception, match=r"no such table|does not exist"):
        client.run("SELECT * FROM user_memories")


# --- looking over, mending, forgetting ---


def filled(store, number=70):
    for count in range(number):
        put(store, b"## A\nfact %d\n\xc2\xa7\n%s\n" % (count, SECRET if 10 < count < 60 else b"plain"))
    put(store, b"## A\nbranch hunter2\n", "30", on_stale="branch")
    put(store, b"## A\nlast\n")


def redact(data):
    return data.replace(SECRET, b"*")


TAMPERING = {
    "a text": ("UPDATE mem_log SET data = '!' WHERE sequence = 5", "log_damaged"),
    "other bytes": ("UPDATE mem_log SET data = '\\x21' WHERE sequence = 5", "log_damaged"),
    "an agent": ("UPDATE mem_log SET agent = 'somebody' WHERE sequence = 5", "log_damaged"),
    "a record that is gone": ("DELETE FROM mem_log WHERE sequence = 5", "log_damaged"),
    "a tail that is gone": ("DELETE FROM mem_log WHERE sequence > 60", "log_end"),
    "a branch that is gone": ("UPDATE memory_meta SET branches = '[]'", "branches_differ"),
    "rows that nothing counted": ("UPDATE memory_meta SET recorded = generation + 1, generation = generation + 1", ""),
}


@pytest.mark.parametrize(("statement", "code"), TAMPERING.values(), ids=TAMPERING)
def test_tampering_is_found(store, client, statement, code):
    filled(store)
    assert store.verify() == []
    client.run(statement)
    assert [fault.code for fault in store.verify()] == ([code] if code else [])


@pytest.mark.parametrize("said", ["agent = 'me'", "note = '{\"a\": 1}'", "timestamp = 'long ago'", "chain = ''"])
def test_no_write_is_made_on_a_record_that_somebody_changed(store, opened, url, client, said):
    put(store, b"## A\nfirst\n")
    put(store, b"## A\nsecond\n")
    client.run(f"UPDATE mem_log SET {said} WHERE sequence = 2")  # noqa: S608 - our own words
    another = opened(url)
    with pytest.raises(DamagedError, match="record 2 of trinity/user"):
        put(another, b"## A\nthird\n")
    assert another.peek(USER) == b"## A\nsecond\n"
    assert len(list(another.log(USER))) == 2


def test_erased_text_is_nowhere_and_the_log_still_verifies(store, client, folder, tmp_path):
    filled(store)
    client.run("UPDATE user_memories SET content = 'theirs hunter2'")
    put(store, b"## A\nlast\n")
    before = [(recorded.revision, redact(data)) for recorded, data in store.replay(USER)]
    erased = store.erase(USER, erasure_of(redact))
    assert erased.revisions == 51
    assert [(recorded.revision, data) for recorded, data in store.replay(USER)] == before
    assert store.verify() == []
    assert list(folder.glob("memory.bak.*")) == []
    assert put(store, b"## A\nnext\n").revision == "74"
    if client.kind == "sqlite":
        client.close()
        store.close()
        assert [path.name for path in tmp_path.glob("memory.db*") if SECRET in path.read_bytes()] == []
        assert erased.left == ()
    else:
        assert [str(left.path) for left in erased.left] == [f"postgresql:{USER}"]


def test_copies_are_kept_within_bounds_and_the_newest_always(store, client, folder, monkeypatch):
    def changed(count):
        for number in range(count):
            client.run(f"UPDATE user_memories SET content = 'theirs {number}'")  # noqa: S608 - a test
            put(store, b"## A\n%d\n" % number)
        return len(list(folder.glob("memory.bak.*.json")))

    put(store, b"## A\none\n")
    monkeypatch.setattr(sql_upkeep, "KEPT", 6)
    assert changed(9) == 6
    monkeypatch.setattr(sql_upkeep, "KEPT_FOR", -1)
    assert changed(1) == 1
    assert any("theirs 0" in path.read_text() for path in folder.glob("memory.bak.*.json"))


# --- connections that go from one to the next ---


@pytest.fixture
def database(url):
    opened = Database(url, timeout=0.2)
    yield opened
    opened.close()


def test_what_nobody_ended_does_not_go_on_in_the_next_transaction(database):
    with database.writing() as link:
        link.text("CREATE TABLE facts (fact INTEGER)")
    with database.looking() as link:
        link.text("BEGIN")
        link.text("INSERT INTO facts VALUES (1)")
    with database.writing() as link:
        link.text("INSERT INTO facts VALUES (2)")
    with database.looking() as link:
        assert [tuple(row) for row in link.text("SELECT fact FROM facts")] == [(2,)]
