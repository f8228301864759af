"""How large a request may be, how long it may take, and the threads in which the library is called within that time.

All else that clients may do is for the proxy in front. A write that was begun is never cut off: when time is up the
answer says that it goes on, and the server ends only after it. One that was still waiting for a thread is not made at
all.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from catmem.policy.profile import one_reading
from catmem.server.errors import ServerError
from catmem.server.headers import header

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import HTTPConnection
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from catmem.server.settings import Settings

_DRAINED = 8 << 20
"""Bytes of a body that is too large which are read and dropped, so that the client comes to read the answer."""
_DRAIN_SECONDS = 2.0
_CLOSE = {"Connection": "close"}


class RequestLimits:
    """Bodies of ``max_body`` bytes at most, and ``timeout`` seconds for a request, from its header to its answer.

    The time is noted in the scope, and ``running.in_thread`` keeps to it.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        """``settings`` say how large and how long."""
        self._app = app
        self._most = settings.max_body
        self._timeout = settings.timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises ``ServerError``: 413 ``too_large``, 408 ``slow_body``, 400 ``two_lengths``."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = header(scope, b"content-length")
        if length is not None and header(scope, b"transfer-encoding") is not None:
            raise _two_lengths()
        if length is not None and _number(length) > self._most:
            await self._refuse(scope, receive)
        until = scope[DEADLINE] = asyncio.get_running_loop().time() + self._timeout
        size = 0
        whole = False

        async def received() -> Message:
            nonlocal size, whole
            if whole:
                return await receive()  # after the body: that the client is gone
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                raise _slow() from None
            if message["type"] == "http.request":
                size += len(message.get("body", b""))
                whole = not message.get("more_body", False)
                if size > self._most:
                    await self._refuse(scope, receive, whole=whole)
            return message

        await self._app(scope, received, send)

    async def _refuse(self, scope: Scope, receive: Receive, *, whole: bool = False) -> None:
        """Raise 413, once the client has said what it had to say, or had time to."""
        if not whole and header(scope, b"expect") is None:
            await _drain(receive)
        raise ServerError(
            413,
            f"the body is over the limit of {self._most:,} bytes",
            code="too_large",
            hint="Nothing was done. Send less at once.",
            headers=_CLOSE,
        )


async def _drain(receive: Receive) -> None:
    left = _DRAINED
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body", False):
                    return
    except TimeoutError:
        return


def _number(length: bytes) -> int:
    # The protocol has refused what is no number; a very long one is too large whatever it says.
    return int(length) if len(length) <= len("9" * 18) else 10**18


def _two_lengths() -> ServerError:
    """A proxy may have taken the other one for the end of the body: what comes next is nobody's request for sure."""
    return ServerError(
        400,
        "the body has a length and comes in parts as well",
        code="two_lengths",
        hint="Nothing was done. Send 'Content-Length' or 'Transfer-Encoding', and not both.",
        headers=_CLOSE,
    )


def _slow() -> ServerError:
    return ServerError(
        408, "the body did not come in time", code="slow_body", hint="Nothing was done. Send it again.", headers=_CLOSE
    )


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
    operation = partial(_one_operation, function, *args, **kwargs)
    return await workers.call(operation, deadline=request.scope[DEADLINE], writes=writes)


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
