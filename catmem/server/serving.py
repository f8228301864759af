"""A server from its socket to its end."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import h11
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from catmem.errors import ConfigError
from catmem.workspace import root as sockets

LOG = logging.getLogger("catmem.server")
CONNECTIONS = 512
"""Connections that may be open at once. Where they are, one on which nothing is asked makes room for the next."""
_SECONDS_TO_END = 8
"""How long requests that are under way may take when the server is stopped. Writes that were begun take longer."""
_KEEP_ALIVE = 20
_LONGEST_HEADER = 32 << 10
_LONGEST_TURN = 0.001
"""Seconds for which a worker thread that computes may keep the loop from its turn. Python's own is five times that."""


def listen(host: str, port: int, *, has_tokens: bool) -> socket.socket:
    """A socket that listens; port 0 takes any that is free."""
    refusal = ConfigError(
        f"{host} can be reached by others, and without tokens every caller reads and writes memory",
        code="no_tokens",
        hint="Make a token for each caller first: catmem token new AGENT. Or use --host 127.0.0.1.",
    )
    return sockets.listen(host, port, refusal=None if has_tokens else refusal)


def url_of(listening: socket.socket) -> str:
    """Where clients find the server: ``http://127.0.0.1:8428``."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(app: Starlette, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Serve on the socket until SIGINT or SIGTERM, and finish what is under way. The store is left open."""
    config = uvicorn.Config(
        app,
        http=HttpConnection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_SECONDS_TO_END,
        h11_max_incomplete_event_size=_LONGEST_HEADER,
    )
    sys.setswitchinterval(_LONGEST_TURN)
    try:
        asyncio.run(HttpServer(config, ready, app.state.stopping.set).serve_on(listening))
    finally:
        app.state.workers.close()


class HttpConnection(H11Protocol):
    """uvicorn's, whose limit counts silent connections too: where it is reached, the oldest of these ends."""

    connections: set[HttpConnection]  # type: ignore[assignment]  # no others are made
    cycle: RequestResponseCycle | None  # type: ignore[assignment]
    begun = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, and make room for the request that comes: who never asked leaves before who may ask again."""
        silent = [each for each in self.connections if each.cycle is None or each.cycle.response_complete]
        super().connection_made(transport)
        self.begun = self.loop.time()
        if silent and len(self.connections) >= CONNECTIONS:
            oldest = min(silent, key=lambda each: (each.cycle is not None, each.begun))
            self.connections.discard(oldest)
            oldest.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, if no answer is on its way yet, and end the connection.

        uvicorn's tries it in any state, and an application that answers a broken request fails: each a traceback.
        """
        LOG.info("%s %s", self.client[0] if self.client else "-", msg)
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            super().send_400_response(msg)
        else:
            self.transport.close()


class HttpServer(uvicorn.Server):
    """uvicorn that tells when it has started and when it ends, without its way with signals: it raises them again."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], None], ending: Callable[[], None] | None = None
    ) -> None:
        """``ready`` is called once when requests are answered, ``ending`` when they are no longer."""
        super().__init__(config)
        self._ready = ready
        self._ending = ending

    async def serve_on(self, listening: socket.socket) -> None:
        """Serve until SIGINT or SIGTERM; the second one does not wait for clients."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop)
        await self.serve(sockets=[listening])

    def _stop(self) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what is under way."""
        if self._ending is not None:
            self._ending()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield
