"""Calls of the library in worker threads, under the time limit of their request.

A write that was begun is never cut off: when time is up the answer says that it goes on, and the server ends only
after it. One that was still waiting for a thread is not made at all.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from catmem.policy.profile import one_reading
from catmem.server.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import HTTPConnection

P = ParamSpec("P")
T = TypeVar("T")

DEADLINE = "catmem.deadline"
"""Where the scope of a request keeps the time, by the clock of the loop, at which it has to be answered."""

_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_THREADS = 16


class Workers:
    """The threads of a server. ``close`` waits for what was begun."""

    def __init__(self, threads: int = _THREADS) -> None:
        """``threads`` calls are made at once."""
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="catmem")

    async def call(self, function: Callable[[], T], *, deadline: float, writes: bool) -> T:
        """What ``function`` gives, until the loop's clock says ``deadline``.

        Raises ``ServerError`` 503: ``timeout``, ``still_writing``, ``stopping``.
        """
        try:
            job = self.pool.submit(function)
        except RuntimeError:
            raise stopping() from None
        try:
            async with asyncio.timeout_at(deadline):
                return await asyncio.wrap_future(job)
        except TimeoutError:
            if job.done() and not job.cancelled():
                return job.result()
        if job.cancel() or not writes:
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

    def close(self) -> None:
        """Wait for every call that was begun, and drop those that were not."""
        self.pool.shutdown(cancel_futures=True)


async def in_thread(request: HTTPConnection, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What a synchronous call of the library gives, made in a worker thread within the time of the request.

    Whether it may write, the method of the request says: only those that read are left alone when time is up.
    """
    workers: Workers = request.app.state.workers
    writes = request.scope["method"] not in _READS
    return await workers.call(
        partial(_one_operation, function, *args, **kwargs), deadline=request.scope[DEADLINE], writes=writes
    )


def _one_operation(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    with one_reading():
        return function(*args, **kwargs)


def stopping() -> ServerError:
    """The refusal of a request that comes, or is not answered, when the server ends."""
    return ServerError(
        503,
        "the server is being stopped",
        code="stopping",
        hint="A write may have been made: look at what is there, or send it again with the same op_id.",
        headers={"Retry-After": "5", "Connection": "close"},
    )
