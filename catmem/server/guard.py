"""What stands before the routes: whose requests are answered at all, and how large they may be.

How slow and how many clients may be is for the proxy in front. The library is called in threads. A write that was begun
is never cut off: the server ends only after it.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from catmem.config.profile import one_reading
from catmem.envelopes.tokens import KEY, Token, no_token
from catmem.errors import RequestError, UnreadableError
from catmem.store.contract import PERSON
from catmem.workspace.root import caller_name

P = ParamSpec("P")
T = TypeVar("T")

_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_OPEN = frozenset({"/healthz", "/readyz"})
_STATIC = "/static/"
"""These want no token: whether the server works, and the files that everybody's package has."""
_OWN_LOOK = "/page/theme"
"""Takes a form from a caller who may read: it says how pages look, and reaches no memory."""
_WITHOUT_ROOT = ("/healthz", "/metrics", _STATIC)
"""The numbers say themselves what cannot be read."""

MAX_BODY = 1 << 20


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How a server is set up: what ``catmem.yaml`` says under ``server``, and what the command line says instead.

    ``tokens`` is the file of tokens, ``None`` for a server without any: it listens on loopback only, and every
    caller is a person. ``hosts`` are the names by which clients may call it, beside those of loopback. ``max_body``
    is in bytes.
    """

    host: str = "127.0.0.1"
    tokens: Path | None = None
    hosts: tuple[str, ...] = ()
    max_body: int = MAX_BODY
    page: bool = True


class Guard:
    """Lets through what was meant for this server, is short enough, and comes from a known caller that may do it.

    While the folder of the root is away nothing passes: an empty one would be read in its place.
    """

    def __init__(
        self, app: ASGIApp, settings: ServerSettings, identify: Callable[[Scope], Token | None], root: Path
    ) -> None:
        """``identify`` gives the caller of a request, ``None`` for an unknown one."""
        self._app = app
        self._settings = settings
        self._identify = identify
        self._root = root
        self._names = frozenset({"localhost", settings.host.lower(), *(name.lower() for name in settings.hosts)})
        self._elsewhere = not is_loopback(settings.host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises ``RequestError``, ``UnreadableError`` (``missing``), and as ``identify`` does."""
        if scope["type"] == "http":
            self._refuse_other_site(scope)
            receive = limited(scope, receive, self._settings.max_body)
            caller = scope[KEY] = self._identify(scope)
            path = scope["path"]
            if path not in _OPEN and not path.startswith(_STATIC):
                _refuse_out_of_scope(caller, scope["method"], path)
            is_named = caller is not None and caller.is_person and caller.label != PERSON
            caller_name.set(caller.label if caller is not None and is_named else None)
            if not path.startswith(_WITHOUT_ROOT):
                refuse_missing(self._root, "the root is not there")
        await self._app(scope, receive, send)

    def _refuse_other_site(self, scope: Scope) -> None:
        """Raise ``RequestError`` for a foreign name that points here (400), and for another site's form (403)."""
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or not self._is_own(hosts[0].decode("latin-1")):
            raise RequestError(
                "this server is not called by that name",
                code="unknown_host",
                hint="Use its address, or have its name added: catmem serve --allow-host NAME.",
            )
        if scope["method"] not in _READS:
            refuse_cross_site(scope)

    def _is_own(self, host: str) -> bool:
        name = _name_of(host)
        if name is None:
            return False
        if name in self._names or is_loopback(name):
            return True
        # An address in numbers needs no DNS, so no one can have pointed it here.
        return self._elsewhere and _address(name) is not None


def refuse_missing(path: Path, message: str) -> None:
    """Raise ``UnreadableError`` (``missing``) for a folder or a file that is not there."""
    if not path.exists():
        hint = "Bring it back, for example by mounting its disk. Nothing is read or written until then."
        raise UnreadableError(message, code="missing", path=path, hint=hint)


def _refuse_out_of_scope(caller: Token | None, method: str, path: str) -> None:
    if caller is None:
        raise no_token()
    if caller.scope == "metrics" and path != "/metrics":
        said = "this token is good for /metrics only"
    elif not caller.may_write and method not in {"GET", "HEAD"} and path != _OWN_LOOK:
        said = "this token is good for reading only"
    else:
        return
    raise RequestError(said, code="scope", hint="Nothing was done. 'catmem token new --scope' makes another.")


# --- whose it is -----------------------------------------------------------------------------------------------------

_OWN_SITE = frozenset({b"same-origin", b"none"})


def header(scope: Scope, name: bytes) -> bytes | None:
    """A header of a request; the first, if there are several."""
    return next((value for each, value in scope["headers"] if each == name), None)


def is_loopback(host: str) -> bool:
    """Whether it is an address of this machine alone, or the name of one."""
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None


def _name_of(host: str) -> str | None:
    """The name in a ``Host`` header, in small letters, without the port; ``None`` for what is none."""
    try:
        parts = urlsplit(f"//{host}")
        parts.port  # noqa: B018 - raises for what is no number
    except ValueError:
        return None
    return parts.hostname if parts.netloc == host and parts.username is None else None


def refuse_cross_site(scope: Scope) -> None:
    """Raise ``RequestError`` 403 (``cross_site``) for what a page of another site sent."""
    host, site = header(scope, b"host") or b"", header(scope, b"sec-fetch-site")
    origin = header(scope, b"origin")
    is_other = origin is not None and origin.partition(b"://")[2].lower() != host.lower()
    if is_other or (site is not None and site not in _OWN_SITE):
        raise RequestError(
            "this request was sent by a page of another site",
            code="cross_site",
            hint="Nothing was done. Send it from this server's own page, or from a program.",
        )


# --- how large -------------------------------------------------------------------------------------------------------

_CLOSE = {"Connection": "close"}


def limited(scope: Scope, receive: Receive, most: int) -> Receive:
    """What a client sends, of ``most`` bytes at most."""
    length = header(scope, b"content-length")
    if length is not None and header(scope, b"transfer-encoding") is not None:
        # A proxy may have taken the other one for the end of the body: what comes next has no certain sender.
        raise RequestError(
            "the body has a length and comes in parts as well",
            code="two_lengths",
            hint="Nothing was done. Send 'Content-Length' or 'Transfer-Encoding', and not both.",
            headers=_CLOSE,
        )
    # The protocol has refused what is no number; a very long one is too large whatever it says.
    if length is not None and (len(length) > len("9" * 18) or int(length) > most):
        raise _too_large(most)
    size = 0

    async def received() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > most:
            raise _too_large(most)
        return message

    return received


def _too_large(most: int) -> RequestError:
    return RequestError(
        f"the body is over the limit of {most:,} bytes",
        code="too_large",
        hint="Nothing was done. Send less at once.",
        headers=_CLOSE,
    )


# --- threads ---------------------------------------------------------------------------------------------------------


async def in_thread(request: HTTPConnection, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What a synchronous call of the library gives, made in a worker thread."""
    workers: ThreadPoolExecutor = request.app.state.workers
    operation = partial(one_reading()(function), *args, **kwargs)
    context = copy_context()  # it knows the caller's name
    return await asyncio.get_running_loop().run_in_executor(workers, context.run, operation)
