"""The sessions of `/mcp`, what ends its streams, and what is remembered of who speaks."""

import json
from contextlib import asynccontextmanager

import anyio
import pytest

from catmem.envelopes.tokens import new_token, remove_tokens
from catmem.mcp import http
from catmem.mcp.http import with_room
from catmem.mcp.server import make_server
from catmem.server.app import create_app
from catmem.server.guard import ServerSettings
from catmem.workspace.workspace import Workspace
from catmem.writing.drift_guard import MOST_SESSIONS, QUIET_SECONDS, Sessions
from tests.end_to_end.terminal import write_root
from tests.roots import make_root
from tests.unit.mcp.talk import talks

CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": CLIENT}
PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}


async def ask(app, said, session=None, method="POST", **more):
    """The status of the answer to a request, and its session; without anything ``said`` the body never comes."""
    headers = {"host": "localhost", "content-type": "application/json"}
    headers |= {"accept": "application/json, text/event-stream"} | ({"mcp-session-id": session} if session else {})
    raw = [(name.encode(), value.encode("latin-1")) for name, value in (headers | more).items()]
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http"}
    scope |= {"path": "/mcp", "raw_path": b"/mcp", "query_string": b"", "root_path": "", "headers": raw}
    parts = [{"type": "http.request", "body": json.dumps(said).encode()}] if said else []
    answers = []

    async def receive():
        return parts.pop() if parts else await anyio.sleep_forever()

    async def send(part):
        answers.append(part)

    await app(scope, receive, send)
    got = {name.lower(): value.decode() for name, value in answers[0]["headers"]}
    return answers[0]["status"], got.get(b"mcp-session-id")


@asynccontextmanager
async def running(folder):
    """The application of a server for neo, whose sessions are open."""
    write_root(folder)
    server = make_server(Workspace.open(folder, search=False), "neo")
    app = with_room(server, 1 << 20)
    async with server.session_manager.run():
        yield app


@pytest.mark.anyio
@pytest.mark.parametrize(("quiet_seconds", "last", "first"), [(0.0, 200, 404), (60.0, 503, 200)])
async def test_sessions_that_were_quiet_end_where_many_are_open(tmp_path, monkeypatch, quiet_seconds, last, first):
    monkeypatch.setattr(http, "MOST_SESSIONS", 4)
    monkeypatch.setattr(http, "QUIET_SECONDS", quiet_seconds)
    async with running(tmp_path) as app:
        opened = [await ask(app, HELLO) for _ in range(3)]
        assert [status for status, _ in opened] == [200, 200, 200]
        # More than half are open, and a client that has a session uses it on.
        assert (await ask(app, PING, opened[0][1]))[0] == 200
        statuses = [(await ask(app, HELLO))[0] for _ in range(2)]
        assert statuses == [200, last]
        assert (await ask(app, PING, opened[0][1]))[0] == first


@pytest.mark.anyio
async def test_a_session_ends_for_whoever_knows_its_id_and_for_nobody_else(tmp_path):
    async with running(tmp_path) as app:
        (_, first), (_, second) = [await ask(app, HELLO) for _ in range(2)]
        for junk in ("x" * 10_000, "\x9b\xff", first[:-1], first.upper() + "A"):
            assert (await ask(app, PING, method="DELETE", **{"mcp-session-id": junk}))[0] == 404
        assert (await ask(app, PING, first, method="DELETE"))[0] == 200
        assert [(await ask(app, PING, each))[0] for each in (first, second)] == [404, 200]


@talks
async def test_a_stream_ends_well_after_its_token(tmp_path, monkeypatch):
    monkeypatch.setattr(http, "_LOOK_SECONDS", 0.01)
    write_root(tmp_path / "root")
    workspace, file = Workspace.open(tmp_path / "root", search=False), tmp_path / "tokens" / "tokens.json"
    _, text = new_token(workspace.config, file, "neo")
    app = create_app(workspace, ServerSettings(tokens=file), more=http.routes())
    headers = {"authorization": f"Bearer {text}"}
    status, session = await ask(app, HELLO, **headers)
    assert status == 200
    ended: list[int] = []

    async def listen():
        found, _ = await ask(app, HELLO, session, method="GET", **headers)
        ended.append(found)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            await anyio.sleep(0.1)
            assert ended == []
            remove_tokens(file, "neo")
    assert ended == [200]
    await app.state.mcp.close()
    workspace.store.close()


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


def test_the_one_that_was_quiet_longest_is_forgotten_first(known):
    first, second = known.session("first", "neo"), known.session("second", "neo")
    for number in range(MOST_SESSIONS - 2):
        known.session(str(number), "neo")
    assert known.session("first", "neo") is first
    known.session("one more", "neo")
    assert known.session("first", "neo") is first
    assert known.session("second", "neo") is not second
