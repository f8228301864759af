"""MCP in `catmem serve`: a client of the SDK with a token, and requests without one."""

import json
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from catmem.audit import read_audit
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import run, write_root
from tests.end_to_end.test_serve import serving

CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": CLIENT}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    write_root(tmp_path / "root", "")
    return tmp_path / "root"


def token(root, *options):
    return run("token", "new", *options, "--root", root).stdout.strip()


@asynccontextmanager
async def connected(url, token, mode):
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def asked(server, token, body=HELLO, **headers):
    """Status and text of the answer to a request."""
    given = {"Authorization": f"Bearer {token}"} if token else {}
    answer = httpx2.post(f"{server.url}/mcp", json=body, headers={**ACCEPT, **given, **headers}, timeout=60)
    return answer.status_code, answer.text


async def two_agents(url, neo, boss):
    for mode in ("legacy", "auto"):
        async with connected(url, neo, mode) as mine, connected(url, boss, mode) as theirs:
            assert "profile neo" in mine.instructions
            assert "profile boss" in theirs.instructions
            names = [{tool.name for tool in (await client.list_tools()).tools} for client in (mine, theirs)]
            assert ["memory_seed" in each for each in names] == [False, True]
            added = await mine.call_tool("memory_add", {"content": f"Over {mode}.", "category": "rules"})
            assert added.structured_content["success"], added
            refused = await mine.call_tool("memory_add", {"content": "x", "category": "pay"})
            assert refused.structured_content["reason"] == "forbidden"
            shown = await theirs.call_tool("memory_list", {})
            assert f"Over {mode}." not in json.dumps(shown.structured_content)


def test_each_token_is_its_profile(root):
    neo, boss = token(root, "neo"), token(root, "boss")
    with serving(root) as server:
        anyio.run(two_agents, server.url, neo, boss)
        server.stop()
    workspace = Workspace.open(root, search=False)
    assert [each.entry.body for each in workspace.list("neo", category="rules")][-2:] == ["Over legacy.", "Over auto."]
    assert {line.agent for line in read_audit(workspace).lines} == {"neo"}


async def adds_and_changes(client, name, answers):
    for number in range(5):
        fact = f"Fact {number} of {name}."
        calls = (
            ("memory_add", {"content": fact, "category": "rules"}),
            ("memory_list", {}),
            ("memory_replace", {"old_text": fact, "content": f"Changed: {fact}"}),
        )
        answers += [(await client.call_tool(tool, given)).structured_content["success"] for tool, given in calls]


async def two_clients(url, neo):
    answers = []
    async with (
        connected(url, neo, "auto") as one,
        connected(url, neo, "legacy") as other,
        anyio.create_task_group() as tasks,
    ):
        for number in range(3):
            tasks.start_soon(adds_and_changes, one, f"one-{number}", answers)
            tasks.start_soon(adds_and_changes, other, f"other-{number}", answers)
    assert answers == [True] * 90


def test_two_clients_with_one_token_at_once_lose_nothing(root):
    neo = token(root, "neo")
    with serving(root) as server:
        anyio.run(two_clients, server.url, neo)
        server.stop()
    workspace = Workspace.open(root, search=False)
    bodies = [each.entry.body for each in workspace.list("neo", category="rules")]
    assert sum(body.startswith("Changed: Fact ") for body in bodies) == len(set(bodies)) - 1 == 30
    assert [line.status for line in read_audit(workspace).lines] == ["ok"] * 60


def test_a_person_and_a_caller_without_a_good_token_are_refused(root):
    neo, reader = token(root, "neo"), token(root, "neo", "--scope", "read")
    person = token(root, "ann", "--person")
    with serving(root) as server:
        for given, status, code in (("", 401, "no_token"), (reader, 403, "scope"), (person, 403, "no_profile")):
            found, text = asked(server, given)
            assert (found, json.loads(text)["code"]) == (status, code)
        assert asked(server, neo, Origin="https://evil.example")[0] == 403
        assert asked(server, neo)[0] == 200
        server.stop()


def test_a_token_that_was_removed_is_good_no_more(root):
    neo = token(root, "neo")
    with serving(root) as server:
        assert asked(server, neo, LIST)[0] == 200
        run("token", "remove", "neo", "--root", root)
        assert asked(server, neo, LIST)[0] == 401
        assert "Error" not in server.stop()
