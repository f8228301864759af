"""What keeps one client from taking the server away from the others: how long, how large, how often."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING

from catmem.server.caller import KEY, PERSON, Caller, no_token
from catmem.server.connections import places
from catmem.server.errors import ServerError
from catmem.server.headers import header
from catmem.server.running import DEADLINE

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from catmem.server.settings import Settings

OPEN = frozenset({"/healthz", "/readyz"})
"""Paths that want no token: they tell nothing but whether the server works."""

OWN_LOOK = frozenset({"/page/theme"})
"""Paths that take a form from whoever may read: it says how pages look, and reaches no memory."""

OPEN_FOLDERS = ("/static/",)
"""And what stands below these: the same files that everybody's package has."""

_FAILURES = 5
"""Requests a second that an address may send without a good token."""
_BURST = 4
"""Seconds' worth of requests that may come at once."""
_MOST_BUCKETS = 10_000
_DRAINED = 8 << 20
"""Bytes of a body that is too large which are read and dropped, so that the client comes to read the answer."""
_DRAIN_SECONDS = 2.0
_CLOSE = {"Connection": "close"}


class BodyLimit:
    """Bodies of ``max_body`` bytes at most, sent within ``patience`` seconds, whether they tell their length or not."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        """``settings`` say how large and how slow."""
        self._app = app
        self._most = settings.max_body
        self._patience = settings.patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises ``ServerError``: 413 ``too_large``, 408 ``slow_body``, 400 ``two_lengths``."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length, in_parts = header(scope, b"content-length"), header(scope, b"transfer-encoding") is not None
        if scope.get("method") == "GET" and length is None and not in_parts:
            await self._app(scope, receive, send)  # without a body
            return
        if length is not None and in_parts:
            raise _two_lengths()
        if length is not None and _number(length) > self._most:
            await self._refuse(scope, receive)
        loop = asyncio.get_running_loop()
        until = loop.time() + self._patience
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


class Unfinished:
    """So many requests of one caller whose bodies have not come whole, so that it cannot hold the places of others."""

    def __init__(self, app: ASGIApp, each: int | None = None) -> None:
        """``each`` is how many one caller may have; a quarter of all places, if it is not given."""
        self._app = app
        self._each = places() // 4 if each is None else each
        self._counts: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises ``ServerError``: 429 ``too_many``."""
        caller = scope.get(KEY)
        if not isinstance(caller, Caller):
            await self._app(scope, receive, send)
            return
        name, is_waited_for = _name_of(caller), False

        def come() -> None:
            nonlocal is_waited_for
            if is_waited_for:
                is_waited_for = False
                self._counts[name] -= 1
                if not self._counts[name]:
                    del self._counts[name]

        whole = False

        async def received() -> Message:
            nonlocal is_waited_for, whole
            if not whole and not is_waited_for:
                if self._counts[name] >= self._each:
                    raise _too_many("too many requests have been begun whose bodies do not come", 1.0)
                is_waited_for = True
                self._counts[name] += 1
            message = await receive()
            if message["type"] != "http.request" or not message.get("more_body", False):
                whole = True
                come()
            return message

        try:
            await self._app(scope, received, send)
        finally:
            come()


class RateLimit:
    """So many requests a second of one caller, and fewer of an address that has no good token.

    It asks ``identify`` who calls, and leaves the answer in the scope. A caller has its own measure wherever it calls
    from, so nobody behind the same address can use it up.
    """

    def __init__(self, app: ASGIApp, settings: Settings, identify: Callable[[Scope], Caller | None]) -> None:
        """``identify`` gives the caller of a request, ``None`` for nobody who is known."""
        self._app = app
        self._identify = identify
        self._callers = Buckets(settings.rate)
        self._strangers = Buckets(_FAILURES if settings.rate else 0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises ``ServerError``: 429 ``too_many``."""
        if scope["type"] == "http":
            caller = self._identify(scope)
            scope[KEY] = caller
            if caller is not None:
                wait = self._callers.take(_name_of(caller))
            elif is_open(scope["path"]):
                wait = self._callers.take(_address_of(scope))
            else:
                wait = self._strangers.take(_address_of(scope))
            if wait:
                raise _too_many("too many requests at once", wait)
        await self._app(scope, receive, send)


def _name_of(caller: Caller) -> str:
    return f"{caller.label or caller.agent}"


def _too_many(said: str, wait: float) -> ServerError:
    return ServerError(
        429,
        said,
        code="too_many",
        hint="Nothing was done. Wait as long as the header Retry-After says, in seconds.",
        headers={"Retry-After": str(int(wait) + 1)},
    )


class Buckets:
    """A measure for each name, which fills with ``rate`` requests a second up to a few seconds' worth."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        """``rate`` 0 is no limit."""
        self._rate = rate
        self._most = rate * _BURST
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> float:
        """Take one, and give 0; or take none, and give the seconds until there is one."""
        if not self._rate:
            return 0.0
        now = self._clock()
        left, then = self._known.pop(name, (self._most, now))
        left = min(self._most, left + (now - then) * self._rate)
        wait = 0.0 if left >= 1 else (1 - left) / self._rate
        self._known[name] = (left if wait else left - 1, now)
        if len(self._known) > _MOST_BUCKETS:
            # The one that was quiet longest is nearly full again.
            self._known.popitem(last=False)
        return wait


class TimeLimit:
    """Notes for each request when it has to be answered; ``running.in_thread`` keeps to it."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        """``settings`` say how long."""
        self._app = app
        self._timeout = settings.timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http":
            scope[DEADLINE] = asyncio.get_running_loop().time() + self._timeout
        await self._app(scope, receive, send)


class Callers:
    """Lets nobody through but known callers, to what their tokens are good for."""

    def __init__(self, app: ASGIApp) -> None:
        """``app`` is behind the door."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises ``ServerError``: 401 ``no_token``, 403 ``scope``."""
        if scope["type"] == "http" and not is_open(scope["path"]):
            caller = scope.get(KEY)
            if caller is None:
                raise no_token()
            _refuse_out_of_scope(caller, scope["method"], scope["path"])
        await self._app(scope, receive, send)


def _refuse_out_of_scope(caller: Caller, method: str, path: str) -> None:
    if caller.scope == "metrics" and path != "/metrics":
        said = "this token is good for /metrics only"
    elif not caller.may_write and method not in {"GET", "HEAD"} and path not in OWN_LOOK:
        said = "this token is good for reading only"
    else:
        return
    raise ServerError(403, said, code="scope", hint="Nothing was done. 'catmem token new --scope' makes another.")


def is_open(path: str) -> bool:
    """Whether a path wants no token."""
    return path in OPEN or path.startswith(OPEN_FOLDERS)


def _address_of(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else "?"


def anyone(_scope: Scope) -> Caller:
    """The caller where there are no tokens: a person, since only this machine is listened to."""
    return Caller(PERSON, None, label=PERSON)
