"""Whatever an agent asks at any door, hidden entries are not shown, not changed, and make no difference."""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError
from starlette.testclient import TestClient

from catmem.envelopes.tokens import new_token
from catmem.mcp.server import make_server
from catmem.ops.memory_tool import memory_tool
from catmem.server.app import create_app
from catmem.server.guard import ServerSettings
from catmem.workspace.workspace import Workspace
from catmem.writing.drift_guard import ToolSession
from tests.property.asked import of_http, of_mcp, of_tool
from tests.property.canaries import CANARY, CONFIG, HIDDEN, opened, text_with, write_root
from tests.roots import put_bytes


@pytest.fixture(scope="module", params=CONFIG)
def folder(request, tmp_path_factory):
    """A root with two profiles, whose taxonomy is open or closed."""
    return write_root(tmp_path_factory.mktemp(request.param), CONFIG[request.param])


def hidden_entries(workspace: Workspace, entity: str) -> list[str]:
    document = workspace.parse(workspace.store.peek(entity))
    return [f"{entry.category}: {entry.raw}" for entry in document.entries if entry.category in HIDDEN]


@contextmanager
def nothing_hidden_changes(workspace: Workspace) -> Iterator[None]:
    """Whatever is asked meanwhile: hidden entries, and all of the other profile, stay as they are."""

    def kept():
        hidden = [entry for entity in ("neo/user", "neo/memory") for entry in hidden_entries(workspace, entity)]
        return [entry for entry in hidden if CANARY in entry], workspace.store.read("other/user")

    before = kept()
    yield
    assert kept() == before
    assert workspace.store.head("other/memory") is None


DIGEST = re.compile("sha256:[0-9a-f]{6}")


def assert_nothing_hidden_is_told(sequence: Iterable[object], told: Iterable[str]) -> None:
    for call, said in zip(sequence, told, strict=True):
        # What the client itself said may come back; what it guessed, it knew.
        if CANARY.lower() not in json.dumps(call).lower():
            assert CANARY.lower() not in said.lower(), call
        assert not DIGEST.search(said), call


@given(sequence=st.lists(of_tool, min_size=1, max_size=6), in_session=st.booleans())
def test_the_memory_tool(folder, sequence, in_session):
    workspace = opened(folder, text_with(CANARY))
    session = ToolSession() if in_session else None
    with nothing_hidden_changes(workspace):
        for arguments in sequence:
            answer = memory_tool(workspace, "neo", arguments, session=session)
            said = json.dumps(answer, ensure_ascii=False, allow_nan=False).lower()
            assert CANARY.lower() not in said, arguments
            assert not DIGEST.search(said), arguments


# --- HTTP --------------------------------------------------------------------------------------------------------------

ROLE = re.compile(r'"role_hash":"sha256:[0-9a-f]{64}"|"digest":"sha256:[0-9a-f]{64}","profile"')
"""Digests of what the caller has been given: of its own profile, and of its own prompt."""

GOOD = {"entity_id": "neo/user", "content": [{"action": "add", "content": "a fact", "category": "talk"}], "prev_rev": 1}
IN_DROP = {**GOOD, "content": [{"action": "add", "content": "a drop", "category": "drop"}]}
LOG = ("GET", "/mem/log", {"entity_id": "neo"}, None)
EXAMPLES = (
    [("POST", "/mem/write", {}, GOOD), LOG],
    [("POST", "/mem/write", {}, IN_DROP), LOG],
    [("GET", "/mem/read", {"entity_id": "other/user"}, None), ("GET", "/prompt/other", {}, None)],
    [("POST", "/mem/write", {}, {**GOOD, "prev_rev": 0}), ("POST", "/mem/write", {}, {**GOOD, "prev_rev": 7})],
    [("GET", "/mem/read", {"entity_id": "neo", "revision": "1"}, None), ("GET", "/mem/branches", {}, None)],
)


def with_examples(test):
    for each in EXAMPLES:
        test = example(sequence=each)(test)
    return test


def root_with(folder, canary: str, vault: str = "Vault"):
    """A root in which ``neo`` has hidden entries, and another profile an entry where ``neo`` would see it in its own."""
    workspace = opened(folder, text_with(canary, vault))
    put_bytes(workspace, "other/user", f"## Talk\n{canary} of another\n")
    return workspace


@pytest.fixture(scope="module")
def token(folder, tmp_path_factory):
    """A file of tokens, and the token of ``neo`` in it."""
    path = tmp_path_factory.mktemp("tokens") / "tokens.json"
    return path, new_token(opened(folder, "").config, path, "neo")[1]


def answers_of_http(workspace, token, sequence) -> list[str]:
    """All that the agent is told, tags included."""
    path, text = token
    app = create_app(workspace, ServerSettings(tokens=path))
    headers = {"Authorization": f"Bearer {text}", "Accept": "application/json"}
    client = TestClient(app, base_url="http://127.0.0.1:8428", headers=headers)
    found = []
    for method, where, params, body in sequence:
        sent = {} if body is None else {"content": json.dumps(body), "headers": {"Content-Type": "application/json"}}
        response = client.request(method, where, params=params or None, **sent)
        assert response.status_code < 500, (method, where, response.text)
        found.append(f"{response.status_code} {response.headers.get('etag')} {response.text}")
    app.state.workers.shutdown()
    return found


@with_examples
@given(sequence=st.lists(of_http, min_size=1, max_size=6))
def test_the_http_api(folder, token, sequence):
    workspace = root_with(folder, CANARY)
    with nothing_hidden_changes(workspace):
        told = answers_of_http(workspace, token, sequence)
    assert_nothing_hidden_is_told(sequence, [ROLE.sub("", said) for said in told])


# --- MCP ---------------------------------------------------------------------------------------------------------------


async def answer_to(client: Client, kind: str, name: str, arguments: dict) -> str:
    """All that the client is told."""
    try:
        match kind:
            case "tool":
                answer = await client.call_tool(name, arguments)
            case "resource":
                answer = await client.read_resource(name)
            case "prompt":
                answer = await client.get_prompt(name, arguments)
            case "resources":
                answer = await client.list_resources()
            case _:
                answer = await client.list_tools()
    except MCPError as error:
        return json.dumps([error.error.code, error.error.message, error.error.data])
    return answer.model_dump_json(exclude={"meta"})


def answers_of_mcp(workspace, sequence, era) -> list[str]:
    async def talk() -> list[str]:
        async with Client(make_server(workspace, "neo"), mode=era) as client:
            return [await answer_to(client, *each) for each in sequence]

    return anyio.run(talk)


@settings(max_examples=settings().max_examples // 4)  # a client that connects takes its time
@given(sequence=st.lists(of_mcp, min_size=1, max_size=6), era=st.sampled_from(["legacy", "auto"]))
def test_the_mcp_server(folder, sequence, era):
    workspace = opened(folder, text_with(CANARY))
    with nothing_hidden_changes(workspace):
        told = answers_of_mcp(workspace, sequence, era)
    assert_nothing_hidden_is_told(sequence, told)
