"""Where the server listens, how it is set up, and what it does with clients that do not go on."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import sys
from contextlib import suppress

import pytest
import uvicorn
from click.testing import CliRunner

import catmem.cli.serve
from catmem.errors import ConfigError
from catmem.server.connections import connections
from catmem.server.serving import listen, url_of
from catmem.server.settings import Settings
from catmem.service.workspace import Workspace
from tests.end_to_end.terminal import error_of, run, run_json
from tests.golden.case import put
from tests.streams import running


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    put(tmp_path / "root" / "catmem.yaml", "version: 1\n")
    put(tmp_path / "root" / "profiles" / "neo.yaml", "{}\n")
    return tmp_path / "root"


# --- where it listens ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
def test_loopback_is_fine_without_tokens(host):
    with listen(host, 0, has_tokens=False) as listening:
        assert url_of(listening).endswith(f":{listening.getsockname()[1]}")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "8.8.8.8", "::ffff:8.8.8.8"])  # noqa: S104 - refused
def test_any_other_address_wants_tokens_and_says_why(host):
    with pytest.raises(ConfigError, match="whoever reaches the server reads and writes memory") as caught:
        listen(host, 0, has_tokens=False)
    assert caught.value.code == "no_tokens"
    assert "catmem token new" in caught.value.hint


def test_with_tokens_it_listens_to_others():
    with listen("0.0.0.0", 0, has_tokens=True) as listening:  # noqa: S104 - the case
        assert url_of(listening).startswith("http://0.0.0.0:")


def test_a_port_that_is_taken_is_an_error(root):
    with listen("127.0.0.1", 0, has_tokens=False) as listening:
        error = error_of("serve", "--no-page", "--port", listening.getsockname()[1], "--root", root)
    assert error["code"] == "cannot_listen"
    assert "--port" in error["hint"]


@pytest.mark.parametrize("host", ["no.such.host.invalid", "a" * 70, "not a host", "192.0.2.7"])
def test_an_address_that_is_not_here_is_an_error(host):
    with pytest.raises(ConfigError) as caught:
        listen(host, 0, has_tokens=True)
    assert caught.value.code == "cannot_listen"


# --- how it is set up ----------------------------------------------------------------------------------------------


def settings_of(root, *, tokens=None, hosts=()):
    return catmem.cli.serve._settings(
        Workspace.open(root, search=False).config, "127.0.0.1", 0, tokens, hosts, page=True
    )


def test_the_configuration_says_what_the_command_line_does_not(root):
    server = "{hosts: [one.example], max_body: 2048, rate: 7, timeout: 2m, patience: 3s}"
    put(root / "catmem.yaml", f"server: {server}\n")
    settings = settings_of(root, hosts=("two.example",))
    assert settings.hosts == ("one.example", "two.example")
    assert (settings.max_body, settings.rate, settings.timeout, settings.patience) == (2048, 7, 120, 3)
    assert settings.tokens is None


def test_tokens_are_used_where_there_are_any(root):
    path = run_json("token", "new", "neo", "--root", root)["path"]
    assert str(settings_of(root).tokens) == path


def test_a_file_that_is_named_has_to_have_tokens(root, tmp_path):
    error = error_of("serve", "--tokens", tmp_path / "none.json", "--root", root)
    assert error["code"] == "no_tokens"


def test_a_home_that_git_carries_is_no_place_for_tokens_and_no_reason_not_to_serve(root):
    (root.parent / ".git").mkdir()
    assert settings_of(root).tokens is None
    assert error_of("token", "new", "neo", "--root", root)["code"] == "tokens_inside"


def test_tokens_that_git_carries_are_not_trusted(root):
    run("token", "new", "neo", "--root", root)
    (root.parent / ".git").mkdir()
    assert error_of("serve", "--root", root)["code"] == "tokens_inside"


@pytest.mark.parametrize(
    "server",
    [
        "{max_body: 1}",
        "{rate: -1}",
        "{timeout: 0s}",
        "{timeout: soon}",
        "{hosts: ['a b']}",
        "{hosts: ['*']}",
        "{port: 1}",
        "[]",
        "{tokens: ~bob/x}",
    ],
)
def test_a_configuration_that_is_not_right_is_an_error(root, server):
    put(root / "catmem.yaml", f"server: {server}\n")
    assert error_of("serve", "--root", root)["path"].endswith("catmem.yaml")


def test_without_the_extra_it_says_how_to_get_it(root, monkeypatch):
    for name in [each for each in sys.modules if each.split(".")[0] == "starlette" or "catmem.server" in each]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette", None)
    error = error_of("serve", "--root", root)
    assert error["code"] == "missing_extra"
    assert error["hint"] == "Install them with: pip install 'catmem[server]'"


def test_a_mistake_of_its_own_is_not_taken_for_a_missing_extra(root, monkeypatch):
    def fails(*_, **__):
        raise ImportError(name="catmem.nowhere")

    monkeypatch.setattr(catmem.cli.serve, "_settings", fails)
    result = CliRunner().invoke(catmem.cli.serve.command, ["--root", str(root)])
    assert isinstance(result.exception, ImportError)


# --- clients that do not go on -------------------------------------------------------------------------------------

LARGE = 32 << 20


async def answering(scope, receive, send):
    """Answers with what it is asked for: /large, or a few bytes. Reads the body first, but for /unread."""
    if scope["type"] != "http":
        return
    while scope["path"] != "/unread" and (await receive()).get("more_body", False):
        pass
    size = LARGE if scope["path"] == "/large" else 2
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", str(size).encode())]})
    await send({"type": "http.response.body", "body": b"x" * size})


class Server:
    """A server on a free port in this loop, with connections of this patience."""

    def __init__(self, patience, most=None):
        kind = connections(patience)
        kind.most = most or kind.most
        self.heard = 0

        async def app(scope, receive, send):
            async def counted():
                message = await receive()
                self.heard += len(message.get("body", b""))
                return message

            await answering(scope, counted, send)

        config = uvicorn.Config(app, http=kind, ws="none", lifespan="off", log_config=None, access_log=False)
        self.server = uvicorn.Server(config)
        self.server.config.load()
        self.writers = []

    async def __aenter__(self):
        self.socket = listen("127.0.0.1", 0, has_tokens=False)
        self.server.lifespan = self.server.config.lifespan_class(self.server.config)
        await self.server.startup(sockets=[self.socket])
        return self

    async def __aexit__(self, *_):
        for writer in self.writers:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
        await self.server.shutdown(sockets=[self.socket])

    async def connect(self):
        reader, writer = await asyncio.open_connection(*self.socket.getsockname())
        self.writers.append(writer)
        return reader, writer


async def until(condition):
    while not condition():  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)


REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def answer(reader):
    """One answer of a few bytes, and the connection as it is after."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split()[0])
    return int(head.split()[1]), await reader.readexactly(length)


@pytest.mark.parametrize(
    "begun",
    [b"", b"GET / HTTP/1.1\r\nHost: local", REQUEST + b"GET / HT"],
    ids=["nothing", "half a header", "half a second one"],
)
def test_a_header_that_does_not_come_ends_the_connection(begun):
    async def play():
        async with Server(0.05) as server:
            reader, writer = await server.connect()
            writer.write(begun)
            if begun.startswith(REQUEST):
                assert (await answer(reader))[0] == 200
                writer.write(b"T")
            status, body = await answer(reader)
            assert (status, json.loads(body)["code"]) == (408, "slow_header")
            assert await reader.read() == b""

    asyncio.run(play())


def test_a_client_that_does_not_read_is_left():
    async def play():
        async with Server(0.05) as server:
            reader, writer = await server.connect()
            writer.write(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
            state = server.server.server_state
            got = len(await reader.readexactly(1))
            await until(lambda: not state.connections)
            try:
                while data := await reader.read(1 << 16):
                    got += len(data)
            except ConnectionError:
                pass
            assert got < LARGE

    asyncio.run(play())


def test_a_client_that_reads_gets_all():
    async def play():
        async with Server(5) as server:
            reader, writer = await server.connect()
            writer.write(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await answer(reader))[1] == b"x" * LARGE

    asyncio.run(play())


def test_where_all_places_are_taken_the_one_that_waited_longest_goes():
    async def play():
        async with Server(60, most=4) as server:
            idle = [await server.connect() for _ in range(12)]
            reader, writer = await server.connect()
            writer.write(REQUEST)
            assert (await answer(reader))[0] == 200
            assert len(server.server.server_state.connections) <= 5
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await idle[0][0].readexactly(1)

    asyncio.run(play())


HALF = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf"


@pytest.mark.parametrize(
    "sent",
    [HALF, HALF.replace(b"POST /", b"POST /unread"), REQUEST + HALF],
    ids=["half a body", "half a body that nobody reads", "half a second body"],
)
def test_bodies_that_do_not_come_take_no_place_from_who_comes_later(sent):
    async def play():
        async with Server(60, most=4) as server:
            slow = [await server.connect() for _ in range(12)]
            for _, writer in slow:
                writer.write(sent)
            reader, writer = await server.connect()
            for _ in range(3):
                writer.write(REQUEST)
                assert (await answer(reader))[0] == 200
            assert len(server.server.server_state.connections) <= 5

    asyncio.run(play())


def test_of_those_that_send_a_body_the_oldest_goes_and_the_newest_is_read():
    async def play():
        async with Server(60, most=4) as server:
            bodies = []
            for number in range(1, 5):
                reader, writer = await server.connect()
                writer.write(HALF)
                bodies.append((reader, writer))
                await until(lambda number=number: server.heard == 4 * number)
            bodies[0][1].write(b"y")  # a byte now and then does not make it younger
            await until(lambda: server.heard == 17)
            reader, writer = await server.connect()
            writer.write(REQUEST)
            assert (await answer(reader))[0] == 200
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await bodies[0][0].readexactly(1)
            for reader, writer in bodies[1:]:
                writer.write(b" more")
                assert (await answer(reader))[0] == 200

    asyncio.run(play())


@pytest.mark.parametrize(
    "sent",
    [
        b"GARBAGE\r\n\r\n",
        b"GET / HTTP/1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 200_000,
        b"\x16\x03\x01\x02\x00\x01",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ],
    ids=["garbage", "version", "endless header", "TLS", "length", "two lengths"],
)
def test_what_is_no_request_is_refused_and_the_next_client_served(sent):
    async def play():
        async with Server(5) as server:
            reader, writer = await server.connect()
            writer.write(sent + b"\r\n\r\n")
            status, body = await answer(reader)
            assert (status, json.loads(body)["code"]) == (400, "bad_request")
            reader, writer = await server.connect()
            writer.write(REQUEST)
            assert (await answer(reader))[0] == 200

    asyncio.run(play())


TYPE = b"\r\nContent-Type: application/json\r\n"


def test_a_body_that_is_broken_off_is_a_line_in_the_log_and_no_error(root, caplog):
    caplog.set_level(logging.INFO)
    workspace = Workspace.open(root, search=False)
    with running(workspace, Settings()) as server:
        with socket.create_connection(server.address) as client:
            client.sendall(HALF.replace(b"/", b"/mem/write", 1).replace(b"\r\n", TYPE, 1))
        while not (said := [each for each in caplog.records if each.name == "catmem.server"]):
            pass
    assert [(each.levelname, each.exc_info) for each in said] == [("INFO", None)]
    assert "POST /mem/write 0 " in said[0].getMessage()
    assert not [each for each in caplog.records if each.levelno > logging.INFO]
    workspace.store.close()
