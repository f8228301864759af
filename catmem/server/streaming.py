"""One stream of server-sent events, from its first byte to its end, whoever ends it.

What a reader has still to be told is bounded: one that does not keep up loses its connection, comes back with the id of
the last event that it has, and is told what it missed.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.responses import Response

from catmem.server.headers import plain
from catmem.service.watching.news import concerns, is_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from starlette.types import Receive, Scope, Send

    from catmem.server.caller import Caller
    from catmem.server.past import Event
    from catmem.service.watching.news import News

LOG = logging.getLogger("catmem.server")

TYPE = "text/event-stream"
MOST_WAITING = 1024
"""Events that may wait for one reader."""
HEARTBEAT = 15.0
"""Seconds after which a quiet stream sends a comment, so that nobody on the way takes it for dead."""
AGAIN = 2000
"""Milliseconds after which a client that lost the stream comes back."""

HEADERS = {"Content-Type": f"{TYPE}; charset=utf-8", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""The last one asks a proxy not to gather what comes."""


class Reader:
    """Who reads a stream: what it hears of, and what it has still to be told."""

    def __init__(self, caller: Caller, entities: frozenset[str] | None = None, most: int = MOST_WAITING) -> None:
        """``entities`` are the only ones that it wants to hear of; ``None`` for all that it may."""
        self.caller = caller
        self.entities = entities
        self.bounded = False
        """Whether it hears of its own files only, as far as is known. What is left out for that is not decided here."""
        self._most = most
        self._waiting: deque[Event] = deque()
        self._some = asyncio.Event()
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the stream has to end."""

    def give(self, events: Sequence[Event]) -> None:
        """Have it told of these; if that is more than may wait, it is not told anything any more."""
        wanted = [each for each in events if self._wants(each.news)]
        if len(self._waiting) + len(wanted) > self._most and self.bounded:
            # What others do must not end its stream: it would hear of that.
            wanted = [each for each in (*self._waiting, *wanted) if is_of(each.news, self.caller.profile or "")]
            self._waiting.clear()
        if len(self._waiting) + len(wanted) > self._most:
            self.end()
        elif wanted and not self.over.done():
            self._waiting.extend(wanted)
            self._some.set()

    def _wants(self, news: News) -> bool:
        return self.entities is None or concerns(news, self.entities)

    def end(self) -> None:
        """End the stream."""
        self._waiting.clear()
        if not self.over.done():
            self.over.set_result(None)

    async def next(self, until: float) -> list[Event]:
        """What waits, once something does; nothing where that is not so ``until`` a time of the loop's clock."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                await self._some.wait()
        self._some.clear()
        found = list(self._waiting)
        self._waiting.clear()
        return found


class Joined(NamedTuple):
    """A stream's place among the others: the number of the event before it, and those that it missed.

    ``missed`` is ``None`` where nobody knows any more what it has missed.
    """

    last: int
    missed: Sequence[Event] | None


class Source(NamedTuple):
    """Where a stream has its events from.

    ``join`` gives it a place, as long as it lasts. ``first`` says what it begins with, ``tell`` what its reader hears
    of some events, ``is_still`` whether it is still who it was, and ``id_of`` the id of an event by its number.
    """

    join: Callable[[Reader], AbstractAsyncContextManager[Joined]]
    first: Callable[[Joined], Awaitable[Sequence[Event]]]
    tell: Callable[[Reader, Sequence[Event]], Awaitable[Sequence[tuple[Event, dict[str, Any]]]]]
    is_still: Callable[[Caller], bool]
    id_of: Callable[[int], str]


class EventStream(Response):
    """The answer that does not end, until the reader or the server does."""

    def __init__(self, reader: Reader, source: Source) -> None:
        """``source`` is asked when the answer begins."""
        super().__init__()
        self._reader = reader
        self._source = source

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what comes. Raises what ``join`` and ``first`` raise, before anything is sent."""
        del scope
        reader = self._reader
        async with self._source.join(reader) as joined:
            first = await self._source.first(joined)
            await send({"type": "http.response.start", "status": 200, "headers": plain(HEADERS)})
            sending = asyncio.create_task(self._send_all(joined.last, first, send))
            gone = asyncio.create_task(_until_gone(receive))
            try:
                await asyncio.wait({sending, gone, reader.over}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                reader.end()
                sending.cancel()
                gone.cancel()
                ended, _ = await asyncio.gather(sending, gone, return_exceptions=True)
            if isinstance(ended, Exception):
                LOG.error("a stream of events failed", exc_info=ended)
        # For a reader that is stuck this waits until the proxy, or the system, ends its connection; it holds nothing.
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_all(self, last: int, first: Sequence[Event], send: Send) -> None:
        reader, caller, id_of = self._reader, self._reader.caller, self._source.id_of
        clock = asyncio.get_running_loop().time
        await _sent(send, f"retry: {AGAIN}\nid: {id_of(last)}\n\n")
        quiet_until = clock() + HEARTBEAT
        events = list(first)
        while True:
            if not self._source.is_still(caller):
                return
            told = await self._source.tell(reader, events)
            # Of what it does not hear, it does not hear by the time of a comment either.
            text = "".join(_framed(id_of(event.number), event.news.kind, said) for event, said in told)
            if text or clock() >= quiet_until:
                await _sent(send, text or ":\n\n")
                quiet_until = clock() + HEARTBEAT
            events = await reader.next(quiet_until)


def _framed(name: str, kind: str, said: dict[str, Any]) -> str:
    """An event on the wire. JSON in ASCII has no end of a line in it."""
    return f"id: {name}\nevent: {kind}\ndata: {json.dumps(said)}\n\n"


async def _sent(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
