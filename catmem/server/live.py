"""What is new, told as it happens: ``GET /mem/events``, a stream of server-sent events (docs/live.md).

One watch of the root serves all streams. It begins with the first and ends a moment after the last, so that whoever
goes from page to page does not have it begin again and again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from catmem.errors import CatmemError
from catmem.server.api.endpoint import bad_parameter, read_values
from catmem.server.api.endpoints import EVENTS
from catmem.server.caller import caller_of
from catmem.server.errors import ServerError
from catmem.server.headers import refuse_cross_site
from catmem.server.openapi import EVENTS_PATH
from catmem.server.past import Event, Past
from catmem.server.running import in_thread, stopping
from catmem.server.settings import CONNECTIONS
from catmem.server.streaming import HEADERS, TYPE, EventStream, Joined, Reader, Source
from catmem.server.telling import Teller
from catmem.service.absent import discreet
from catmem.service.watching.news import MISSED, heard_name, rights_of, standing, told
from catmem.service.watching.watch import Watch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from catmem.server.caller import Caller
    from catmem.service.watching.news import News
    from catmem.service.workspace import Workspace

EACH = 64
"""Streams that one caller may have open."""
LINGER = 5.0
"""Seconds for which the watch goes on after the last stream."""
_MOST_NAMED = 128
_PATIENCE = 10.0
"""Seconds for which a new stream waits for the first look at the root."""
_LATER = {"Retry-After": "10"}


class Live:
    """The streams of one server. All of it belongs to the thread of the loop, but for ``close``."""

    def __init__(self, app: Starlette, *, each: int = EACH, most: int | None = None, linger: float = LINGER) -> None:
        """``each`` is how many streams one caller may have, ``most`` how many there are in all."""
        self._app = app
        self._each = each
        self._most = CONNECTIONS // 2 if most is None else most
        self._linger = linger
        self._counts: Counter[str] = Counter()
        self._readers: set[Reader] = set()
        self.past = Past()
        self.teller = Teller()
        self._loop = asyncio.get_running_loop()
        self.watch = Watch(app.state.workspace, self._tell)
        self._begun: asyncio.Future[bool] | None = None
        self._ending: asyncio.TimerHandle | None = None
        self._guard: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def joined(self, reader: Reader, after: str | None) -> AsyncIterator[Joined]:
        """A stream's place among the others, as long as it lasts; what happens from now on it is told.

        ``after`` is the id of the last event that it has. Raises ``ServerError``: 429 ``too_many_streams``, 503.
        """
        name = reader.caller.label or reader.caller.agent
        if self._counts[name] >= self._each or self._counts.total() >= self._most:
            raise ServerError(
                429,
                "too many streams are open",
                code="too_many_streams",
                hint="Close one, or wait. One stream tells of all that its caller may hear of.",
                headers=_LATER,
            )
        self._counts[name] += 1
        try:
            await self._watched()
            owner = reader.caller.profile if reader.bounded else None
            joined = Joined(self.past.last, [] if after is None else self.past.since(after, owner))
            self._readers.add(reader)
            yield joined
        finally:
            self._readers.discard(reader)
            self._counts[name] -= 1
            if not self._counts.total():
                self._ending = self._loop.call_later(self._linger, self._end)

    async def _watched(self) -> None:
        """Start the watch, if it is not running, and wait for its first look. Raises ``ServerError`` 503."""
        self._refuse_stopping()
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None
        if self._guard is None:
            self.watch.start()
            self._guard = self._loop.create_task(self._until_stopping())
        if self._begun is None or (self._begun.done() and not self._begun.result()):
            self._begun = self._loop.run_in_executor(None, self.watch.wait_until_ready, _PATIENCE)
        if not await asyncio.shield(self._begun):
            said = "the root is still being looked at"
            raise ServerError(503, said, code="overloaded", hint="Try again in a moment.", headers=_LATER)
        self._refuse_stopping()  # those that were open then have been ended already

    def _refuse_stopping(self) -> None:
        if self._app.state.stopping.is_set():
            raise stopping()

    def _end(self) -> None:
        """End the watch. What is known of the root stays known, so that it goes on from there."""
        self._ending = self._begun = None
        self.watch.stop()
        if self._guard is not None:
            self._guard.cancel()
            self._guard = None

    async def _until_stopping(self) -> None:
        await self._app.state.stopping.wait()
        self.watch.stop()
        for reader in self._readers:
            reader.end()

    def close(self) -> None:
        """End the watch, and wait for that. For any thread, once the server is stopping."""
        self.watch.stop()
        self.watch.join()
        self.teller.close()

    # --- telling ----------------------------------------------------------------------------------------------------

    def _tell(self, news: Sequence[News]) -> None:
        """Take what the watch tells, in its thread."""
        try:
            self._loop.call_soon_threadsafe(self._deliver, news)
        except RuntimeError:
            self.watch.stop()  # the loop has ended, and all streams with it

    def _deliver(self, news: Sequence[News]) -> None:
        events = [self.past.add(each) for each in news]
        for reader in self._readers:
            reader.give(events)

    async def told(self, reader: Reader, events: Sequence[Event]) -> Sequence[tuple[Event, dict[str, Any]]]:
        """What a reader hears of some events, by the rights that it has now."""
        workspace, profile = self._app.state.workspace, reader.caller.profile
        if profile is None:
            said = [(event, told(workspace, event.news, None)) for event in events]
            return [(event, each) for event, each in said if each is not None]
        if not events:
            return []
        heard = await self.teller.told(workspace, profile, events)
        reader.bounded = heard.bounded
        return heard.said


def live_of(app: Starlette) -> Live:
    """The streams of an application."""
    if not hasattr(app.state, "live"):
        app.state.live = Live(app)
    live: Live = app.state.live
    return live


# --- the request -----------------------------------------------------------------------------------------------------


def routes() -> list[BaseRoute]:
    """The route of the stream."""
    return [Route(EVENTS_PATH, _events, methods=["GET"], name="events")]


async def _events(request: Request) -> Response:
    """Raises ``ServerError``: 400 ``bad_parameter``, 403, 406, and 404 for a name that the caller may not know."""
    caller = caller_of(request)
    if caller.profile is None and not caller.is_person:
        raise ServerError(403, "this token is good for /metrics only", code="scope", hint="Nothing was done.")
    refuse_cross_site(request.scope)
    given = read_values(EVENTS, request.query_params.multi_items())
    if TYPE not in request.headers.get("accept", ""):
        raise ServerError(
            406,
            "this is a stream of events, which does not end",
            code="not_acceptable",
            hint=f"Send the header 'Accept: {TYPE}', as EventSource does.",
        )
    await request.body()  # whoever sends one has sent it before anything is told
    workspace: Workspace = request.app.state.workspace
    seen = await in_thread(request, _seen, workspace, given.get("entity_id"), caller.profile)
    if request.method == "HEAD":
        return Response(None, 200, HEADERS)
    reader = Reader(caller, None if seen is None else frozenset(seen))
    reader.bounded = await in_thread(request, _is_bounded, workspace, caller.profile)
    live, after = live_of(request.app), request.headers.get("last-event-id") or None

    async def first(joined: Joined) -> list[Event]:
        """What it was told last is long ago: what it missed, else how the entities stand that it has seen."""
        if after is not None and joined.missed is not None:
            return list(joined.missed)
        stands = {entity: known for entity, known in (seen or {}).items() if known is not None}
        found = [MISSED] if after is not None and len(stands) < len(seen or "?") else []
        if stands:
            found += await in_thread(request, _standings, workspace, stands, caller.profile)
        return [Event(joined.last, each) for each in found]

    def is_still(known: Caller) -> bool:
        try:
            return bool(request.app.state.identify(request.scope) == known)
        except CatmemError:
            return False  # the tokens cannot be read

    return EventStream(reader, Source(partial(live.joined, after=after), first, live.told, is_still, live.past.id_of))


def _seen(workspace: Workspace, text: str | None, actor: str | None) -> dict[str, str | None] | None:
    """The entities that are asked for, each with what the caller has seen of it; ``None`` for all.

    Raises ``ServerError`` 400 (``bad_parameter``) and as ``heard_name``.
    """
    if text is None:
        return None
    parts = [name.strip().partition("@") for name in text.split(",")]
    if len(parts) > _MOST_NAMED or not all(name for name, _, _ in parts):
        said = f"Give {_MOST_NAMED} at most, with commas between: PROFILE/user, or PROFILE/user@REVISION."
        raise bad_parameter("entity_id is no list of entities", said)
    with discreet(workspace, actor):
        return {heard_name(workspace, name, actor): seen if mark else None for name, mark, seen in parts}


def _is_bounded(workspace: Workspace, actor: str | None) -> bool:
    try:
        return actor is not None and not rights_of(workspace, actor).unbounded
    except CatmemError:
        return True  # it hears nothing until it is right


def _standings(workspace: Workspace, seen: Mapping[str, str], actor: str | None) -> list[News]:
    found = (standing(workspace, entity, known, actor) for entity, known in seen.items())
    return [news for news in found if news is not None]
