"""Looking over, mending, anchoring and forgetting."""

import pytest

from catmem.errors import DamagedError
from catmem.model.document import parse
from catmem.plugins.sql.sql_store import SqlStore
from catmem.store import table_rows
from catmem.store.contract import Change
from catmem.workspace.rows import RowCodec
from tests.erasures import erasure_of

USER = "trinity/user"
SECRET = b"hunter2"


def put(store, data, expected=None, **change):
    return store.commit(USER, expected, lambda _: data, Change(**change))


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
def test_no_write_is_made_on_a_record_that_somebody_changed(store, url, client, said):
    put(store, b"## A\nfirst\n")
    put(store, b"## A\nsecond\n")
    client.run(f"UPDATE mem_log SET {said} WHERE sequence = 2")  # noqa: S608 - our own words
    another = SqlStore(url, RowCodec(parse))
    with pytest.raises(DamagedError, match="record 2 of trinity/user"):
        another.commit(USER, None, lambda _: b"## A\nthird\n", Change())
    assert another.peek(USER) == b"## A\nsecond\n"
    assert len(list(another.log(USER))) == 2
    another.close()


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
    monkeypatch.setattr(table_rows, "KEPT", 6)
    assert changed(9) == 6
    monkeypatch.setattr(table_rows, "KEPT_FOR", -1)
    assert changed(1) == 1
    assert any("theirs 0" in path.read_text() for path in folder.glob("memory.bak.*.json"))
