"""The versions of the tables, and what is in the way of them."""

import re

import pytest
from sqlalchemy.dialects import postgresql, sqlite

from catmem.errors import StoreError
from catmem.model.document import parse
from catmem.plugins.sql.sql_store import SqlStore
from catmem.plugins.sql.tables import SCHEMA_VERSION, definitions
from catmem.store.contract import Change
from catmem.workspace.rows import RowCodec

USER = "trinity/user"


def add(store, line=b"## A\nx\n"):
    return store.commit(USER, None, lambda current: current.data + line, Change())


def version_1(client):
    """Make the tables as version 1 had them: without the day of the last write, and with one op_id for all agents."""
    dialect = (sqlite if client.kind == "sqlite" else postgresql).dialect()
    for statement in definitions(dialect):
        client.run(re.sub(r",\s*updated_at TEXT|(?<=UNIQUE \(entity, )agent, ", "", statement))
    client.run("INSERT INTO catmem_schema (version, store) VALUES (1, 'a name')")


def columns(client):
    return [each[0] for each in client._connection.execute("SELECT * FROM memory_meta").description]


def test_reading_makes_no_tables_and_no_file(store, client, tmp_path):
    assert store.peek(USER) == b""
    assert list(store.log(USER)) == list(store.entities()) == list(store.branches(USER)) == store.verify() == []
    assert list(store.anchors()) == []
    assert list(tmp_path.glob("*.db*")) == []
    with pytest.raises(Exception, match=r"no such table|does not exist"):
        client.run("SELECT * FROM user_memories")


def test_tables_of_version_1_are_read_as_they_are_and_brought_here_by_a_write(store, client):
    version_1(client)
    assert store.peek(USER) == b""
    assert client.run("SELECT version FROM catmem_schema") == [(1,)]
    assert "updated_at" not in columns(client)
    add(store)
    assert client.run("SELECT version, store FROM catmem_schema") == [(SCHEMA_VERSION, "a name")]
    ((said,),) = client.run("SELECT updated_at FROM memory_meta")
    assert said == store.head(USER).timestamp
    for agent in ("neo", "boss"):
        store.commit(USER, None, lambda current: current.data + b"\n\xc2\xa7\ny\n", Change(agent=agent, op_id="op-1"))
    assert [(each.agent, each.op_id) for each in store.log(USER)][:2] == [("boss", "op-1"), ("neo", "op-1")]
    assert store.verify() == []


@pytest.mark.parametrize("act", [lambda store: store.peek(USER), add, lambda store: list(store.log(USER))])
def test_tables_of_a_newer_catmem_are_not_touched(store, client, url, folder, act):
    add(store)
    client.run("UPDATE catmem_schema SET version = version + 1")
    before = client.run("SELECT * FROM memory_meta")
    newer = SqlStore(url, RowCodec(parse), folder=folder)
    with pytest.raises(StoreError) as caught:
        act(newer)
    newer.close()
    assert caught.value.code == "newer_schema"
    assert "Nothing was touched" in caught.value.hint
    assert client.run("SELECT * FROM memory_meta") == before
