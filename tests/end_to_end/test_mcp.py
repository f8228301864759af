"""`catmem mcp` as the process that a client starts or connects to."""

import json
import os
import signal
import subprocess
import sys
import sysconfig
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

import catmem.cli.main
import catmem.cli.servers
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import process, run, write_root

SECONDS = 60
ERAS = ("legacy", "auto")
OFFERED = 6
"""Tools for neo, who may neither verify nor seed, and writes to one category."""
STARTS = {
    "the module": [sys.executable, "-m", "catmem"],
    "the console script": [str(Path(sysconfig.get_path("scripts")) / "catmem")],
}
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


def message(method, number=None, params=None):
    said = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return {name: value for name, value in said.items() if value is not None}


def line(said):
    return json.dumps(said).encode() + b"\n"


CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
HELLO = [message("initialize", 1, CLIENT), message("notifications/initialized")]


@pytest.fixture
def root(tmp_path):
    """A root with neo, who may write rules and sees talk and rules."""
    write_root(tmp_path)
    return tmp_path


def over_stdio(root, start="the module", profile="neo"):
    command, *arguments = STARTS[start]
    return StdioServerParameters(command=command, args=[*arguments, "mcp", "-p", profile, "--root", str(root)])


@contextmanager
def started(root, *options, command=STARTS["the module"], **choices):
    """The server as a process of its own, which is gone afterwards."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **choices}
    with subprocess.Popen([*command, "mcp", "-p", "neo", "--root", str(root), *options], **pipes) as server:
        try:
            yield server
        finally:
            if server.poll() is None:
                server.kill()


def entries(root):
    return [listed.entry.body for listed in Workspace.open(root, search=False).list("neo", category="rules")]


async def rounds(server, era, root):
    """What a client does from its first request to its last."""
    async with Client(server, mode=era) as client:
        assert len((await client.list_tools()).tools) == OFFERED
        added = await client.call_tool("memory_add", {"content": f"Added over {era}.", "category": "rules"})
        assert added.structured_content["success"], added
        found = await client.call_tool("memory_search", {"query": "added"})
        assert f"Added over {era}." in found.content[0].text
        refused = await client.call_tool("memory_add", {"content": "x" * 300_000})
        assert refused.is_error
        assert "too large" in refused.structured_content["error"]
        assert [each.uri for each in (await client.list_resources()).resources] == ["memory://talk", "memory://rules"]
        assert "due on the 15th" in (await client.read_resource("memory://rules")).contents[0].text
        (message,) = (await client.get_prompt("context")).messages
        assert "The pay is a secret" not in message.content.text
        assert "Never before ten" in message.content.text
    assert f"Added over {era}." in entries(root)


@pytest.mark.parametrize(("start", "era"), [*zip(STARTS, ERAS, strict=True)])
def test_a_client_starts_it_and_talks_over_stdio(root, start, era):
    anyio.run(rounds, over_stdio(root, start), era, root)


def test_a_client_is_told_what_to_start_from_anywhere(root, tmp_path, monkeypatch):
    monkeypatch.chdir(root)
    said = json.loads(run("mcp", "--profile", "neo", "--root", ".", "--config").stdout)["mcpServers"]
    assert list(said) == ["catmem-neo"]  # so that one client may have several profiles
    said = said["catmem-neo"]
    monkeypatch.chdir(tmp_path.parent)
    assert Path(said["command"]).is_absolute()
    assert str(root) in said["args"]
    server = StdioServerParameters(command=said["command"], args=said["args"], env=dict(os.environ))
    anyio.run(rounds, server, "auto", root)
    run("mcp", "--profile", "nobody", "--root", root, "--config", status=2)


async def add_twenty(server, era):
    async def add(number):
        result = await client.call_tool("memory_add", {"content": f"Rule number {number}.", "category": "rules"})
        assert not result.is_error, result

    async with Client(server, mode=era) as client:
        await client.call_tool("memory_list", {})
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(add, number)


def test_twenty_adds_at_once_are_all_kept_over_stdio(root):
    anyio.run(add_twenty, over_stdio(root), "auto")
    assert {f"Rule number {number}." for number in range(20)} <= set(entries(root))


# --- its end -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_quietly(root, number):
    with started(root) as server:
        server.stdin.write(PING)
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["result"] == {}
        server.send_signal(number)
        assert server.wait(SECONDS) == 0
        assert (server.stdout.read(), server.stderr.read()) == (b"", b"")


def test_requests_of_one_id_are_answered_each_before_the_input_ends(root):
    asked = [
        message(
            "tools/call", 2, {"name": "memory_add", "arguments": {"content": f"Rule {number}.", "category": "rules"}}
        )
        for number in range(3)
    ]
    with started(root) as server:
        out, _ = server.communicate(b"".join(map(line, [*HELLO, *asked])), timeout=SECONDS)
    assert [json.loads(each)["id"] for each in out.splitlines()] == [1, 2, 2, 2]
    assert {"Rule 0.", "Rule 1.", "Rule 2."} <= set(entries(root))


def test_what_was_asked_before_the_input_ended_is_answered(root):
    """And five megabytes in one line are refused."""
    asked = [
        message("tools/call", number, {"name": "memory_add", "arguments": {"content": content, "category": "rules"}})
        for number, content in ((2, "Said last."), (3, "x" * 5_000_000))
    ]
    with started(root) as server:
        out, noise = server.communicate(b"".join(map(line, [*HELLO, *asked])), timeout=SECONDS)
    answers = {answer["id"]: answer["result"] for answer in map(json.loads, out.splitlines())}
    assert answers.keys() == {1, 2, 3}
    assert answers[2]["structuredContent"]["changed"] is True
    assert answers[3]["isError"] is True
    assert "too large" in answers[3]["structuredContent"]["error"]
    assert "Said last." in entries(root)
    assert not any("xxx" in text for text in entries(root))
    assert (server.returncode, noise) == (0, b"")


WRONG = [
    *(b"nonsense", b"\xff\xfe", b'{"jsonrpc":"2.0","id":7,"method":"ping"', b"[" * 200_000),
    *(b"", b" \r", b'{"jsonrpc":"2.0"}', b"[]", b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":[]}'),
]


def test_a_line_that_is_no_request_is_passed_over_and_not_waited_for(root):
    with started(root) as server:
        out, noise = server.communicate(
            b"\n".join([*WRONG, PING, *WRONG]), timeout=SECONDS
        )  # and no newline at the end
    assert [json.loads(line) for line in out.splitlines()] == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
    assert (server.returncode, noise) == (0, b"")


NOISE = """
import atexit, ctypes, threading
import catmem.cli.interface as door, catmem.ops.memory_tool as tool

def noisy(function, word):
    def called(*arguments, **options):
        print(word)
        ctypes.CDLL(None).printf(f"{word} in C\\n".encode())
        return function(*arguments, **options)
    return called

door.open_root = noisy(door.open_root, "opening")
tool.memory_tool = noisy(tool.memory_tool, "call")
atexit.register(noisy(bool, "exit"))
threading.Thread(target=lambda: [threading.main_thread().join(), print("late thread")]).start()
"""
"""Libraries that print, as some do by accident: when a root is opened, in a call, and when all is over."""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_what_others_print_does_not_reach_the_client(root, tmp_path, unbuffered):
    noisy = tmp_path / "noisy"
    noisy.mkdir()
    (noisy / "sitecustomize.py").write_text(NOISE, encoding="utf-8")
    path = os.pathsep.join(filter(None, [str(noisy), os.environ.get("PYTHONPATH", ""), *catmem_path()]))
    with started(root, env={**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": unbuffered}) as server:
        asked = [*HELLO, message("tools/call", 2, {"name": "memory_list", "arguments": {}})]
        server.stdin.writelines(map(line, asked))
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        out, noise = server.communicate(timeout=SECONDS)
    assert answers[1]["result"]["structuredContent"]["success"] is True
    assert (server.returncode, out) == (0, b"")
    words = ["opening", "call", "exit"]
    assert {*noise.decode().splitlines()} >= {*words, *(f"{word} in C" for word in words), "late thread"}


def catmem_path():
    """Where catmem is imported from, so that a process with another path finds the same."""
    return [str(Path(catmem.__file__).parent.parent)]


# --- what the command line says ----------------------------------------------------------------------------------------


def test_a_closed_input_is_an_error(root):
    found = process("mcp", "-p", "neo", "--root", str(root), cwd=root, status=2, line='"$@" <&-')
    assert b"error[io]: standard input or output is closed" in found.stderr


# --- without options -------------------------------------------------------------------------------------------------


def settled(folder, settings):
    """What to start without options, and where, for a user with these settings, who is in an empty folder."""
    place = folder / "elsewhere"
    place.mkdir()
    (folder / "catmem").mkdir()
    (folder / "catmem" / "mcp.yaml").write_text(settings, encoding="utf-8")
    return [*STARTS["the console script"], "mcp"], {"cwd": place, "env": {**os.environ, "XDG_CONFIG_HOME": str(folder)}}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("profile: [neo]\n", b"schema"),
        ("roots: /tmp\n", b"schema"),
        ("root: /tmp\n", b"Say whose memory to serve"),
        ("profile: neo\nroot: /not/there\n", b"/not/there"),
        ("profile: neo\n", b"no_root"),
    ],
)
def test_settings_that_lead_nowhere_are_told(settings, said, tmp_path):
    command, where = settled(tmp_path, settings)
    done = subprocess.run(command, input=b"", capture_output=True, timeout=SECONDS, check=False, **where)
    assert (done.returncode, said in done.stderr, done.stdout) == (2, True, b"")


async def heard(folder, settings):
    """How many tools a client hears of that starts the server so, and whether it may add."""
    (command, *arguments), where = settled(folder, settings)
    async with Client(StdioServerParameters(command=command, args=arguments, **where)) as client:
        offered = await client.list_tools()
        added = await client.call_tool("memory_add", {"content": "Works here.", "category": "rules"})
        return len(offered.tools), added.structured_content["success"]


def test_a_client_that_starts_it_bare_gets_the_root_and_the_profile_of_its_user(root, tmp_path_factory):
    settings = f"profile: neo\nroot: {root}\n"
    assert anyio.run(heard, tmp_path_factory.mktemp("user"), settings) == (OFFERED, True)
    assert "Works here." in entries(root)
