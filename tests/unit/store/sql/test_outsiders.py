"""What a direct SQL client does to the rows: seen at once, taken in first, refused where it must be, never lost."""

import json

import pytest

from catmem.errors import DriftError
from catmem.model.document import parse
from catmem.plugins.sql.sql_store import SqlStore
from catmem.store.contract import EXTERNAL
from catmem.workspace.rows import RowCodec
from tests.unit.store.sql.writes import USER, add, bodies, put

TEXT = b"## Rules\n[created: 2026-11-21] one\n\xc2\xa7\ntwo\n\n## Projects\nthree\n"


def copies(folder):
    return [json.loads(path.read_text()) for path in sorted(folder.glob("memory.bak.*.json"))]


INSERT = "INSERT INTO user_memories (entity, category, content) VALUES ('trinity/user', 'rules', 'theirs')"
CHANGES = {
    "insert": (INSERT, ["one", "two", "theirs", "three"]),
    "insert of a new category": (INSERT.replace("'rules'", "'Big Plans'"), ["one", "two", "three", "theirs"]),
    "update of a text": ("UPDATE user_memories SET content = 'new' WHERE content = 'two'", ["one", "new", "three"]),
    "delete": ("DELETE FROM user_memories WHERE content = 'one'", ["two", "three"]),
    "delete of all": ("DELETE FROM user_memories", []),
    "move to another category": (
        "UPDATE user_memories SET category = 'projects' WHERE content = 'one'",
        ["two", "three", "one"],
    ),
    "insert before the first": (
        INSERT.replace("content)", "content, position)").replace("'theirs')", "'theirs', 1)"),
        ["one", "two", "theirs", "three"],
    ),
    "insert between": (
        INSERT.replace("content)", "content, position)").replace("'theirs')", "'theirs', 1500000000)"),
        ["one", "theirs", "two", "three"],
    ),
    "another order": ("UPDATE user_memories SET position = 1 WHERE content = 'two'", ["two", "one", "three"]),
    "tags": ("""UPDATE user_memories SET tags = '{"domain": ["it"]}' WHERE content = 'two'""", ["one", "two", "three"]),
}


@pytest.mark.parametrize(("statement", "after"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_read_at_once_and_recorded_by_the_next_write(store, client, statement, after):
    put(store, TEXT)
    client.run(statement)
    read = store.read(USER)
    assert read.revision is None
    assert bodies(store) == after
    done = add(store, b"\n\xc2\xa7\nmine\n")
    assert (done.revision, done.adopted) == ("3", "2")
    assert bodies(store) == [*after, "mine"]
    assert store.read(USER, "2").data == read.data
    assert [(each.op, each.agent) for each in store.log(USER)] == [
        ("put", "person"),
        ("adopt", EXTERNAL),
        ("put", "person"),
    ]
    assert store.verify() == []


# --- who may go on ---


SET_BACK = {
    "tier": "UPDATE user_memories SET tier = 3",
    "title": "UPDATE user_memories SET title = 'Laws' WHERE category = 'rules'",
    "mark": "UPDATE user_memories SET mark = 'x' WHERE content = 'two'",
    "created_at": "UPDATE user_memories SET created_at = NULL WHERE content = 'one'",
}


@pytest.mark.parametrize("column", SET_BACK)
def test_a_change_of_a_column_that_is_derived_is_drift_too(url, client, folder, column, caplog):
    store = SqlStore(url, RowCodec(parse, lambda _: 2), folder=folder)
    put(store, TEXT)
    before = client.run("SELECT title, tier, created_at, mark FROM user_memories ORDER BY position")
    client.run(SET_BACK[column])
    assert [fault.code for fault in store.verify()] == ["changed_outside"]
    with pytest.raises(DriftError) as caught:
        add(store, b"", on_drift="refuse")
    assert caught.value.found == "2"
    assert caught.value.drift_backup is not None
    assert f"({column} is set back)" in caplog.text
    head = store.head(USER)
    assert (head.agent, head.note["set_back"], store.read(USER, "2").data) == (EXTERNAL, [column], TEXT)
    assert client.run("SELECT title, tier, created_at, mark FROM user_memories ORDER BY position") == before
    assert add(store, b"").adopted is None
    assert store.verify() == []
    store.close()


# --- rows that are no entries ---

BAD = {
    "tags that are no JSON": ("UPDATE user_memories SET tags = '{oops'", "sqlite"),
    "tags that are no object": ("UPDATE user_memories SET tags = '[1]'", ""),
    "no content": ("UPDATE user_memories SET content = ' ', tags = '{}'", ""),
    "no category": ("UPDATE user_memories SET category = '!!!'", ""),
    "a NUL": ("UPDATE user_memories SET content = 'a' || char(0) || 'b'", "sqlite"),
    "not UTF-8": ("UPDATE user_memories SET content = CAST(x'ff41' AS TEXT)", "sqlite"),
    "bytes": ("UPDATE user_memories SET content = x'ff41'", "sqlite"),
    "bytes for a title": ("UPDATE user_memories SET title = x'ff41'", "sqlite"),
    "a NUL in a date": ("UPDATE user_memories SET created_at = 'a' || char(0)", "sqlite"),
    "tags with a lone surrogate": (r"""UPDATE user_memories SET tags = '{"a": "\ud800"}'""", ""),
    "the name of a tag with a lone surrogate": (r"""UPDATE user_memories SET tags = '{"\udfff": "a"}'""", ""),
    "tags with a NUL": (r"""UPDATE user_memories SET tags = '{"a": ["b", "\u0000"]}'""", ""),
    "tags with a number": ("""UPDATE user_memories SET tags = '{"a": 1e999}'""", ""),
    "tags with a huge number": (f"""UPDATE user_memories SET tags = '{{"a": {"9" * 6000}}}'""", ""),  # noqa: S608 - a test
    "tags with NaN": ("""UPDATE user_memories SET tags = '{"a": NaN}'""", "sqlite"),
    "nested tags": ("""UPDATE user_memories SET tags = '{"a": {"b": "c"}}'""", ""),
    "deeply nested tags": (f"UPDATE user_memories SET tags = '{'[' * 3000}{']' * 3000}'", "sqlite"),  # noqa: S608 - a test
    "more than a file may hold": (
        "UPDATE user_memories SET content = replace(hex(zeroblob(6000000)), '00', 'abc')",
        "sqlite",
    ),
}


@pytest.mark.parametrize(("statement", "only"), BAD.values(), ids=BAD)
def test_rows_that_are_no_entries_are_refused_until_they_are_mended(store, client, folder, statement, only):
    if only and client.kind != only:
        pytest.skip(f"{client.kind} refuses this by itself")
    put(store, TEXT)
    client.run(f"{statement} WHERE content = 'two'")
    assert bodies(store) == ["one", "two", "three"]
    assert [(fault.code, fault.path) for fault in store.verify()] == [("bad_rows", f"{client.kind}:{USER}")]
    for _ in range(2):
        with pytest.raises(DriftError) as caught:
            add(store, b"mine\n")
        assert caught.value.code == "bad_rows"
        assert caught.value.drift_backup
    assert len(copies(folder)) == 1
    assert len(list(store.log(USER))) == 1
    client.run(
        "UPDATE user_memories SET content = 'mended', tags = '{}', category = 'rules', title = NULL, created_at = NULL "
        "WHERE id = 2"
    )
    assert add(store, b"").adopted == "2"
    assert bodies(store) == ["one", "mended", "three"]
