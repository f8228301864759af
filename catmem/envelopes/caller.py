"""Who calls: a person, or an agent with the profile that its token is bound to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from catmem.errors import RequestError

if TYPE_CHECKING:
    from starlette.requests import Request

KEY = "catmem.caller"
"""Where the scope of a request keeps its caller."""

Scope = Literal["write", "read", "metrics"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls. ``agent`` writes, ``profile`` is what it sees and may do; ``None`` is a person, who sees all.

    ``scope`` is what its token is good for: ``write`` (reading too), ``read``, or ``metrics`` (nothing but
    ``/metrics``). ``label`` is what the log calls it: the name that the token was given. ``token_id`` is that of the
    token: all that comes with one token is one conversation.
    """

    agent: str
    profile: str | None
    scope: Scope = "write"
    label: str = ""
    token_id: str = ""

    @property
    def is_person(self) -> bool:
        """Whether it sees and may do everything; a token for metrics is not a person's."""
        return self.profile is None and self.scope != "metrics"

    @property
    def may_write(self) -> bool:
        """Whether its token is good for writing; what it may write, its profile says."""
        return self.scope == "write"


def caller_of(request: Request) -> Caller:
    """Who sent the request. Raises ``RequestError``: 401 without a good token, 403 for a path it is not good for.

    The guard has refused both before, but for the few open paths.
    """
    caller = request.scope.get(KEY)
    if isinstance(caller, Caller):
        return caller
    raise no_token()


def no_token() -> RequestError:
    """The refusal of a request without a token that is known here: in the same words, whatever is wrong with it."""
    return RequestError(
        401,
        "this server wants a token, and this request has none that is good here",
        code="no_token",
        hint="Send the header 'Authorization: Bearer TOKEN'; 'catmem token new AGENT' makes a token.",
    )
