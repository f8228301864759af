"""`catmem serve` as the process that it is: from its start to its end, and what it lives through."""

import http.client
import json
import resource
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from itertools import count

import pytest

from catmem.envelopes.envelope import Envelope, content_hash
from catmem.jsonable import jsonable
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import write_root
from tests.golden.case import put
from tests.lengths import at_length

SECONDS = 60
CONFIG = "server: {max_body: 65536}\n"


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A root with neo, bounded, and boss, who sees all."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    write_root(tmp_path / "root", CONFIG)
    return tmp_path / "root"


class Server:
    """A server that runs, and ways to ask it."""

    def __init__(self, process):
        self.process = process
        said = json.loads("".join(process.stdout.readline() for _ in range(5)))
        self.url = said["url"]
        self.address = (said["url"].split("//")[1].rsplit(":", 1)[0], int(said["url"].rsplit(":", 1)[1]))

    def connect(self):
        return socket.create_connection(self.address, timeout=SECONDS)

    def ask(self, method, path, body=None, **headers):
        """Status and JSON of an answer."""
        connection = http.client.HTTPConnection(*self.address, timeout=SECONDS)
        try:
            if body is not None:
                headers.setdefault("Content-Type", "application/json")
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def write(self, entity, prev, text, op_id=None):
        return self.ask("POST", "/mem/write", envelope(entity, prev, text, op_id))

    def stop(self, number=signal.SIGTERM):
        """Stop it, and give what it said on its way; it has to end well."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=SECONDS)
        assert self.process.returncode == 0, said
        assert "Traceback" not in said
        return said


@contextmanager
def serving(root, *options):
    command = [
        sys.executable,
        *["-m", "catmem", "serve", "--no-page", "--port", "0", "--format", "json", "--root"],
        str(root),
    ]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, *options], **pipes) as process:
        try:
            yield Server(process)
        finally:
            if process.poll() is None:
                process.kill()


def envelope(entity, prev, text, op_id=None):
    """The JSON of a person's write that adds an entry."""
    content = [{"action": "add", "content": text, "category": "rules"}]
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    op_id = op_id or f"op-{text}".replace("/", ":").replace(" ", "-")
    made = Envelope(entity, "person", op_id, now, prev, content, content_hash(content))
    return json.dumps(jsonable(made))


@pytest.mark.parametrize("number", at_length([signal.SIGINT, signal.SIGTERM], [signal.SIGTERM]))
def test_it_says_where_it_is_answers_and_ends_though_clients_stay_connected(root, number):
    with serving(root) as server, ExitStack() as clients:
        if number == signal.SIGTERM:
            half, idle = (clients.enter_context(server.connect()) for _ in range(2))
            half.sendall(b"GET /healthz HTTP/1.1\r\n")
            idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert idle.recv(15) == b"HTTP/1.1 200 OK"
        assert server.address[0] == "127.0.0.1"
        assert server.ask("GET", "/healthz") == (200, {"status": "ok"})
        assert server.ask("GET", "/readyz") == (200, {"status": "ready"})
        said = server.stop(number)
    assert "127.0.0.1 person GET /healthz 200" in said


def test_no_write_that_was_acknowledged_is_lost_when_it_is_stopped_under_load(root):
    acknowledged = []
    going = threading.Semaphore(0)

    def write_on(server, entity):
        revision = 0
        for number in count():
            text = f"{entity} {number}"
            try:
                status, told = server.write(entity, revision, text)
            except (OSError, http.client.HTTPException, ValueError):
                return  # the server is gone
            assert status == 200, told
            revision = int(told["revision"])
            acknowledged.append((entity, told["revision"], text))
            going.release()

    entities = ["boss/user", "boss/memory", "neo/memory"]
    with serving(root, "--no-access-log") as server:
        threads = [threading.Thread(target=write_on, args=(server, entity)) for entity in entities]
        for thread in threads:
            thread.start()
        for _ in range(30):
            assert going.acquire(timeout=SECONDS)
        server.stop()
        for thread in threads:
            thread.join(SECONDS)
    assert len(acknowledged) >= 30
    workspace = Workspace.open(root, search=False)
    try:
        for entity, revision, text in acknowledged:
            assert text in workspace.store.read(entity, revision).data.decode()
            assert text in workspace.store.peek(entity).decode()
        assert workspace.store.verify() == []
    finally:
        workspace.store.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """One server for many requests that are wrong."""
    root = tmp_path_factory.mktemp("served")
    write_root(root / "root", CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(root / "config"))
        with serving(root / "root") as server:
            yield server
            server.stop()


def test_a_body_in_parts_that_never_ends_is_refused(running):
    with running.connect() as client:
        client.sendall(
            b"POST /mem/write HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        part = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
        client.sendall(part * 4)
        assert b"413" in client.recv(100)


def test_a_body_that_is_far_too_large_is_refused_before_it_has_come(running):
    with suppress(BrokenPipeError, ConnectionResetError):  # the client may still be sending when the server closes
        assert running.ask("POST", "/mem/write", b"x" * (3 << 20))[0] == 413
    assert running.ask("GET", "/readyz")[0] == 200


BEGUN = b"POST /mem/write HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
"""A request whose body does not come."""


def test_bodies_that_do_not_come_stop_nobody(running):
    slow = [running.connect() for _ in range(50)]
    try:
        for client in slow:
            client.sendall(BEGUN)
        assert running.ask("GET", "/readyz")[0] == 200
    finally:
        for client in slow:
            client.close()


def test_a_disk_that_is_full_in_the_middle_loses_nothing_and_is_written_again_when_there_is_room(root):
    with serving(root) as server:
        process = server.process.pid
        assert server.write("boss/user", 0, "before")[0] == 200
        hard = resource.prlimit(process, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(process, resource.RLIMIT_FSIZE, (16, hard))
        status, told = server.write("boss/user", 1, "while")
        assert (status, told["code"]) == (503, "no_space")
        assert server.ask("GET", "/healthz")[0] == 200
        assert server.ask("GET", "/prompt/boss", Accept="application/json")[0] == 200
        resource.prlimit(process, resource.RLIMIT_FSIZE, (hard, hard))
        assert server.ask("GET", "/readyz")[0] == 200
        status, told = server.write("boss/user", 1, "after")
        assert (status, told["revision"]) == (200, "2"), told
        server.stop()
    text = Workspace.open(root, search=False).view("boss", "user").entries
    assert [entry.body for entry in text] == ["before", "after"]


def test_a_profile_counts_at_once_and_the_configuration_from_the_next_start_on(root):
    with serving(root) as server:
        good = (root / "profiles" / "boss.yaml").read_text()
        put(root / "profiles" / "boss.yaml", "tier: x\n")
        status, told = server.ask("GET", "/prompt/boss", Accept="application/json")
        assert (status, told["path"]) == (503, str(root / "profiles" / "boss.yaml"))
        assert server.ask("GET", "/readyz")[0] == 200  # the others go on
        put(root / "profiles" / "boss.yaml", good)
        put(root / "catmem.yaml", "signing: {required: true}\n")
        assert server.write("boss/user", 0, "x")[0] == 200
        server.stop()
    put(root / "profiles" / "bad.yaml", "tier: [2\n")  # it is said, and the others are served
    with serving(root) as server:
        assert server.write("boss/user", 1, "y")[1]["code"] == "bad_signature"
        assert server.ask("GET", "/mem/head?entity_id=neo")[0] == 200
        assert '"code": "yaml_syntax"' in server.stop()
