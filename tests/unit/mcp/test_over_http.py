"""Where the HTTP server listens, and where it does not."""

import json

import anyio
import pytest
from mcp.server.transport_security import TransportSecuritySettings

from catmem.errors import ConfigError
from catmem.mcp import http
from catmem.mcp.http import PATH, application, listen, url_of
from catmem.mcp.server import make_server
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import write_root


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
def test_loopback_is_fine(host):
    with listen(host, 0) as listening:
        port = listening.getsockname()[1]
        assert url_of(listening).endswith(f":{port}/mcp")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "8.8.8.8", "::ffff:8.8.8.8"])  # noqa: S104 - refused
def test_any_other_address_is_refused_with_the_reason(host):
    with pytest.raises(ConfigError, match="every caller of the server reads and writes memory") as caught:
        listen(host, 0)
    assert caught.value.code == "not_loopback"
    assert "tokens" in caught.value.hint


CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": CLIENT}
PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}


async def ask(app, said, session=None, method="POST", **more):
    """The status of the answer to a request, and its session; without anything ``said`` the body never comes."""
    headers = {"host": "localhost", "content-type": "application/json"}
    headers |= {"accept": "application/json, text/event-stream"} | ({"mcp-session-id": session} if session else {})
    raw = [(name.encode(), value.encode("latin-1")) for name, value in (headers | more).items()]
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http"}
    scope |= {"path": PATH, "raw_path": PATH.encode(), "query_string": b"", "root_path": "", "headers": raw}
    parts = [{"type": "http.request", "body": json.dumps(said).encode()}] if said else []
    answers = []

    async def receive():
        return parts.pop() if parts else await anyio.sleep_forever()

    async def send(part):
        answers.append(part)

    await app(scope, receive, send)
    got = {name.lower(): value.decode() for name, value in answers[0]["headers"]}
    return answers[0]["status"], got.get(b"mcp-session-id")


@pytest.mark.anyio
@pytest.mark.parametrize(("quiet_seconds", "last", "first"), [(0.0, 200, 404), (60.0, 503, 200)])
async def test_sessions_that_were_quiet_end_where_many_are_open(tmp_path, monkeypatch, quiet_seconds, last, first):
    monkeypatch.setattr(http, "MOST_SESSIONS", 4)
    monkeypatch.setattr(http, "QUIET_SECONDS", quiet_seconds)
    write_root(tmp_path)
    server = make_server(Workspace.open(tmp_path, search=False), "neo")
    app = application(server, TransportSecuritySettings(allowed_hosts=["localhost"]))
    async with server.session_manager.run():
        opened = [await ask(app, HELLO) for _ in range(3)]
        assert [status for status, _ in opened] == [200, 200, 200]
        # More than half are open, and a client that has a session uses it on.
        assert (await ask(app, PING, opened[0][1]))[0] == 200
        statuses = [(await ask(app, HELLO))[0] for _ in range(2)]
        assert statuses == [200, last]
        assert (await ask(app, PING, opened[0][1]))[0] == first


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("led", "status"), [({"host": "evil\x1b[31m\x9b2J"}, 421), ({"host": ""}, 421), ({"origin": "http://e\x9b2J"}, 403)]
)
async def test_a_request_that_was_led_here_ends_no_session_is_not_read_and_not_printed(
    tmp_path, monkeypatch, caplog, led, status
):
    monkeypatch.setattr(http, "MOST_SESSIONS", 2)
    monkeypatch.setattr(http, "QUIET_SECONDS", 0.0)
    write_root(tmp_path)
    server = make_server(Workspace.open(tmp_path, search=False), "neo")
    app = application(server, TransportSecuritySettings(allowed_hosts=["localhost"]))
    async with server.session_manager.run():
        opened = [await ask(app, HELLO) for _ in range(2)]
        assert (await ask(app, None, **led))[0] == status
        assert [(await ask(app, PING, session))[0] for _, session in opened] == [200, 200]
    assert caplog.messages
    assert all(message.isprintable() for message in caplog.messages)


@pytest.mark.anyio
async def test_a_session_ends_for_whoever_knows_its_id_and_for_nobody_else(tmp_path):
    write_root(tmp_path)
    server = make_server(Workspace.open(tmp_path, search=False), "neo")
    app = application(server, TransportSecuritySettings(allowed_hosts=["localhost"]))
    async with server.session_manager.run():
        (_, first), (_, second) = [await ask(app, HELLO) for _ in range(2)]
        for junk in ("x" * 10_000, "\x9b\xff", first[:-1], first.upper() + "A"):
            assert (await ask(app, PING, method="DELETE", **{"mcp-session-id": junk}))[0] == 404
        assert (await ask(app, PING, first, method="DELETE"))[0] == 200
        assert [(await ask(app, PING, each))[0] for each in (first, second)] == [404, 200]
