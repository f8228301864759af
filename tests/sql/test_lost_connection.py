"""A connection is cut at every place of a commit: nothing is half applied, and a retry makes the write exactly once."""

from itertools import product

import pytest

from catmem.errors import StoreError
from catmem.jsonable import jsonable
from catmem.store.contract import Change
from tests.sql import server
from tests.sql.proxy import WHERE, Cut, proxied
from tests.store.stores import sql_store

pytestmark = pytest.mark.postgresql

ENTITY = "trinity/user"
BEFORE = [b"one\n", b"one\n\xc2\xa7\ntwo\n"]
CODES = {"connection_lost", "not_available"}
"""What somebody may be told whose connection was cut."""


@pytest.fixture
def url():
    return server.url("cut")


@pytest.fixture
def proxy(url):
    with proxied(url) as made:
        yield made


@pytest.fixture
def store(proxy, tmp_path):
    """A store with some revisions, behind the proxy. It gives up soon, so that a cut shows."""
    made = sql_store(proxy.url, tmp_path, timeout=0.2)
    for data in BEFORE:
        put(made, data)
    yield made
    made.close()


@pytest.fixture
def witness(url, tmp_path):
    """A store on the same database that is not behind the proxy."""
    made = sql_store(url, tmp_path)
    yield made
    made.close()


def put(store, data, **said):
    return store.commit(ENTITY, None, lambda _: data, Change(**said))


def put_at_last(store, data, op_id):
    for _ in range(20):
        try:
            return put(store, data, op_id=op_id, request="r")
        except StoreError as error:
            assert error.code in CODES
    raise AssertionError("no answer")


def is_whole(store):
    replay = list(store.replay(ENTITY))
    assert [revision.revision for revision, _ in replay] == [str(number) for number in range(1, len(replay) + 1)]
    assert store.peek(ENTITY) == replay[-1][1]
    return [fault.message for fault in store.verify()] == []


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("where", WHERE)
def test_a_commit_that_is_cut_off_says_that_nobody_knows(store, proxy, witness, where, torn):
    proxy.cut(Cut(where, word=b"COMMIT", torn=torn))
    with pytest.raises(StoreError) as caught:
        put(store, b"three\n", op_id="mine", request="r")
    assert proxy.cuts == 1
    assert caught.value.code == "connection_lost"
    assert "'mine'" in caught.value.hint
    assert server.server().split("@")[0].rsplit(":", 1)[1] not in str(jsonable(caught.value))
    answer = put(store, b"three\n", op_id="mine", request="r")
    assert (answer.data, answer.revision) == (b"three\n", "3")
    assert [revision.op_id for revision, _ in witness.replay(ENTITY)].count("mine") == 1
    assert is_whole(witness)


@pytest.mark.parametrize("where", WHERE)
def test_wherever_it_is_cut_off_a_retry_makes_it_exactly_once(store, proxy, witness, where):
    made, at, cuts = len(BEFORE), 0, 1
    while cuts:  # until a commit has no more requests than that
        at, made = at + 1, made + 1
        proxy.cut(Cut(where, at))
        data, op_id = f"cut {where} {at}\n".encode(), f"cut-{at}"
        answer = put_at_last(store, data, op_id)
        assert (answer.data, answer.revision) == (data, str(made))
        assert [revision.op_id for revision, _ in witness.replay(ENTITY)].count(op_id) == 1
        cuts = proxy.cuts
    assert at > 5
    assert is_whole(witness)


@pytest.mark.parametrize("where", WHERE)
def test_a_caller_without_an_op_id_finds_out_by_reading(store, proxy, where):
    proxy.cut(Cut(where, word=b"COMMIT"))
    with pytest.raises(StoreError, match="very moment of a commit"):
        put(store, b"three\n")
    assert store.read(ENTITY).data in {BEFORE[-1], b"three\n"}
    assert is_whole(store)


def test_a_read_that_is_cut_off_is_made_again(proxy, url, tmp_path):
    writer, reader = sql_store(url, tmp_path), sql_store(proxy.url, tmp_path)
    put(writer, BEFORE[0])
    reader.read(ENTITY)
    for where, torn in product(WHERE, (False, True)):
        put(writer, f"{where} {torn}".encode())
        proxy.cut(Cut(where, 1, torn=torn))
        assert reader.read(ENTITY).data == f"{where} {torn}".encode()
        assert proxy.cuts == 1
    writer.close()
    reader.close()


def test_connections_that_the_server_ended_while_they_were_idle_are_not_used_again(tmp_path):
    with server.private(durable=False) as mine:
        store = sql_store(server.fresh_on(mine.url(), "idle"), tmp_path, timeout=0.2)
        works = {
            "head": lambda: store.head(ENTITY),
            "bring": lambda: store.import_history("neo/user", list(store.replay(ENTITY))),
            "read": lambda: store.read(ENTITY),
            "commit": lambda: put(store, BEFORE[1]),
        }
        put(store, BEFORE[0])
        for work in works.values():
            mine.stop()
            mine.start()
            work()
        assert (store.head(ENTITY).revision, store.head("neo/user").revision) == ("2", "1")
        store.close()
