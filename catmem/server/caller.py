"""Who calls: a person, or an agent with the profile that its token is bound to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from catmem.server.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Send
    from starlette.types import Scope as Sent

PERSON = "person"
KEY = "catmem.caller"
"""Where the scope of a request keeps its caller."""

Scope = Literal["write", "read", "metrics"]

_OPEN = frozenset({"/healthz", "/readyz"})
"""Paths that want no token: they tell nothing but whether the server works."""
_OPEN_FOLDERS = ("/static/",)
"""And what stands below these: the same files that everybody's package has."""
_OWN_LOOK = frozenset({"/page/theme"})
"""Paths that take a form from whoever may read: it says how pages look, and reaches no memory."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls. ``agent`` writes, ``profile`` is what it sees and may do; ``None`` is a person, who sees all.

    ``scope`` is what its token is good for: ``write`` (reading too), ``read``, or ``metrics`` (nothing but
    ``/metrics``). ``label`` is what the log calls it: the name that the token was given.
    """

    agent: str
    profile: str | None
    scope: Scope = "write"
    label: str = ""

    @property
    def is_person(self) -> bool:
        """Whether it sees and may do everything; a token for metrics is nobody's."""
        return self.profile is None and self.scope != "metrics"

    @property
    def may_write(self) -> bool:
        """Whether its token is good for writing; what it may write, its profile says."""
        return self.scope == "write"


def caller_of(request: Request) -> Caller:
    """Who sent the request. Raises ``ServerError``: 401 without a good token, 403 for a path it is not good for.

    The middleware has refused both before, but for the few open paths (``_OPEN``).
    """
    caller = request.scope.get(KEY)
    if isinstance(caller, Caller):
        return caller
    raise no_token()


def no_token() -> ServerError:
    """The refusal of a request without a token that is known here: in the same words, whatever is wrong with it."""
    return ServerError(
        401,
        "this server wants a token, and this request has none that is good here",
        code="no_token",
        hint="Send the header 'Authorization: Bearer TOKEN'; 'catmem token new AGENT' makes a token.",
    )


def anyone(_scope: Sent) -> Caller:
    """The caller where there are no tokens: a person, since only this machine is listened to."""
    return Caller(PERSON, None, label=PERSON)


class Callers:
    """Lets nobody through but known callers, to what their tokens are good for. The scope tells who it is."""

    def __init__(self, app: ASGIApp, identify: Callable[[Sent], Caller | None]) -> None:
        """``identify`` gives the caller of a request, ``None`` for nobody who is known."""
        self._app = app
        self._identify = identify

    async def __call__(self, scope: Sent, receive: Receive, send: Send) -> None:
        """Answer a request. Raises ``ServerError``: 401 ``no_token``, 403 ``scope``; and as ``identify`` does."""
        if scope["type"] == "http":
            caller = scope[KEY] = self._identify(scope)
            if not (scope["path"] in _OPEN or scope["path"].startswith(_OPEN_FOLDERS)):
                if caller is None:
                    raise no_token()
                _refuse_out_of_scope(caller, scope["method"], scope["path"])
        await self._app(scope, receive, send)


def _refuse_out_of_scope(caller: Caller, method: str, path: str) -> None:
    if caller.scope == "metrics" and path != "/metrics":
        said = "this token is good for /metrics only"
    elif not caller.may_write and method not in {"GET", "HEAD"} and path not in _OWN_LOOK:
        said = "this token is good for reading only"
    else:
        return
    raise ServerError(403, said, code="scope", hint="Nothing was done. 'catmem token new --scope' makes another.")
