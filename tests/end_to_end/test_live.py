"""Live events as whoever listens gets them: the real server, real stores, other programs that write."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from tests.end_to_end.terminal import run, write_root
from tests.streams import SECONDS, Stream


class Server:
    """A server that runs, and the streams from it."""

    def __init__(self, running):
        self.process = running
        url = json.loads("".join(running.stdout.readline() for _ in range(5)))["url"]
        host, _, port = url.partition("//")[2].rpartition(":")
        self._address = host, int(port)
        self.streams = []

    def open(self, query="", **headers):
        self.streams.append(Stream(self._address, query, **headers))
        return self.streams[-1]

    def stop(self):
        """Stop it; it ends well, whoever listens."""
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=SECONDS)
        assert self.process.returncode == 0, said
        assert "Traceback" not in said
        return said


@contextmanager
def serving(root):
    command = [sys.executable, "-m", "catmem", "serve", "--no-page", "--port", "0", "--format", "json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, "--root", str(root)], **pipes) as running:
        server = None
        try:
            server = Server(running)
            yield server
        finally:
            for stream in server.streams if server else ():
                stream.close()
            if running.poll() is None:
                running.kill()


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def add(root, words, name="neo"):
    """Write from this process, which is another one than the server."""
    run("add", "-p", name, words, "-c", "rules", "--root", root)


def until(stream, kind, **wanted):
    """The next event of a kind with these data; what came before it."""
    passed = []
    while (event := stream.next()).kind != kind or not wanted.items() <= event.data.items():
        passed.append(event)
    return event, passed


@pytest.mark.parametrize("store", ["files", "sqlite:///memory.db"])
def test_what_other_processes_write_is_told_until_the_server_ends(home, store):
    write_root(home / "root", f"store: {store}\n")
    with serving(home / "root") as server:
        first, second = server.open(), server.open("?entity_id=boss/user")
        add(home / "root", "One.", "boss")
        for stream in (first, second):
            event, passed = until(stream, "revision", entity_id="boss/user", revision="1")
            assert (event.data["agent_id"], passed) == ("person", [])
        said = server.stop()
        assert first.has_ended
        assert second.has_ended
    assert said.count("GET /mem/events 200") == 2


def test_a_file_that_an_editor_writes_is_told(home):
    write_root(home / "root")
    file = home / "root" / "homes" / "neo" / "USER.md"
    with serving(home / "root") as server:
        stream = server.open()
        program = (
            "import os, sys; open(sys.argv[1] + '~', 'w').write('By hand.'); os.replace(sys.argv[1] + '~', sys.argv[1])"
        )
        subprocess.run([sys.executable, "-c", program, str(file)], check=True, timeout=SECONDS)
        until(stream, "drift", entity_id="neo/user", recorded=False)
        add(home / "root", "One.")
        until(stream, "revision", op="adopt")
        until(stream, "revision", agent_id="person")


def test_who_comes_back_to_a_server_that_was_started_again_reads_anew(home):
    write_root(home / "root")
    with serving(home / "root") as server:
        stream = server.open()
        add(home / "root", "One.", "boss")
        assert stream.next().kind == "revision"
        last = stream.id
        server.stop()
    with serving(home / "root") as server:
        assert server.open(**{"Last-Event-ID": last}).next().kind == "missed"
        add(home / "root", "Two.", "boss")
        event, _ = until(server.open("?entity_id=boss/user@1", **{"Last-Event-ID": last}), "revision")
        assert event.data["revision"] == "2"


@pytest.mark.postgresql
def test_a_database_server_that_ends_is_trouble_and_what_comes_after_it_is_told(home):
    from tests.sql.postgres import private

    with private() as database:
        write_root(home / "root", f"store: {database.url()}\n")
        add(home / "root", "One.")
        with serving(home / "root") as server:
            stream = server.open()
            add(home / "root", "Two.")
            until(stream, "revision", revision="2")
            database.kill()
            event, _ = until(stream, "trouble")
            assert "entity_id" not in event.data
            assert database.password not in json.dumps(event.data)
            database.start()
            add(home / "root", "Three.")
            _, passed = until(stream, "revision", revision="3")
            assert [each.kind for each in passed] == ["recovered"]
            server.stop()
