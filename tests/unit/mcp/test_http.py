"""Requests to `/mcp`, each of which stands alone, and what is remembered of who speaks."""

import pytest

from catmem.envelopes.tokens import new_token
from catmem.mcp import http
from catmem.server.app import create_app
from catmem.server.guard import ServerSettings
from catmem.workspace.workspace import Workspace
from catmem.writing.drift_guard import QUIET_SECONDS, Sessions
from tests.end_to_end.terminal import write_root
from tests.http_root import ADDRESS
from tests.roots import make_root

CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
ACCEPT = {"accept": "application/json, text/event-stream"}


def message(method, **params):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


HELLO = message("initialize", **CLIENT)


@pytest.fixture
def client(tmp_path):
    """neo, with a token, at a server whose requests have 4,000 bytes at most."""
    from starlette.testclient import TestClient

    write_root(tmp_path / "root")
    workspace, tokens = Workspace.open(tmp_path / "root", search=False), tmp_path / "tokens" / "tokens.json"
    _, text = new_token(workspace.config, tokens, "neo")
    app = create_app(workspace, ServerSettings(tokens=tokens, max_body=4_000), more=http.routes())
    with TestClient(app, base_url=ADDRESS, headers=ACCEPT | {"Authorization": f"Bearer {text}"}) as client:
        yield client
    workspace.store.close()


def asked(client, name, **arguments):
    answer = client.post("/mcp", json=message("tools/call", name=name, arguments=arguments))
    return answer.json()["result"]["structuredContent"]


def test_a_request_needs_no_other_before_it_and_an_answer_is_json(client):
    assert asked(client, "memory_list")["success"]
    hello = client.post("/mcp", json=HELLO)
    assert "profile neo" in hello.json()["result"]["instructions"]
    assert "mcp-session-id" not in hello.headers


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_there_are_no_streams_and_no_sessions(client, method):
    refused = client.request(method, "/mcp", headers={"mcp-session-id": "1"})
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")


def test_a_body_over_the_limit_is_refused_however_it_comes(client):
    long = message("tools/call", name="memory_add", arguments={"content": "x" * 5_000})
    assert client.post("/mcp", json=long).json()["code"] == "too_large"
    parts = client.post("/mcp", content=iter([b"x" * 3_000] * 2), headers={"content-type": "application/json"})
    assert (parts.status_code, parts.json()["code"]) == (413, "too_large")


def test_a_call_that_is_refused_again_and_again_is_told_to_stop(client):
    said = [asked(client, "memory_remove", old_text="no such text") for _ in range(4)]
    assert {each["reason"] for each in said[:3]} == {"no_match"}
    assert said[3]["remediation"] != said[0]["remediation"]


# --- what is remembered of who speaks, and for how long a refusal counts -----------------------------------------------


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def known(clock, tmp_path):
    return Sessions(make_root(tmp_path, profiles={"neo": "tier: 1\n"}, files={"neo/user": "Tea.\n"}), clock)


def test_one_id_is_one_session_and_another_is_another(known):
    assert known.session("a", "neo") is known.session("a", "neo")
    assert known.session("a", "neo") is not known.session("b", "neo")
    assert known.session(None, "neo") is not known.session("a", "neo")


def test_refusals_are_counted_until_a_quiet_minute_which_forgets_nothing_else(known, clock):
    session = known.session("a", "neo")
    for _ in range(5):
        known.session("a", "neo").refusals[0] += 1
        clock.now += QUIET_SECONDS - 1
    assert known.session("a", "neo").refusals == {0: 5}
    clock.now += QUIET_SECONDS
    assert not known.session("a", "neo").refusals
    assert known.session("a", "neo") is session
