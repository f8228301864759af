"""catmem watch: what is new, as it happens."""

import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import run, write_root
from tests.together import together

USER = "homes/neo/USER.md"


def interruptible(command):
    """A command that Ctrl-C can end, also where whoever runs the tests, in the background, has it ignored."""

    def as_on_a_terminal():
        signal.signal(signal.SIGINT, signal.default_int_handler)

    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=as_on_a_terminal)  # noqa: PLW1509


@pytest.fixture
def root(tmp_path):
    write_root(tmp_path)
    return tmp_path


@contextmanager
def watching(root, *arguments):
    """The command, once it watches."""
    process = interruptible([sys.executable, "-m", "catmem", "watch", "--root", str(root), *arguments])
    try:
        said = process.stderr.readline().decode()
        assert said.startswith("Watching "), said
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def add(root, text, name="neo", **how):
    workspace = Workspace.open(root, search=False)
    workspace.add(name, text, category="rules", **how)
    workspace.store.close()


def test_it_tells_until_it_is_stopped(root):
    with watching(root) as process:
        add(root, "One.", "boss")
        assert process.stdout.readline().decode().split("  ")[1:] == ["boss/user", "revision 1, put by person\n"]
        add(root, "Late.", "boss", expected="0", on_stale="branch")
        assert process.stdout.readline().decode().endswith("boss/user  branch 1a, put by person\n")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (out, err, process.returncode) == (b"", b"", 0)


def test_for_programs_a_line_is_an_event(root):
    with watching(root, "--format", "jsonl", "-n", "2") as process:
        (root / USER).write_text("By hand.\n", encoding="utf-8")
        drift = json.loads(process.stdout.readline())
        assert (drift["event"], drift["entity_id"], drift["recorded"]) == ("drift", "neo/user", False)
        add(root, "One.", "boss")
        assert json.loads(process.stdout.readline())["event"] == "revision"
        assert process.wait(60) == 0


@together(
    ("arguments", "code"),
    [(["nobody"], "unknown_name"), (["neo/x"], "unknown_target")],
)
def test_what_cannot_be_watched_is_an_error(root, arguments, code):
    result = run("watch", "--root", root, "--format", "jsonl", *arguments, status=2)
    assert json.loads(result.stderr)["error"]["code"] == code


def test_what_cannot_be_read_is_told_once(root):
    with watching(root, "neo/user", "--format", "jsonl", "-n", "2") as process:
        (root / USER).unlink()
        (root / USER).mkdir()
        trouble = json.loads(process.stdout.readline())
        assert (trouble["event"], trouble["entity_id"]) == ("trouble", "neo/user")
        time.sleep(2)
        (root / USER).rmdir()
        (root / USER).write_text("By hand.\n", encoding="utf-8")
        assert json.loads(process.stdout.readline())["event"] == "drift"
        assert process.wait(60) == 0
