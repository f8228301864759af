"""Where the server listens, how it is set up, and what it does with what is no request."""

import asyncio
import logging
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest
import uvicorn
from click.testing import CliRunner

import catmem.cli.main
import catmem.cli.servers
from catmem.errors import ConfigError
from catmem.resources import install_command
from catmem.server.app import HttpServer, create_app, listen, url_of
from catmem.server.guard import ServerSettings
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import error_of, run
from tests.golden.case import put
from tests.together import together


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    put(tmp_path / "root" / "catmem.yaml", "version: 1\n")
    put(tmp_path / "root" / "profiles" / "neo.yaml", "{}\n")
    return tmp_path / "root"


# --- where it listens ----------------------------------------------------------------------------------------------


@together("host", ["0.0.0.0", "::", "192.0.2.7", "8.8.8.8", "::ffff:8.8.8.8"])  # noqa: S104 - refused
def test_any_other_address_wants_tokens_and_says_why(host):
    with pytest.raises(ConfigError, match="every caller reads and writes memory") as caught:
        listen(host, 0, has_tokens=False)
    assert caught.value.code == "no_tokens"
    assert "catmem token new" in caught.value.hint


@together(
    ("host", "has_tokens"),
    [("127.0.0.1", False), ("localhost", False), ("127.0.0.2", False), ("0.0.0.0", True)],  # noqa: S104 - the case
)
def test_loopback_is_fine_without_tokens_and_any_address_with_them(host, has_tokens):
    with listen(host, 0, has_tokens=has_tokens) as listening:
        assert url_of(listening) == f"http://{listening.getsockname()[0]}:{listening.getsockname()[1]}"


def test_a_port_that_is_taken_is_an_error(root):
    with listen("127.0.0.1", 0, has_tokens=False) as listening:
        error = error_of("serve", "--no-page", "--port", listening.getsockname()[1], "--root", root)
    assert error["code"] == "cannot_listen"
    assert "--port" in error["hint"]


# --- how it is set up ----------------------------------------------------------------------------------------------


def settings_of(root, *, tokens=None, hosts=()):
    return catmem.cli.servers._settings(
        Workspace.open(root, search=False).config, "127.0.0.1", tokens, hosts, page=True
    )


def test_the_configuration_says_what_the_command_line_does_not(root):
    server = "{hosts: [one.example], max_body: 2048}"
    put(root / "catmem.yaml", f"server: {server}\n")
    settings = settings_of(root, hosts=("two.example",))
    assert settings.hosts == ("one.example", "two.example")
    assert settings.max_body == 2048
    assert settings.tokens is None


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


@together(
    "server",
    [
        "{max_body: 1}",
        "{max_bodi: 2048}",
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


@pytest.mark.parametrize(
    ("command", "extra"), [(["serve"], "server"), (["mcp", "-p", "neo"], "mcp"), (["help", "undo"], None)]
)
def test_the_commands_load_without_any_extra_and_say_how_to_get_it(root, command, extra):
    without = "import sys; sys.modules['starlette'] = None; from catmem.cli.main import main; main()"
    more = ["--root", str(root)] if extra else []
    found = subprocess.run(
        [sys.executable, "-c", without, *command, *more], capture_output=True, text=True, check=False
    )
    assert found.returncode == (2 if extra else 0)
    assert ("missing_extra" in found.stderr) == bool(extra)
    assert extra is None or f"Run: {install_command(extra)}" in found.stderr


def test_a_mistake_of_its_own_is_not_taken_for_a_missing_extra(root, monkeypatch):
    def fails(*_, **__):
        raise ImportError(name="catmem.nowhere")

    monkeypatch.setattr(catmem.cli.servers, "_settings", fails)
    result = CliRunner().invoke(catmem.cli.main.group, ["serve", "--root", str(root)])
    assert isinstance(result.exception, ImportError)


@contextmanager
def running(workspace, settings):
    """The address of a server of this root, which runs in a thread."""
    ready, made = threading.Event(), []
    with listen("127.0.0.1", 0, has_tokens=False) as listening:

        async def serve():
            app = create_app(workspace, settings)
            config = uvicorn.Config(app, http="h11", ws="none", lifespan="on", log_config=None, access_log=False)
            made.append(HttpServer(config, ready.set))
            await made[0].serve(sockets=[listening])

        thread = threading.Thread(target=asyncio.run, args=(serve(),))
        thread.start()
        assert ready.wait(60)
        try:
            yield listening.getsockname()[:2]
        finally:
            made[0].should_exit = True
            thread.join(60)
            assert not thread.is_alive()


# --- what is no request --------------------------------------------------------------------------------------------


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
def test_what_is_no_request_is_refused_and_the_next_client_served(root, sent):
    with running(Workspace.open(root, search=False), ServerSettings(page=False)) as server:
        with socket.create_connection(server, timeout=60) as client:
            client.sendall(sent + b"\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 400 ")
        with socket.create_connection(server, timeout=60) as client:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 200 ")


HALF = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf"
TYPE = b"\r\nContent-Type: application/json\r\n"


def test_a_body_that_is_broken_off_is_a_line_in_the_log_and_no_error(root, caplog):
    caplog.set_level(logging.INFO)
    workspace = Workspace.open(root, search=False)
    with running(workspace, ServerSettings()) as server:
        with socket.create_connection(server) as client:
            client.sendall(HALF.replace(b"/", b"/mem/write", 1).replace(b"\r\n", TYPE, 1))
        while not (said := [each for each in caplog.records if each.name == "catmem.server"]):
            pass
    assert [(each.levelname, each.exc_info) for each in said] == [("INFO", None)]
    assert "POST /mem/write 0 " in said[0].getMessage()
    assert not [each for each in caplog.records if each.levelno > logging.INFO]
    workspace.store.close()


@pytest.mark.parametrize("pause", [0, 0.3], ids=["at once", "after the answer"])
def test_a_bad_chunk_ends_its_connection_and_the_next_client_is_served(root, pause):
    workspace = Workspace.open(root, search=False)
    with running(workspace, ServerSettings(page=False)) as server:
        with socket.create_connection(server, timeout=60) as client:
            client.sendall(b"POST /mem/write HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            time.sleep(pause)
            client.sendall(b"zz\r\n")
            while client.recv(1_000):
                pass
        with socket.create_connection(server, timeout=60) as client:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 200 ")
    workspace.store.close()
