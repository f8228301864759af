"""The server over streamable HTTP, for programs on this machine."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Any

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from catmem.errors import ConfigError
from catmem.server import serving
from catmem.workspace import root as sockets
from catmem.writing.drift_guard import MOST_SESSIONS, QUIET_SECONDS

_log = logging.getLogger("catmem.mcp")

PATH = "/mcp"
_LARGEST_REQUEST = 1 << 20
"""Bytes; a call of the memory tool has at most a quarter of that."""
_IDLE_SECONDS = 30 * 60.0
"""A session without a request for so long ends. While more than half of the sessions are open, ``QUIET_SECONDS`` do."""
_MOMENT = 0.001
_SECONDS_TO_END = 2
"""How long open streams may take to end when the server is stopped."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on a loopback address; port 0 takes any that is free."""
    refusal = ConfigError(
        f"{host} is not an address of this machine alone, and every caller of the server reads and writes memory",
        code="not_loopback",
        hint="Use --host 127.0.0.1, ::1 or localhost. Agents on other machines go through catmem serve, with tokens.",
    )
    return sockets.listen(host, port, refusal=refusal)


def url_of(listening: socket.socket) -> str:
    """Where clients find the server: ``http://127.0.0.1:8427/mcp``."""
    return f"{serving.url_of(listening)}{PATH}"


def serve_http(server: Server[Any], listening: socket.socket, ready: Callable[[], None]) -> None:
    """Serve on the socket until SIGINT or SIGTERM, and finish the calls that are under way."""
    port = listening.getsockname()[1]
    hosts = {
        serving.url_of(listening).removeprefix("http://"),
        f"127.0.0.1:{port}",
        f"[::1]:{port}",
        f"localhost:{port}",
    }
    # A foreign name may lead here too: a browser that follows it gives that name as the host, and a page of
    # another site gives its own as the origin.
    security = TransportSecuritySettings(
        allowed_hosts=sorted(hosts), allowed_origins=sorted(f"http://{host}" for host in hosts)
    )
    config = uvicorn.Config(
        application(server, security),
        log_config=None,
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=_SECONDS_TO_END,
    )
    asyncio.run(serving.HttpServer(config, ready).serve_on(listening))


def application(server: Server[Any], security: TransportSecuritySettings) -> ASGIApp:
    """What answers the requests that were meant for this server."""
    app = with_room(server, security, _LARGEST_REQUEST)

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        refusal = _refusal(Headers(scope=scope), security) if scope["type"] == "http" else None
        await (refusal or app)(scope, receive, send)

    return guarded


def with_room(server: Server[Any], security: TransportSecuritySettings | None, largest: int) -> ASGIApp:
    """What answers all requests, of ``largest`` bytes. Clients that went away without a word keep no others out."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=security or TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=largest,
        session_idle_timeout=_IDLE_SECONDS,
        max_sessions=MOST_SESSIONS,
    )

    async def roomy(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and "mcp-session-id" not in Headers(scope=scope):
            await _make_room(server.session_manager)
        await app(scope, receive, send)

    return roomy


def _refusal(headers: Headers, security: TransportSecuritySettings) -> Response | None:
    """The answer to a request that was led here."""
    host, origin = headers.get("host", ""), headers.get("origin")
    if host not in security.allowed_hosts:
        _log.warning("refused a request for the host %.100r", host)
        return Response("Invalid Host header", status_code=421)
    if origin and origin not in security.allowed_origins:
        _log.warning("refused a request from a page of %.100r", origin)
        return Response("Invalid Origin header", status_code=403)
    return None


async def _make_room(manager: StreamableHTTPSessionManager) -> None:
    """End the sessions that were quiet for a minute, if more than half are open. Their clients may begin new ones."""
    sessions = manager._server_instances  # noqa: SLF001 - the SDK tells of them in no other way
    if len(sessions) <= MOST_SESSIONS // 2:
        return
    latest = anyio.current_time() + _IDLE_SECONDS - QUIET_SECONDS
    ended: list[str] = []
    for name, transport in sessions.items():
        # While a request is served, or a stream is open, the deadline is infinite.
        if transport.idle_scope is not None and transport.idle_scope.deadline <= latest:
            transport.idle_scope.cancel()
            ended.append(name)
    with anyio.move_on_after(_SECONDS_TO_END):
        while not sessions.keys().isdisjoint(ended):  # noqa: ASYNC110 - the SDK has no event for it
            await anyio.sleep(_MOMENT)
