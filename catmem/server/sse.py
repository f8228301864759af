"""What is new, reported as it happens: ``GET /mem/events``, a stream of server-sent events (docs/live.md).

As long as a client listens, the root is looked at every now and then, in a worker thread and for all streams. A
client that was away learns that, and reads again what it knows of.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from catmem.envelopes.tokens import caller_of
from catmem.errors import CatmemError, RequestError
from catmem.server.api.openapi import EVENTS, EVENTS_PATH
from catmem.server.guard import in_thread, refuse_cross_site, stopping
from catmem.server.requests import bad_parameter, read_values
from catmem.server.serving import CONNECTIONS
from catmem.workspace.change_feed import EVERY, MISSED, News, Watch, concerns, heard, heard_name, standing
from catmem.workspace.root import discreet

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from catmem.workspace.workspace import Workspace

LOG = logging.getLogger("catmem.server")

TYPE = "text/event-stream"
HEADERS = {"Content-Type": f"{TYPE}; charset=utf-8", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""The last one asks a proxy not to gather what comes."""
EACH = 64
"""Streams that one caller may have open."""
MOST = CONNECTIONS // 2
"""Streams that all callers together may have open."""
WAITING = 1024
"""Events that may wait for one reader: one that does not keep up loses its stream."""
HEARTBEAT = 15.0
"""Seconds after which a quiet stream sends a comment, so that no proxy takes it for dead."""
AGAIN = 2000
"""Milliseconds after which a client that lost the stream comes back."""
_BEGINNING = f"retry: {AGAIN}\nid: 0\n\n"
"""A client that comes back sends the ``id`` of its own accord: so it is known to have missed something."""
_MOST_NAMED = 128
_LATER = {"Retry-After": "10"}


def routes() -> list[BaseRoute]:
    """The route of the stream."""
    return [Route(EVENTS_PATH, _events, methods=["GET"], name="events")]


async def _events(request: Request) -> Response:
    """Raises ``RequestError``: 400 ``bad_parameter``, 403, 406, and 404 for a name that the caller may not know."""
    caller = caller_of(request)
    refuse_cross_site(request.scope)
    given = read_values(EVENTS, request.query_params.multi_items())
    if TYPE not in request.headers.get("accept", ""):
        raise RequestError(
            "this is a stream of events, which does not end",
            code="not_acceptable",
            hint=f"Send the header 'Accept: {TYPE}', as EventSource does.",
        )
    await request.body()  # a client that sends one has sent it before any event
    workspace: Workspace = request.app.state.workspace
    seen = await in_thread(request, _seen, workspace, given.get("entity_id"), caller.profile)
    if request.method == "HEAD":
        return Response(None, 200, HEADERS)
    is_back = bool(request.headers.get("last-event-id"))
    first = partial(in_thread, request, _first, workspace, seen, caller.profile, is_back=is_back)
    return EventStream(request, Reader(caller.profile, None if seen is None else frozenset(seen)), first)


def _seen(workspace: Workspace, text: str | None, actor: str | None) -> dict[str, str | None] | None:
    """The entities that are asked for, each with what the caller has seen of it; ``None`` for all.

    Raises ``RequestError`` 400 (``bad_parameter``) and as ``heard_name``.
    """
    if text is None:
        return None
    parts = [name.strip().partition("@") for name in text.split(",")]
    if len(parts) > _MOST_NAMED or not all(name for name, _, _ in parts):
        said = f"Give {_MOST_NAMED} at most, with commas between: PROFILE/user, or PROFILE/user@REVISION."
        raise bad_parameter("entity_id is no list of entities", said)
    with discreet(workspace, actor):
        return {heard_name(workspace, name, actor): seen if mark else None for name, mark, seen in parts}


def _first(
    workspace: Workspace, seen: Mapping[str, str | None] | None, actor: str | None, *, is_back: bool
) -> list[str]:
    """What a stream begins with: how the entities stand of which its reader says what it has seen.

    Of all others one that comes back hears that it has missed something.
    """
    found = [MISSED] if is_back and (seen is None or None in seen.values()) else []
    for entity, known in (seen or {}).items():
        news = None if known is None else standing(workspace, entity, known, actor)
        if news is not None:
            found.append(news)
    return [_framed(news, said) for news, said in heard(workspace, found, actor)]


def _framed(news: News, said: Mapping[str, Any]) -> str:
    """An event on the wire. JSON in ASCII has no end of a line in it."""
    return f"event: {news.kind}\ndata: {json.dumps(said)}\n\n"


# --- one stream ------------------------------------------------------------------------------------------------------


class Reader:
    """Who reads a stream: what it hears of, and what it has still to hear."""

    def __init__(self, actor: str | None, entities: frozenset[str] | None = None) -> None:
        """``actor`` is its profile, ``None`` a person. ``entities`` are all that it wants to hear of; ``None``: any."""
        self.actor = actor
        self.waiting: asyncio.Queue[str] = asyncio.Queue(WAITING)
        self.is_late = asyncio.Event()
        """Set where more happened than may wait."""
        self._entities = entities

    def give(self, heard: Iterable[tuple[News, Mapping[str, Any]]]) -> None:
        """Send it these, as far as it wants to hear of them."""
        try:
            for news, said in heard:
                if concerns(news, self._entities):
                    self.waiting.put_nowait(_framed(news, said))
        except asyncio.QueueFull:
            self.is_late.set()

    async def next(self) -> str:
        """The next event; a comment where none comes for long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(HEARTBEAT):
                return await self.waiting.get()
        return ":\n\n"


class EventStream(Response):
    """The answer that does not end, until the reader or the server does."""

    def __init__(self, request: Request, reader: Reader, first: Callable[[], Awaitable[Sequence[str]]]) -> None:
        """``first`` says what it begins with."""
        super().__init__()
        self._request = request
        self._reader = reader
        self._first = first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what comes. Raises what ``Live.joined`` and ``first`` raise, before anything is sent."""
        del scope
        app, reader = self._request.app, self._reader
        async with live_of(app).joined(reader, self._request):
            first = await self._first()
            await send({"type": "http.response.start", "status": 200, "headers": Headers(HEADERS).raw})
            parts = self._send_all(send, first), _until_gone(receive), reader.is_late.wait(), app.state.stopping.wait()
            tasks = [asyncio.ensure_future(part) for part in parts]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                ended, *_ = await asyncio.gather(*tasks, return_exceptions=True)
            if isinstance(ended, Exception):
                LOG.error("a stream of events failed", exc_info=ended)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_all(self, send: Send, first: Sequence[str]) -> None:
        text = "".join([_BEGINNING, *first])
        while self._is_still():
            await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
            text = await self._reader.next()

    def _is_still(self) -> bool:
        """Whether the caller is still who it was: a token may be removed at any time."""
        try:
            return bool(self._request.app.state.identify(self._request.scope) == caller_of(self._request))
        except CatmemError:
            return False  # the tokens cannot be read


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


# --- all streams -----------------------------------------------------------------------------------------------------


class EventStreams:
    """The streams of one server, and the looks at the root for them. Belongs to the thread of the loop."""

    def __init__(self, app: Starlette) -> None:
        """No client listens yet."""
        self._app = app
        self._watch = Watch(app.state.workspace)
        self._counts: Counter[str] = Counter()
        self._readers: set[Reader] = set()
        self._looking: asyncio.Task[None] | None = None
        self._has_looked = asyncio.Event()

    @asynccontextmanager
    async def joined(self, reader: Reader, request: Request) -> AsyncIterator[None]:
        """A stream's place among the others, as long as it lasts; it hears what happens from now on.

        Raises ``RequestError``: 429 ``too_many_streams``, 503.
        """
        caller = caller_of(request)
        name = caller.label or caller.agent
        if self._counts[name] >= EACH or self._counts.total() >= MOST:
            raise RequestError(
                "too many streams are open",
                code="too_many_streams",
                hint="Close one, or wait. One stream tells of all that its caller may hear of.",
                headers=_LATER,
            )
        self._counts[name] += 1
        try:
            if self._looking is None:
                self._looking = asyncio.create_task(self._look_on())
            await self._has_looked.wait()
            if self._app.state.stopping.is_set():
                raise stopping()
            self._readers.add(reader)
            yield
        finally:
            self._readers.discard(reader)
            self._counts[name] -= 1

    async def _look_on(self) -> None:
        """Look at the root, and tell what is new, as long as a client listens; the first look is for no one."""
        is_ending = self._app.state.stopping
        try:
            while self._counts.total() and not is_ending.is_set():
                try:
                    await self._look()
                except Exception:
                    LOG.exception("the root cannot be looked at")
                self._has_looked.set()
                with suppress(TimeoutError):
                    async with asyncio.timeout(EVERY):
                        await is_ending.wait()
        finally:
            self._has_looked.set()
            self._has_looked = asyncio.Event()
            self._looking = None

    async def _look(self) -> None:
        workspace, pool = self._app.state.workspace, self._app.state.workers.pool
        loop = asyncio.get_running_loop()
        news = await loop.run_in_executor(pool, self._watch.look)
        actors = {reader.actor for reader in self._readers}
        if news and actors:
            # Who comes from here on hears of nothing that was found before.
            found = await loop.run_in_executor(pool, lambda: {actor: heard(workspace, news, actor) for actor in actors})
            for reader in self._readers:
                reader.give(found.get(reader.actor, ()))


def live_of(app: Starlette) -> EventStreams:
    """The streams of an application."""
    if not hasattr(app.state, "live"):
        app.state.live = EventStreams(app)
    live: EventStreams = app.state.live
    return live
