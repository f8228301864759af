"""MCP in ``catmem serve``: ``/mcp``, where the profile of a token is the one that acts.

Each profile has a server of its own, made at its first request; all have the store of the root. The guard has looked at
host, size, token and scope before. The SDK is loaded with the first of them, not with the server.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from starlette.applications import Starlette
from starlette.datastructures import Headers, State
from starlette.requests import Request
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from catmem.envelopes.tokens import Token, caller_of, no_token
from catmem.errors import CatmemError, RequestError
from catmem.server.guard import in_thread, stopping
from catmem.writing.drift_guard import MOST_SESSIONS, QUIET_SECONDS

if TYPE_CHECKING:  # the SDK takes long to load
    from mcp.server.lowlevel import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"
_IDLE_SECONDS = 30 * 60.0
"""A session without a request for so long ends. While more than half of the sessions are open, ``QUIET_SECONDS`` do."""
_MOMENT = 0.001
_SECONDS_TO_END = 2
"""How long streams and answers may take to end when the server is stopped; what was begun is finished all the same."""


def with_room(server: Server[Any], largest: int) -> ASGIApp:
    """What answers all requests, of ``largest`` bytes. Clients that went away without a word keep no others out."""
    from mcp.server.transport_security import TransportSecuritySettings

    app = server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=largest,
        session_idle_timeout=_IDLE_SECONDS,
        max_sessions=MOST_SESSIONS,
    )

    async def roomy(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and "mcp-session-id" not in Headers(scope=scope):
            await _make_room(server.session_manager)
        await app(scope, receive, send)

    return roomy


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


# --- in catmem serve -------------------------------------------------------------------------------------------------

_LOOK_SECONDS = 15.0
"""A stream ends so soon after its token."""


def routes() -> list[BaseRoute]:
    """The route, for all methods of the protocol."""
    return [Route("/mcp", _McpRoute(), methods=["GET", "POST", "DELETE"], name="mcp")]


class _McpRoute:
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of an agent. Raises ``RequestError`` 403 (``no_profile``) for one of a person."""
        request = Request(scope, receive)
        caller = caller_of(request)
        if caller.profile is None:
            raise RequestError(
                "MCP is for agents, and this caller is a person",
                code="no_profile",
                hint="Make a token for an agent (catmem token new AGENT), or start catmem mcp --profile NAME.",
            )
        if not hasattr(request.app.state, "mcp"):
            request.app.state.mcp = McpServers(request.app)
            request.app.state.endings.append(request.app.state.mcp.close)
        servers: McpServers = request.app.state.mcp
        app = await servers.app(request, caller.profile)
        await _answered(request, app, _as_client(scope, caller), send)


def _as_client(scope: Scope, caller: Token) -> Scope:
    """The request for the SDK: a session is good for the token that began it, and for no other."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    return {**scope, "user": AuthenticatedUser(AccessToken(token="", client_id=caller.token_id, scopes=[]))}


async def _answered(request: Request, app: ASGIApp, scope: Scope, send: Send) -> None:
    """Have it answered; a stream ends, and ends well, with its token and with the server."""
    begun = False

    async def sent(message: Message) -> None:
        nonlocal begun
        begun = True
        await send(message)

    answer = asyncio.ensure_future(app(scope, request.receive, sent))
    look = asyncio.ensure_future(_until_refused(request))
    try:
        await asyncio.wait([answer, look], return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            await answer
            return
    finally:
        for task in (answer, look):
            task.cancel()
        await asyncio.gather(answer, look, return_exceptions=True)
    if not begun:
        raise stopping() if request.app.state.stopping.is_set() else no_token()
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_refused(request: Request) -> None:
    state, caller = request.app.state, caller_of(request)
    while not state.stopping.is_set():
        try:
            if state.identify(request.scope) != caller:
                return
        except CatmemError:
            return  # the tokens cannot be read
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_SECONDS):
                await state.stopping.wait()
    if request.method != "GET":
        await asyncio.sleep(_SECONDS_TO_END)


class McpServers:
    """The MCP servers of an application, by profile. Belongs to the thread of the loop."""

    def __init__(self, app: Starlette) -> None:
        """No profile has one yet."""
        self._state = app.state
        self._making = asyncio.Lock()
        self._apps: dict[str, ASGIApp] = {}
        self._running: list[asyncio.Task[None]] = []
        self._ending = asyncio.Event()

    async def app(self, request: Request, profile: str) -> ASGIApp:
        """What answers the requests of a profile. Raises ``UnknownNameError``, ``ConfigError``, ``RequestError``."""
        async with self._making:
            if self._state.stopping.is_set():
                raise stopping()
            if profile not in self._apps:
                make = partial(_made, self._state, profile)
                server, app = await in_thread(request, make)
                ready = asyncio.Event()
                self._running.append(asyncio.create_task(self._run(server, ready)))
                await ready.wait()
                self._apps[profile] = app
        return self._apps[profile]

    async def _run(self, server: Server[Any], ready: asyncio.Event) -> None:
        async with server.session_manager.run():
            ready.set()
            await self._ending.wait()

    async def close(self) -> None:
        """End all sessions, after the calls that are under way."""
        self._ending.set()
        await asyncio.gather(*self._running)


def _made(state: State, profile: str) -> tuple[Server[Any], ASGIApp]:
    from catmem.mcp.server import make_server

    server = make_server(state.workspace, profile, state.sessions)
    return server, with_room(server, state.settings.max_body)
