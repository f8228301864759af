"""MCP in ``catmem serve``: ``POST /mcp``, where the profile of a token is the one that acts.

Each request stands alone. What an agent was shown, here or by the API, its token remembers. The guard has looked at
host, size, token and scope before. The SDK is loaded with the first request, not with the server.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.routing import BaseRoute, Route
from starlette.types import Message, Receive, Scope, Send

from catmem.envelopes.tokens import Token, caller_of
from catmem.errors import RequestError
from catmem.server.guard import in_thread

if TYPE_CHECKING:  # the SDK takes long to load
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


_LOADING = Lock()


def routes() -> list[BaseRoute]:
    """The route. There are no streams to open and no sessions to end, so it takes no other method."""
    return [Route("/mcp", _McpRoute(), methods=["POST"], name="mcp")]


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
        sent: list[Message] = [{"type": "http.request", "body": await request.body()}]

        async def received() -> Message:
            return sent.pop() if sent else await receive()

        manager = await in_thread(request, _manager, request, caller, caller.profile)
        async with manager.run():
            await manager.handle_request(scope, received, send)


def _manager(request: Request, caller: Token, profile: str) -> StreamableHTTPSessionManager:
    with _LOADING:  # of threads that import at once, one may be given a module that is not whole yet
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from catmem.mcp.server import make_server

    state = request.app.state
    session = state.sessions.session((caller.token_id, profile), profile)
    return StreamableHTTPSessionManager(
        make_server(state.workspace, profile, session),
        json_response=True,
        stateless=True,
        max_request_body_size=state.settings.max_body,
    )
