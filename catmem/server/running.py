"""Calls of the library in worker threads, under the time limit of their request.

A write that was begun is never cut off: when time is up the answer says that it goes on, and the server ends only
after it. One that was still waiting for a thread is not made at all.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeAlias, TypeVar

from catmem.server.caller import KEY, Caller
from catmem.server.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import HTTPConnection

P = ParamSpec("P")
T = TypeVar("T")

_Place: TypeAlias = tuple[str | None, bool]
"""Whose call, and whether it writes."""

DEADLINE = "catmem.deadline"
"""Where the scope of a request keeps the time, by the clock of the loop, at which it has to be answered."""

_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_THREADS = 8
MOST = 264
"""Calls that may wait or be under way; more would only wait until their time is up."""
MOST_WRITES = 198
"""How many of them may write: who reads, and who asks how the server does, finds a place beside them."""
SHARE = 132
"""How many may be of one caller, and half of it how many writes: they may all wait for one lock."""


class Workers:
    """The threads of a server. ``close`` waits for what was begun."""

    def __init__(self, threads: int = _THREADS) -> None:
        """``threads`` reads are made at once in ``pool``, and as many writes, so that reads wait for no write's lock.

        ``writer`` is the one thread for calls in turn.
        """
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="catmem")
        self.writers = ThreadPoolExecutor(threads, thread_name_prefix="catmem-write")
        self.writer = ThreadPoolExecutor(1, thread_name_prefix="catmem-writer")
        self._places: Counter[_Place] = Counter()

    async def call(
        self,
        function: Callable[[], T],
        *,
        deadline: float,
        writes: bool,
        in_turn: bool = False,
        caller: str | None = None,
    ) -> T:
        """What ``function`` gives, until the loop's clock says ``deadline``.

        Calls ``in_turn`` are made one after the other: where they would only wait for each other, several threads take
        longer than one. ``caller`` has a share of the places; ``None`` is nobody in particular. Raises ``ServerError``
        429: ``too_many``, and 503: ``overloaded``, ``timeout``, ``still_writing``.
        """
        self._refuse_too_many(caller, writes=writes)
        loop = asyncio.get_running_loop()
        pool = self.writer if in_turn else self.writers if writes else self.pool
        job = self._begun(pool, function)
        place = caller, writes
        self._places[place] += 1
        # One future and one timer, where asyncio's own wrapping and waiting would take five steps of the loop.
        is_ended: asyncio.Future[None] = loop.create_future()
        job.add_done_callback(partial(self._hear, loop, place, is_ended))
        timer = loop.call_at(deadline, _settle, is_ended)
        try:
            await is_ended
        finally:
            timer.cancel()
        if job.done():
            return job.result()
        never_begun = job.cancel()
        if never_begun or not writes:
            raise ServerError(
                503,
                "this took longer than a request may take here",
                code="timeout",
                hint="Nothing was written. Try again in a moment.",
                headers={"Retry-After": "1"},
            )
        raise ServerError(
            503,
            "this write took longer than a request may take here, and goes on",
            code="still_writing",
            hint="Look at what is there before you repeat it, or send it again with the same op_id.",
            headers={"Retry-After": "1"},
        )

    @staticmethod
    def _begun(pool: ThreadPoolExecutor, function: Callable[[], T]) -> Future[T]:
        try:
            return pool.submit(function)
        except RuntimeError:
            raise stopping() from None

    def _hear(
        self, loop: asyncio.AbstractEventLoop, place: _Place, is_ended: asyncio.Future[None], _job: Future[T]
    ) -> None:
        """Called in the thread of the job, and where it is cancelled."""
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._end, place, is_ended)

    def _end(self, place: _Place, is_ended: asyncio.Future[None]) -> None:
        self._places[place] -= 1
        if not self._places[place]:
            del self._places[place]
        _settle(is_ended)

    def _refuse_too_many(self, caller: str | None, *, writes: bool) -> None:
        """Raise ``ServerError`` where no place is left: 429 for the caller, 503 for anybody."""
        places = self._places
        of_caller = places[caller, True] + places[caller, False]
        of_writes = sum(count for (_, each), count in places.items() if each)
        if caller is not None and (of_caller >= SHARE or (writes and places[caller, True] >= SHARE // 2)):
            raise ServerError(
                429,
                "too many of your requests wait for an answer",
                code="too_many",
                hint="Nothing was done. Try again when some of them are answered.",
                headers={"Retry-After": "1"},
            )
        if places.total() >= MOST or (writes and of_writes >= MOST_WRITES):
            raise ServerError(
                503,
                "more requests are waiting than can be answered in time",
                code="overloaded",
                hint="Nothing was done. Try again in a moment.",
                headers={"Retry-After": "1"},
            )

    def close(self) -> None:
        """Wait for every call that was begun, and drop those that were not."""
        for each in (self.writer, self.writers):
            each.shutdown(wait=False, cancel_futures=True)
        for each in (self.pool, self.writers, self.writer):
            each.shutdown(cancel_futures=True)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def in_thread(request: HTTPConnection, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What a synchronous call of the library gives, made in a worker thread within the time of the request.

    Whether it may write, the method of the request says: only those that read are left alone when time is up.
    """
    return await _called(request, partial(function, *args, **kwargs), in_turn=False)


async def in_turn(request: HTTPConnection, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The same for a single write to a store that has one writer at a time: after those that came before it."""
    return await _called(request, partial(function, *args, **kwargs), in_turn=True)


async def _called(request: HTTPConnection, function: Callable[[], T], *, in_turn: bool) -> T:
    scope = request.scope
    deadline = scope.get(DEADLINE)
    if deadline is None:
        deadline = asyncio.get_running_loop().time() + request.app.state.settings.timeout
    workers: Workers = request.app.state.workers
    writes = scope.get("method") not in _READS
    known = scope.get(KEY)
    # Without tokens everybody is the same caller, who then may take all places.
    caller = known.label or None if isinstance(known, Caller) else None
    return await workers.call(function, deadline=deadline, writes=writes, in_turn=in_turn, caller=caller)


def stopping() -> ServerError:
    """The refusal of a request that comes, or is not answered, when the server ends."""
    return ServerError(
        503,
        "the server is being stopped",
        code="stopping",
        hint="A write may have been made: look at what is there, or send it again with the same op_id.",
        headers={"Retry-After": "5", "Connection": "close"},
    )
