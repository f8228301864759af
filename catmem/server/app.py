"""The server: an application, which is the routes and what stands before them, served from its socket to its end."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from catmem.envelopes.tokens import KEY, Token, Tokens
from catmem.errors import ConfigError
from catmem.names import TARGETS
from catmem.registry import at, registry
from catmem.server.guard import Guard, ServerSettings, in_thread, refuse_missing
from catmem.server.requests import error_response, path_of, refuse_query, wants_page
from catmem.store.contract import PERSON
from catmem.workspace.overview import Overviews
from catmem.workspace.root import load_each
from catmem.workspace.workspace import Workspace
from catmem.writing.drift_guard import Sessions

LOG = logging.getLogger("catmem.server")


def create_app(
    workspace: Workspace,
    settings: ServerSettings,
    routes: Sequence[BaseRoute] | None = None,
    more: Sequence[BaseRoute] = (),
) -> Starlette:
    """The application over a root. Its state has ``workspace``, ``settings``, ``workers``, ``tokens`` and ``sessions``.

    ``routes`` take the place of those of the API, the metrics and the page; ``more`` stand beside them. Raises
    ``ConfigError`` and ``UnreadableError`` for a file of tokens that cannot be used.
    """
    tokens = None if settings.tokens is None else Tokens(settings.tokens)
    # Without tokens only this machine is listened to, and every caller is a person.
    identify = (lambda _: Token("", PERSON, None)) if tokens is None else tokens.identify
    own = [Route("/healthz", _healthz, methods=["GET"]), Route("/readyz", _readyz, methods=["GET"])]
    app = Starlette(
        routes=[*own, *(_routes_of_parts(settings) if routes is None else routes), *more],
        middleware=[
            Middleware(Answers),
            Middleware(Guard, settings=settings, identify=identify, root=workspace.root),
        ],
        exception_handlers={HTTPException: _http_error},
        lifespan=_lifespan,
    )
    app.state.workspace = workspace
    app.state.settings = settings
    app.state.tokens = tokens
    app.state.identify = identify
    app.state.workers = ThreadPoolExecutor(_THREADS, thread_name_prefix="catmem")
    app.state.sessions = Sessions(workspace)
    for caller in () if tokens is None else tokens.agents():
        app.state.sessions.session((caller.token_id, caller.profile), str(caller.profile))
    if settings.page:
        app.state.overviews = Overviews(workspace)
        app.state.remarks = {}
    return app


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    if app.state.settings.page:  # of a large root the first overview takes seconds; what is wrong, the page says
        app.state.workers.submit(app.state.overviews.read)
    yield
    # The caller that runs the server closes the store after this: what was begun is in it.
    await asyncio.get_running_loop().run_in_executor(None, _close, app)


def _close(app: Starlette) -> None:
    app.state.workers.shutdown(cancel_futures=True)
    meter = getattr(app.state, "meter", None)
    if meter is not None:  # metrics were asked for
        meter.close()


def _routes_of_parts(settings: ServerSettings) -> list[BaseRoute]:
    from catmem.server import metrics
    from catmem.server.routes import api_routes

    routes = [*api_routes(), *metrics.routes()]
    if settings.page:
        routes += [route for module in registry().pages for route in at(module).routes()]
    return routes


# --- whether it works ------------------------------------------------------------------------------------------------


async def _healthz(request: Request) -> Response:
    refuse_query(request)
    return JSONResponse({"status": "ok"})


async def _readyz(request: Request) -> Response:
    """The store answers too, and takes writes: 503 with the code of its error else."""
    refuse_query(request)
    await in_thread(request, _refuse_unready, request.app.state.workspace)
    return JSONResponse({"status": "ready"})


def _refuse_unready(workspace: Workspace) -> None:
    config = workspace.config
    refuse_missing(config.path or config.profiles_dir, "the root is not whole")  # its disk may not be mounted
    profiles, _ = load_each(workspace)  # one that is not right keeps no other from working
    entities = [f"{profile.name}/{target}" for profile in profiles for target in TARGETS] + [*config.entities]
    for entity in entities[:1]:
        workspace.store.head(entity)  # whether there is such an entity or not
    workspace.store.check_writable(entities)


# --- errors ----------------------------------------------------------------------------------------------------------


POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
_HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    # Memory stays in no cache.
    (b"cache-control", b"no-store"),
)


class Answers:
    """Turns every error into an answer, and lets no other leave: the server lives on. Writes the log of requests.

    Gives every answer the headers that keep a browser from doing with it what it is not for.
    """

    def __init__(self, app: ASGIApp) -> None:
        """``app`` may raise whatever it likes."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        status = 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message.get("headers", ())]
                names = {name.lower() for name, _ in headers}
                message = {**message, "headers": [*headers, *(each for each in _HEADERS if each[0] not in names)]}
            await send(message)

        try:
            await self._app(scope, receive, sent)
        except ClientDisconnect:
            pass  # the client is gone; the log has a line with status 0
        except Exception as error:
            if status:
                raise  # half an answer is out: the connection is closed
            await _shown(Request(scope), error)(scope, receive, sent)
        finally:
            _log(scope, status, time.perf_counter() - begun)


async def _http_error(request: Request, error: Exception) -> Response:
    return _shown(request, error)


def _shown(request: Request, error: Exception) -> Response:
    """The answer to a request that an error ended: a browser gets a page, if there are pages."""
    pages = registry().pages if request.app.state.settings.page else []
    if not (pages and wants_page(request)):
        return error_response(request, error)
    try:
        response: Response = at(pages[0]).error_page(request, error)
    except Exception:
        LOG.exception("the page of an error could not be made")
        return error_response(request, error)
    return response


def _log(scope: Scope, status: int, seconds: float) -> None:
    """One line a request: no query, no header, no body, so nothing that is secret."""
    if not LOG.isEnabledFor(logging.INFO):
        return
    caller = scope.get(KEY)
    who = caller.label if isinstance(caller, Token) else "-"
    client = scope.get("client")
    LOG.info(
        "%s %s %s %s %d %.1fms",
        client[0] if client else "-",
        who,
        scope["method"],
        path_of(scope),
        status,
        seconds * 1e3,
    )


# --- from the socket to the end ---------------------------------------------------------------------------------------


_THREADS = 16
_CONNECTIONS = 512
"""Connections that may be open at once."""
_SECONDS_TO_END = 8
"""How long requests that are under way may take when the server is stopped. Writes that were begun take longer."""
_KEEP_ALIVE = 20
_LONGEST_HEADER = 32 << 10
_LONGEST_TURN = 0.001
"""Seconds for which a worker thread that computes may keep the loop from its turn. Python's own is five times that."""


def listen(host: str, port: int, *, has_tokens: bool) -> socket.socket:
    """A socket that listens; port 0 takes any free one. Raises ``ConfigError`` (``cannot_listen``, ``no_tokens``)."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        if not has_tokens and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
            raise ConfigError(
                f"{host} can be reached by others, and without tokens every caller reads and writes memory",
                code="no_tokens",
                hint="Make a token for each caller first: catmem token new AGENT. Or use --host 127.0.0.1.",
            )
        is_dual = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server(address, family=family, dualstack_ipv6=is_dual)
    except (OSError, UnicodeError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(
            f"the server cannot listen on {host}, port {port}: {said}",
            code="cannot_listen",
            hint="Choose another --port (0 takes any that is free) or --host, or end what uses this one.",
        ) from error


def url_of(listening: socket.socket) -> str:
    """Where clients find the server: ``http://127.0.0.1:8428``."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(app: Starlette, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Serve on the socket until SIGINT or SIGTERM, and finish what is under way. The store is left open."""
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_SECONDS_TO_END,
        h11_max_incomplete_event_size=_LONGEST_HEADER,
    )
    sys.setswitchinterval(_LONGEST_TURN)
    try:
        asyncio.run(HttpServer(config, ready).serve_on(listening))
    finally:
        app.state.workers.shutdown(cancel_futures=True)


class HttpServer(uvicorn.Server):
    """uvicorn that tells when it has started, without its way with signals: it raises them again."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        """``ready`` is called once when requests are answered."""
        super().__init__(config)
        self._ready = ready

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

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield
