"""Errors as answers: which status, and what a caller learns."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from catmem.envelopes.caller import KEY, Caller
from catmem.errors import (
    BusyError,
    CatmemError,
    ConfigError,
    EditError,
    EnvelopeError,
    ForbiddenError,
    QueryError,
    RefusedError,
    RequestError,
    StoreError,
    TooLargeError,
    UnknownNameError,
    UnknownRevisionError,
    UnreadableError,
)

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Scope

LOG = logging.getLogger("catmem.server")

_OF_PLACES = ("path", "line", "column", "drift_backup")
"""What an error says of files here, which is nothing to an agent elsewhere."""

_UNKNOWN = frozenset({"bad_name", "unknown_target"})
"""Codes for names that cannot be anything's: they are as little there as those that could be."""


def status_of(error: CatmemError) -> int:
    """The status that stands for an error.

    ::

        400  the request is not one          409  refused for what is there now: reason, and what is at the head
        401  no good token                   413  too large
        403  not yours to do                 422  understood, and wrong: an envelope, an edit, a query
        404  not there, for this caller      503  not now: busy, disk, configuration
    """
    if isinstance(error, RequestError):
        return error.status
    if isinstance(error, EnvelopeError):
        return 403 if error.code == "bad_signature" else 422
    if isinstance(error, TooLargeError):
        return 413 if error.path is None else 503
    if isinstance(error, UnknownNameError | UnknownRevisionError) or error.code in _UNKNOWN:
        return 404
    for kind, status in _STATUS:
        if isinstance(error, kind):
            return 422 if error.code in _UNSUITED else status
    return 500


_STATUS: tuple[tuple[type[CatmemError], int], ...] = (
    (ForbiddenError, 403),
    (BusyError, 503),
    (RefusedError, 409),
    (EditError, 422),
    (QueryError, 422),
    (StoreError, 503),
    (UnreadableError, 503),
    (ConfigError, 503),
)
_UNSUITED = frozenset({"bad_list", "declare_by_hand"})  # the configuration is right, and not what was asked for
_FROM_INTERNAL = 500


def answer_of(error: CatmemError, *, bounded: bool = True, status: int | None = None) -> tuple[int, dict[str, Any]]:
    """The status and the JSON of an answer: ``error.to_dict()``, and ``head`` where a write was refused for it.

    ``status`` is that of the error where it is asked for, if it is another one there than everywhere. For a ``bounded``
    caller (an agent, or unknown) without what it says of this machine: places of files, and what is wrong with
    them.
    """
    status = status_of(error) if status is None else status
    data = {name: value for name, value in error.to_dict().items() if value is not None}
    if isinstance(error, RefusedError) and error.head is not None:
        data["head"] = dict(error.head)
    if not bounded:
        return status, data
    if status >= _FROM_INTERNAL and not isinstance(error, RequestError | BusyError):
        # Of what another program left in an entity, waiting makes nothing better; the hint names the entity alone.
        mending = {"hint": f"Tell a person. {error.hint}"} if error.code == "not_json" else {}
        return status, {"code": error.code, **_OF_THE_SERVER, **mending}
    if "drift_backup" in data:
        data["message"] = data["message"].replace(f", snapshot at {data['drift_backup']}", "")
    return status, {name: value for name, value in data.items() if name not in _OF_PLACES}


_OF_THE_SERVER = {
    "message": "the memory cannot be used right now",
    "hint": "Try again later. The person who runs the server finds the reason in its log and in 'catmem doctor'.",
}


def unforeseen() -> RequestError:
    """The answer to an unforeseen error; what it was stands in the log."""
    return RequestError(
        500,
        "something went wrong in the server",
        code="internal",
        hint="Repeat a write under its op_id only. The person who runs the server finds the reason in its log.",
    )


# --- as responses ---------------------------------------------------------------------------------------------------


def wants_page(request: Request) -> bool:
    """Whether a browser asks, which shows pages to a person."""
    return "text/html" in request.headers.get("accept", "")


def error_response(request: Request, error: Exception) -> JSONResponse:
    """The answer for programs to a request that an error ended."""
    if isinstance(error, HTTPException):
        error = _of_route(error)
    if not isinstance(error, CatmemError):
        LOG.error("%s %s", request.method, path_of(request.scope), exc_info=error)
        error = unforeseen()
    caller = request.scope.get(KEY)
    bounded = not (isinstance(caller, Caller) and caller.is_person)
    status, said = answer_of(error, bounded=bounded)
    headers = dict(error.headers) if isinstance(error, RequestError) else {}
    if status == _UNAUTHORIZED:
        # A browser at a page of ours knows the person's token, and sends it where it is asked for one.
        asks_person = wants_page(request) or request.headers.get("sec-fetch-site") == "same-origin"
        headers["WWW-Authenticate"] = _ASKS_PERSON if asks_person else _ASKS_PROGRAM
    if status >= _SERVER_ERROR and not isinstance(error, RequestError):
        LOG.warning("%s %s: %s", request.method, path_of(request.scope), ascii(str(error)))
    return JSONResponse(said, status, headers)


_ASKS_PROGRAM = 'Bearer realm="catmem"'
_ASKS_PERSON = 'Basic realm="catmem: the token goes into the field for the password", charset="UTF-8"'
"""A browser asks its person for a name and a password, and sends the token along from then on."""

_UNAUTHORIZED, _NO_SUCH_PATH, _NO_SUCH_METHOD, _SERVER_ERROR = 401, 404, 405, 500


def _of_route(error: HTTPException) -> RequestError:
    """What Starlette raises where no route fits."""
    if error.status_code == _NO_SUCH_PATH:
        return RequestError(
            404, "there is nothing here", code="no_such_path", hint="GET /openapi.json lists the paths."
        )
    if error.status_code == _NO_SUCH_METHOD:
        return RequestError(
            405,
            "this path takes other methods",
            code="no_such_method",
            hint="The header Allow names them.",
            headers=error.headers,
        )
    return RequestError(error.status_code, error.detail, code="request", headers=error.headers)


def path_of(scope: Scope) -> str:
    """The path of a request for a log: printable and short."""
    raw = scope.get("raw_path") or scope["path"].encode()
    return ascii(raw.decode("latin-1"))[1:-1][:200]
