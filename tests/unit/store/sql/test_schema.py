"""The version of the tables, and what is in the way of them."""

import pytest

from catmem.errors import StoreError
from catmem.model.document import parse
from catmem.plugins.sql.sql_store import SqlStore
from catmem.store.contract import Change
from catmem.workspace.rows import RowCodec

USER = "trinity/user"


def add(store, line=b"## A\nx\n"):
    return store.commit(USER, None, lambda current: current.data + line, Change())


def test_reading_makes_no_tables_and_no_file(store, client, tmp_path):
    assert store.peek(USER) == b""
    assert list(store.log(USER)) == list(store.entities()) == list(store.branches(USER)) == store.verify() == []
    assert list(store.anchors()) == []
    assert list(tmp_path.glob("*.db*")) == []
    with pytest.raises(Exception, match=r"no such table|does not exist"):
        client.run("SELECT * FROM user_memories")


@pytest.mark.parametrize("act", [lambda store: store.peek(USER), add, lambda store: list(store.log(USER))])
def test_tables_of_another_version_are_not_touched(store, client, url, folder, act):
    add(store)
    client.run("UPDATE catmem_schema SET version = version - 1")
    before = client.run("SELECT * FROM memory_meta")
    other = SqlStore(url, RowCodec(parse), folder=folder)
    with pytest.raises(StoreError) as caught:
        act(other)
    other.close()
    assert caught.value.code == "other_schema"
    assert "Nothing was touched" in caught.value.hint
    assert client.run("SELECT * FROM memory_meta") == before
