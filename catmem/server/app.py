"""The application: its routes, and what stands before them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from catmem.envelopes.tokens import KEY, Token, Tokens
from catmem.names import TARGETS
from catmem.registry import at, registry
from catmem.server.guard import Guard, ServerSettings, Workers, in_thread, refuse_missing, stopping
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
    """The application over a root. Its state has ``workspace``, ``settings``, ``workers``, ``stopping`` and ``tokens``.

    ``tokens`` is ``None`` where there are none. ``stopping`` is an ``asyncio.Event`` that is set when the server is to
    end: streams have to end then. ``identify`` is there too: it says who sends a request. ``routes`` take the place of
    those of the API, the metrics and the page; ``more`` stand beside them, and what they leave in ``endings`` of the
    state is awaited when the server ends. Raises ``ConfigError`` and ``UnreadableError`` for a file of tokens that
    cannot be used.
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
    app.state.workers = Workers()
    app.state.sessions = Sessions(workspace, most=None)
    for caller in () if tokens is None else tokens.agents():
        app.state.sessions.session((caller.token_id, caller.profile), str(caller.profile))
    app.state.stopping = asyncio.Event()
    app.state.endings = []
    if settings.page:
        app.state.overviews = Overviews(workspace)
        app.state.remarks = {}
    return app


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    if app.state.settings.page:  # of a large root the first overview takes seconds; what is wrong, the page says
        app.state.workers.pool.submit(app.state.overviews.read)
    yield
    app.state.stopping.set()
    for end in app.state.endings:
        await end()
    # The caller that runs the server closes the store after this: what was begun is in it.
    await asyncio.get_running_loop().run_in_executor(None, _close, app)


def _close(app: Starlette) -> None:
    app.state.workers.close()
    meter = getattr(app.state, "meter", None)
    if meter is not None:  # metrics were asked for
        meter.close()


def _routes_of_parts(settings: ServerSettings) -> list[BaseRoute]:
    from catmem.server import metrics, openapi

    routes = [*openapi.routes(), *metrics.routes()]
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
    # Memory stays in no cache, unless a route says how (`private, no-cache` beside an ETag).
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
        except asyncio.CancelledError:
            if status or not scope["app"].state.stopping.is_set():
                raise
            await error_response(Request(scope), stopping())(scope, receive, sent)
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
