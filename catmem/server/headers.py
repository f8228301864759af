"""Which requests are for this server at all, and the headers that every answer has."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from catmem.server.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from catmem.server.settings import Settings

POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
_EVERYWHERE = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
_NOT_KEPT = (b"cache-control", b"no-store")
"""Memory stays in no cache, unless a route says how (``private, no-cache`` beside an ETag)."""

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITE = frozenset({b"same-origin", b"none"})


def header(scope: Scope, name: bytes) -> bytes | None:
    """A header of a request; the first, if there are several."""
    return next((value for each, value in scope["headers"] if each == name), None)


class SecurityHeaders:
    """Gives every answer the headers that keep a browser from doing with it what it is not for."""

    def __init__(self, app: ASGIApp) -> None:
        """``app`` is what answers."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                headers += _missing(tuple([name for name, _ in headers]))
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, sent)


@lru_cache(maxsize=256)
def _missing(there: tuple[bytes, ...]) -> tuple[tuple[bytes, bytes], ...]:
    """The headers that an answer with these names has to be given. They are few sets, asked for again and again."""
    names = {name.lower() for name in there}
    return tuple(each for each in (*_EVERYWHERE, _NOT_KEPT) if each[0] not in names)


class OwnRequests:
    """Lets through what was meant for this server: no name that somebody's DNS points here, no other site's form.

    A browser that follows such a name gives it as the host; a page of another site gives its own as the origin.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        """``settings`` say by which names the server may be called."""
        self._app = app
        self._names = frozenset({"localhost", settings.host.lower(), *(name.lower() for name in settings.hosts)})
        self._elsewhere = not is_loopback(settings.host)
        self._is_own = lru_cache(maxsize=256)(self._looked_up)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises ``ServerError``: 400 ``unknown_host``, 403 ``cross_site``."""
        if scope["type"] == "http":
            hosts = [value for name, value in scope["headers"] if name == b"host"]
            if len(hosts) != 1 or not self._is_own(hosts[0].decode("latin-1")):
                raise ServerError(
                    400,
                    "this server is not called by that name",
                    code="unknown_host",
                    hint="Use its address, or have its name added: catmem serve --allow-host NAME.",
                )
            if scope["method"] not in _SAFE:
                refuse_cross_site(scope)
        await self._app(scope, receive, send)

    def _looked_up(self, host: str) -> bool:
        name = _name_of(host)
        if name is None:
            return False
        if name in self._names or is_loopback(name):
            return True
        # An address in numbers needs no DNS, so nobody can have pointed it here.
        return self._elsewhere and _address(name) is not None


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
    """Raise ``ServerError`` 403 (``cross_site``) for what a page of another site sent."""
    host, site = header(scope, b"host") or b"", header(scope, b"sec-fetch-site")
    origin = header(scope, b"origin")
    is_other = origin is not None and origin.partition(b"://")[2].lower() != host.lower()
    if is_other or (site is not None and site not in _OWN_SITE):
        raise ServerError(
            403,
            "this request was sent by a page of another site",
            code="cross_site",
            hint="Nothing was done. Send it from this server's own page, or from a program.",
        )


def plain(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers as a message of ASGI has them."""
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
