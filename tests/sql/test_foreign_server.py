"""A server that a root names and nobody knows: it gets no password in clear, unless a setting outside the root allows it.

The server is a fake one on this machine, which asks for the password as it likes and keeps all bytes that it is sent. It
is called by the address 0.0.0.0, which leads here and is none of those that count as local.
"""

import os
import socket
import struct
import threading
from contextlib import closing, contextmanager

import pytest

from catmem.errors import StoreError
from catmem.plugins.sql.connections import new_schema
from tests.commands import catmem
from tests.sql import server
from tests.store.stores import sql_store

pytestmark = pytest.mark.postgresql

SECRET = "a-secret-of-the-reader"  # noqa: S105 - nobody's
LIBPQ = ("PGSSLMODE", "PGREQUIREAUTH", "PGHOST", "PGHOSTADDR", "PGSERVICE", "PGUSER", "PGPASSWORD", "PGSSLROOTCERT")
ENCRYPTION = {80877103, 80877104}
"""The requests for TLS and GSSAPI, which stand where the version does."""

CLEAR, MD5 = struct.pack("!ii", 8, 3), struct.pack("!ii", 12, 5) + b"salt"
"""How a server asks for a password: as it is, or as a hash that anybody can try passwords on, and log in with."""


class Foreign:
    """The server. ``heard`` is all that clients sent to it."""

    def __init__(self, asks):
        self.asks = asks
        self.heard = b""
        self.calls = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.calls += 1
            client.settimeout(10)
            with closing(client):
                self._answer(client)

    def _answer(self, client):
        try:
            while True:
                (size,) = struct.unpack("!i", self._read(client, 4))
                said = self._read(client, size - 4)
                if struct.unpack("!i", said[:4])[0] in ENCRYPTION:
                    client.sendall(b"N")
                    continue
                client.sendall(b"R" + self.asks)
                _, size = struct.unpack("!ci", self._read(client, 5))
                self._read(client, size - 4)
                return
        except OSError:
            return

    def _read(self, client, size):
        said = b""
        while len(said) < size:
            part = client.recv(size - len(said))
            if not part:
                raise OSError("the client has gone")
            said += part
            self.heard += part
        return said


@contextmanager
def foreign(asks=CLEAR):
    made = Foreign(asks)
    try:
        yield made
    finally:
        made.listener.close()


def reading(tmp_path, store, **settings):
    """Read a root whose ``catmem.yaml`` says ``store``, as somebody does who has a password for a server of their own."""
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "neo.yaml").write_text("name: neo\n")
    (tmp_path / "catmem.yaml").write_text(f"store: {store}\n")
    environment = {name: value for name, value in os.environ.items() if name not in LIBPQ}
    environment |= {"PGPASSWORD": SECRET, "HOME": str(tmp_path), **settings}
    return catmem(tmp_path, ["list", "-p", "neo"], environment)


ROOTS = {
    "a host": "postgresql://reader@0.0.0.0:{port}/memory",
    "a host in the options": "postgresql://reader@localhost:{port}/memory?host=0.0.0.0",
    "an address behind a local name": "postgresql://reader@localhost:{port}/memory?hostaddr=0.0.0.0",
    "one of several hosts": "postgresql://reader@/memory?host=127.0.0.1:1&host=0.0.0.0:{port}",
    "no TLS": "postgresql://reader@0.0.0.0:{port}/memory?sslmode=disable",
    "any password": "postgresql://reader@0.0.0.0:{port}/memory?sslmode=disable&require_auth=password",
    "a key of the root": "postgresql://reader@0.0.0.0:{port}/memory?sslmode=verify-full&sslrootcert=ca.pem",
    "a database that reads like a server": "postgresql://reader@/host%3D0.0.0.0%20port%3D{port}",
    "a service of the root": "postgresql://reader@0.0.0.0:{port}/memory?service=theirs",
}


@pytest.mark.parametrize("store", ROOTS.values(), ids=ROOTS)
@pytest.mark.parametrize("asks", [CLEAR, MD5], ids=["in clear", "as a hash"])
def test_whatever_a_root_says_a_server_elsewhere_hears_no_password(tmp_path, store, asks):
    with foreign(asks) as there:
        done = reading(tmp_path, store.format(port=there.port))
        assert done.exit_code != 0
        assert SECRET not in done.stderr
        assert b"reader" not in there.heard  # not even who asks, without TLS


@pytest.mark.parametrize("store", [ROOTS["a host"], ROOTS["any password"]], ids=["a host", "any password"])
def test_what_makes_a_schema_for_a_moment_sends_no_password_either(monkeypatch, store):
    for name in LIBPQ:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PGPASSWORD", SECRET)
    with foreign() as there:
        with pytest.raises(StoreError), new_schema(store.format(port=there.port)):
            pass
        assert b"reader" not in there.heard


@pytest.mark.parametrize("asks", [CLEAR, MD5], ids=["in clear", "as a hash"])
def test_without_tls_a_server_elsewhere_still_hears_no_password(tmp_path, asks):
    with foreign(asks) as there:
        done = reading(tmp_path, ROOTS["a host"].format(port=there.port), PGSSLMODE="disable")
        assert done.exit_code == 4
        assert there.calls
        assert b"reader" in there.heard
        assert SECRET.encode() not in there.heard
        assert b"md5" not in there.heard


def test_whoever_allows_it_outside_of_the_root_sends_it(tmp_path):
    with foreign() as there:
        settings = {"PGSSLMODE": "disable", "PGREQUIREAUTH": "password"}
        reading(tmp_path, ROOTS["any password"].format(port=there.port), **settings)
        assert SECRET.encode() in there.heard


def test_a_server_of_this_machine_is_asked_as_libpq_does(tmp_path):
    with foreign() as there:
        reading(tmp_path, f"postgresql://reader@127.0.0.1:{there.port}/memory")
        assert SECRET.encode() in there.heard


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("sslmode=prefer", "PGSSLMODE"),
        ("require_auth=password", "PGREQUIREAUTH"),
        ("sslrootcert=ca.pem", "environment variables"),
        ("passfile=theirs", "environment variables"),
        ("sslmode=verify-full&sslmode=disable", "PGSSLMODE"),
    ],
)
def test_what_a_root_may_not_say_is_named(tmp_path, said, remedy):
    with foreign() as there:
        done = reading(tmp_path, f"{ROOTS['a host'].format(port=there.port)}?{said}")
        assert "error[bad_store]" in done.stderr
        assert repr(said.partition("=")[0]) in done.stderr
        assert remedy in done.stderr
        assert not there.calls


def test_a_server_elsewhere_that_asks_for_scram_is_used(tmp_path, monkeypatch):
    monkeypatch.setenv("PGSSLMODE", "disable")
    with server.private(durable=False) as mine:
        url = server.fresh_on(mine.url(), "elsewhere").replace("@127.0.0.1:", "@0.0.0.0:")
        store = sql_store(url, tmp_path)
        assert store.read("neo/user").data == b""
        store.close()
