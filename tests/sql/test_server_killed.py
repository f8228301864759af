"""The PostgreSQL server is killed, all of it, at a chosen moment of a write: through library, command line and server.

What was acknowledged is there, and a retry with the same ``op_id`` makes the write once. While the server is away that is
told, and nobody has to be started again when it is back.
"""

import json
import threading

import pytest

from catmem.errors import StoreError
from catmem.jsonable import jsonable
from catmem.store.contract import Change
from tests.commands import catmem
from tests.end_to_end.test_serve import serving
from tests.envelopes import make_files
from tests.sql import server
from tests.sql.proxy import WHERE, Cut, proxied
from tests.store.stores import sql_store

pytestmark = pytest.mark.postgresql

CODES = {"connection_lost", "not_available"}
ENTITY = "neo/user"


def in_commit(where):
    """In the commit of a write; those of a look come before."""
    return Cut(where, word=b"COMMIT", since=b"INSERT INTO mem_log")


@pytest.fixture(scope="module")
def mine():
    """A server of these tests alone. What it was told to keep survives its processes, without waiting for the disk."""
    with server.private(durable=False) as made:
        yield Mortal(made)


class Mortal:
    """A server that a proxy kills, and a test starts again."""

    def __init__(self, running):
        self.running = running
        self.password = running.password
        self._is_dead = threading.Event()

    def kill(self):
        self.running.kill()
        self._is_dead.set()

    def wait(self):
        """Wait until it is dead: a client hears of it while its last processes end."""
        assert self._is_dead.wait(60)

    def start(self):
        self.wait()
        self._is_dead.clear()
        self.running.start()


@pytest.fixture
def url(mine):
    return server.fresh_on(mine.running.url(), "killed")


@pytest.fixture
def proxy(mine, url):
    with proxied(url) as made:
        made.at_cut = mine.kill
        yield made
        if mine.running.process is None:
            mine.start()


@pytest.fixture
def witness(url, tmp_path):
    made = sql_store(url, tmp_path)
    yield made
    made.close()


def op_ids(witness):
    assert [fault.message for fault in witness.verify()] == []
    return [revision.op_id for revision, _ in witness.replay(ENTITY)]


# --- the library ---------------------------------------------------------------------------------------------------


def put(store, text, op_id):
    return store.commit(ENTITY, None, lambda now: now.data + text.encode() + b"\n", Change(op_id=op_id, request=op_id))


def kill_during(store, proxy, mine, cut, op_id):
    """Write, with the server killed on the way; then again when it is back. Returns whether the way was long enough."""
    proxy.cut(cut)
    try:
        put(store, op_id, op_id)
    except StoreError as error:
        assert error.code in CODES
        assert mine.password not in str(jsonable(error))
        mine.wait()
        with pytest.raises(StoreError) as caught:
            store.read(ENTITY, "1")
        assert caught.value.code == "not_available"
    if not proxy.cuts:
        return False
    mine.start()
    proxy.cut(None)
    assert op_id.encode() in put(store, op_id, op_id).data
    return True


def test_wherever_it_is_killed_the_library_writes_exactly_once(mine, proxy, witness, tmp_path):
    store = sql_store(proxy.url, tmp_path, timeout=0.2)
    written = ["first", "second"]
    for each in written:
        put(store, each, each)
    cuts = [in_commit(where) for where in WHERE] + [Cut("unseen", at) for at in range(1, 20)]
    for number, cut in enumerate(cuts):
        written.append(f"cut-{number}")
        if not kill_during(store, proxy, mine, cut, written[-1]):
            break
    assert len(written) > 2 + len(WHERE) + 4
    assert op_ids(witness) == written
    store.close()


# --- the command line ----------------------------------------------------------------------------------------------


@pytest.fixture
def root(proxy, tmp_path):
    """A root in the database behind the proxy, in which something was written."""
    make_files(tmp_path / "root", f"store: {proxy.url}\n")
    run(tmp_path / "root", "add", "Before.", "-p", "neo", "-c", "rules")
    return tmp_path / "root"


def run(root, *words, said="", status=0):
    done = catmem(root, words, said=said)
    assert done.exit_code in ((status,) if isinstance(status, int) else status), done.stderr
    return done


@pytest.mark.parametrize("where", WHERE)
def test_the_command_line_tells_it_and_repeats_a_write_once(mine, proxy, root, witness, where):
    content = json.dumps([{"action": "add", "content": "Tea at four.", "category": "rules"}])
    envelope = run(root, "envelope", "-p", "neo", "--prev", "1", "--json", "-", said=content).stdout
    name = json.loads(envelope)["op_id"]
    proxy.cut(in_commit(where))
    done = run(root, "write", "--envelope", "-", said=envelope, status=4)
    assert proxy.cuts == 1
    assert "error[connection_lost]" in done.stderr
    assert f"'{name}'" in done.stderr
    mine.start()
    run(root, "write", "--envelope", "-", said=envelope)
    assert op_ids(witness).count(name) == 1
    assert len(op_ids(witness)) == 2
    assert run(root, "list", "-p", "neo").stdout.count("Tea at four.") == 1


@pytest.mark.parametrize("where", WHERE)
def test_an_add_that_is_typed_again_stands_once(mine, proxy, root, witness, where):
    proxy.cut(in_commit(where))
    words = ["add", "Tea at four.", "-p", "neo", "-c", "rules"]
    run(root, *words, status=4)
    assert proxy.cuts == 1
    if where == "after":
        mine.wait()
        done = run(root, *words, status=4)
        assert "error[not_available]" in done.stderr
        assert "Nothing was written" in done.stderr
    mine.start()
    run(root, *words, status=range(5))
    assert witness.read(ENTITY).data.count(b"Tea at four.") == 1
    assert len(op_ids(witness)) == 2


# --- the server ----------------------------------------------------------------------------------------------------


def test_catmem_serve_tells_it_and_goes_on_when_it_is_back(mine, proxy, root, witness):
    with serving(root) as served:
        for number, where in enumerate(WHERE):
            op_id, prev = f"mine-{where}", number + 1
            proxy.cut(in_commit(where))
            status, answer = served.write(ENTITY, prev, f"Fact {where}.", op_id)
            assert (status, answer["code"]) == (503, "connection_lost")
            assert op_id in answer["hint"]
            mine.wait()
            for path in ("/mem/read?entity_id=neo", "/readyz"):
                status, answer = served.ask("GET", path)
                assert (status, answer["code"]) == (503, "not_available")
            status, answer = served.write(ENTITY, prev, "Never.", f"never-{where}")
            assert (status, answer["code"]) == (503, "not_available")
            assert mine.password not in json.dumps(answer)
            mine.start()
            for _ in range(2):
                status, answer = served.write(ENTITY, prev, f"Fact {where}.", op_id)
                assert status == 200
            assert op_ids(witness).count(op_id) == 1
            assert served.ask("GET", "/readyz")[0] == 200
        served.stop()
    assert len(op_ids(witness)) == 1 + len(WHERE)
