"""Rows that somebody changes while nothing counts it: the triggers are gone, or switched off."""

import re

import pytest

from catmem.errors import StoreError
from catmem.store.contract import EXTERNAL, Change
from tests.unit.store.sql.clients import Client
from tests.unit.store.sql.writes import USER, add, bodies, put

TEXT = b"## Rules\none\n\xc2\xa7\ntwo\n\n## Projects\nthree\n"


class Silent(Client):
    """Nothing counts its changes, though the triggers are there."""

    def run(self, statement):
        if self.kind == "postgresql":
            super().run("SET session_replication_role = replica")
            return super().run(statement)
        found = super().run(statement)
        super().run("UPDATE memory_meta SET generation = recorded")
        super().run("DELETE FROM memory_meta WHERE sequence = 0")
        return found


@pytest.fixture
def silent(url):
    opened = Silent(url)
    yield opened
    opened.close()


def without_triggers(client):
    if client.kind == "postgresql":
        for (name,) in client.run("SELECT tgname FROM pg_trigger WHERE tgrelid = 'user_memories'::regclass"):
            client.run(f"DROP TRIGGER {name} ON user_memories")
    else:
        for (name,) in client.run("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            client.run(f"DROP TRIGGER {name}")


def swap(store, old, new):
    return store.commit(USER, None, lambda now: now.data.replace(old, new), Change())


INSERT = "INSERT INTO user_memories (entity, position, category, content) VALUES ('trinity/user', 5, 'rules', 'theirs')"
SILENT = {
    "an update of the row": ("UPDATE user_memories SET content = 'theirs' WHERE content = 'two'", b"two"),
    "tags of the row": ("""UPDATE user_memories SET tags = '{"domain": "theirs"}' WHERE content = 'two'""", b"two"),
    "a row before it": (INSERT, b"two"),
    "a row before the first": (INSERT, b"one"),
    "a row that went": ("DELETE FROM user_memories WHERE content = 'one'", b"two"),
    "another order": ("UPDATE user_memories SET position = 5 WHERE content = 'two'", b"two"),
}


@pytest.mark.parametrize("new", [b"mine", b""], ids=["overwrite", "delete"])
@pytest.mark.parametrize(("statement", "touched"), SILENT.values(), ids=SILENT)
def test_a_write_never_overwrites_what_nobody_counted(store, silent, statement, touched, new):
    put(store, TEXT)
    silent.run(statement)
    swap(store, touched + b"\n", new + b"\n" if new else b"")
    log = [(each.op, each.agent, each.revision) for each in store.log(USER)]
    assert ("adopt", EXTERNAL, "2") in log
    theirs = store.read(USER, "2").data
    assert b"theirs" in theirs or "theirs" not in statement
    assert store.verify() == []


def test_a_write_beside_it_leaves_it_there_and_a_repair_takes_it_in(store, silent):
    put(store, TEXT)
    silent.run(INSERT)
    swap(store, b"three\n", b"three\n\xc2\xa7\nfour\n")
    assert [fault.code for fault in store.verify()] == ["rows_differ"]
    assert store.mend() != []
    assert store.verify() == []
    assert sorted(bodies(store)) == ["four", "one", "theirs", "three", "two"]


def test_rows_of_an_entity_that_nothing_ever_counted_are_counted_from_a_repair_on(store, silent):
    put(store, TEXT)
    silent.run(INSERT.replace("trinity", "neo"))
    assert [fault.path for fault in store.verify()] == [f"{silent.kind}:neo/user"]
    assert store.mend() == ["neo/user: its rows are counted from now on"]
    assert b"theirs" in store.peek("neo/user")
    assert [fault.code for fault in store.verify() if fault.damage] == []
    assert store.mend() == []


# --- triggers that are gone ---


@pytest.fixture(params=["the same store", "another store"])
def later(request, store, opened, url, folder):
    """The store that comes upon the missing triggers, which may have the database open already."""
    return store if request.param == "the same store" else opened(url, folder=folder)


def test_missing_triggers_are_told_and_rows_are_read_as_they_are(store, later, client):
    put(store, TEXT)
    assert store.verify() == []
    without_triggers(client)
    client.run(INSERT)
    assert "theirs" in bodies(later)
    assert "not_counted" in [fault.code for fault in later.verify()]


@pytest.mark.parametrize("act", [lambda store: swap(store, b"three", b"mine"), lambda store: store.mend()])
def test_missing_triggers_are_made_again_and_what_was_changed_meanwhile_is_taken_in(store, later, client, folder, act):
    put(store, TEXT)
    store.commit("neo/user", None, lambda _: TEXT, Change())
    without_triggers(client)
    client.run("UPDATE user_memories SET content = 'theirs' WHERE content = 'three'")
    act(later)
    log = [(each.op, each.agent) for each in later.log(USER)]
    assert ("adopt", EXTERNAL) in log
    assert b"theirs" in later.read(USER, "2").data
    assert b"theirs" in later.read("neo/user").data
    assert any("theirs" in path.read_text() for path in folder.glob("memory.bak.*.json"))
    client.run("UPDATE user_memories SET content = 'again' WHERE content = 'one'")
    assert "again" in bodies(later)
    assert [fault.code for fault in later.verify() if fault.damage] == []


# --- another schema, perhaps since the store was opened ---


NEWER, OLDER = "UPDATE catmem_schema SET version = version + 1", "UPDATE catmem_schema SET version = version - 1"


@pytest.mark.parametrize("change", [NEWER, OLDER], ids=["newer", "older"])
@pytest.mark.parametrize("act", [add, bodies])
def test_tables_of_another_version_are_not_touched(store, later, opened, client, url, act, change):  # noqa: PLR0917 - fixtures
    put(store, TEXT)
    client.run(change)
    before = client.run("SELECT * FROM user_memories"), client.run("SELECT * FROM memory_meta")
    with pytest.raises(StoreError) as caught:
        act(later)
    assert caught.value.code == "other_schema"
    assert "Nothing was touched" in caught.value.hint
    with pytest.raises(StoreError):
        list(opened(url).log(USER))
    assert (client.run("SELECT * FROM user_memories"), client.run("SELECT * FROM memory_meta")) == before


# --- what the function of PostgreSQL's triggers may do ---


@pytest.fixture
def guest(store, client, url):
    """A client with rights on the rows alone."""
    if client.kind != "postgresql":
        pytest.skip("SQLite has no roles")
    put(store, TEXT)
    client.run("DROP ROLE IF EXISTS catmem_guest")
    client.run("CREATE ROLE catmem_guest LOGIN PASSWORD 'guest'")
    client.run("GRANT SELECT, INSERT, UPDATE, DELETE ON user_memories TO catmem_guest")
    opened = Client(re.sub(r"//[^@]*@", "//catmem_guest:guest@", url))
    yield opened
    opened.close()
    client.run("DROP OWNED BY catmem_guest")
    client.run("DROP ROLE catmem_guest")


def test_a_temporary_table_does_not_take_the_place_of_the_count(store, guest):
    guest.run("CREATE TEMP TABLE memory_meta (entity text PRIMARY KEY, generation bigint DEFAULT 0)")
    guest.run("GRANT ALL ON memory_meta TO PUBLIC")
    guest.run("UPDATE user_memories SET content = 'theirs' WHERE content = 'two'")
    assert bodies(store) == ["one", "theirs", "three"]
    assert guest.run("SELECT * FROM memory_meta") == []


def test_nobody_else_may_hang_the_function_on_a_table_of_their_own(guest):
    guest.run("CREATE TEMP TABLE user_memories (entity text)")
    with pytest.raises(Exception, match="permission denied for function"):
        guest.run("CREATE TRIGGER x AFTER TRUNCATE ON user_memories EXECUTE FUNCTION public.catmem_count()")
