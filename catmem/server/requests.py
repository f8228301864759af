"""What a request says (parameters by name, ETags, a body), and errors as answers to it.

Each is read here, or refused with what it has to be.

The tag of an entity is its revision, ``"7"``. A text that no history has yet has ``u`` and a keyed digest: it tells
whether it is the same text, and nothing else of it, for the key is made anew with each process.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Scope

from catmem.config.json_schema import faults_by, nearest, shown
from catmem.envelopes.tokens import KEY, Token
from catmem.errors import BusyError, CatmemError, RefusedError, RequestError
from catmem.jsonable import jsonable

BodySchema: TypeAlias = dict[str, Any]
"""A JSON Schema as OpenAPI 3.1 takes it."""
JSON_TYPE = "application/json"
TEXT_TYPE = "text/plain"
_MOST_PARAMETERS = 32
_DIGITS = 12


def field(name: str, said: str, form: BodySchema, place: str = "query", *, required: bool = False) -> BodySchema:
    """A value that a request gives by name, as OpenAPI says it. ``form``: a text, an integer, a boolean or a date."""
    return {"name": name, "in": place, "description": said, "required": required, "schema": form}


# --- parameters ------------------------------------------------------------------------------------------------------


def form_of(fields: Mapping[str, BodySchema], required: Iterable[str] = ()) -> str:
    """The JSON Schema, as a text, of an object with these fields and no others."""
    form = {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}
    return json.dumps(form)


def read_values(form: str, given: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The values of parameters as a request gives them. Raises ``RequestError`` 400 (``bad_parameter``)."""
    kinds = _kinds(form)
    values: dict[str, Any] = {}
    takes = f"It takes {', '.join(kinds)}." if kinds else "It takes none."
    for name, text in given:
        if name not in kinds:
            near = nearest(name, kinds)
            said = f"there is no parameter {shown(name)}"
            raise bad_parameter(said, f"Did you mean {near!r}? {takes}" if near else takes)
        if name in values:
            raise bad_parameter(f"the parameter {name} is given twice", "Give it once.")
        values[name] = _meant(text, kinds[name].get("type"))
    for key, message, hint in faults_by(form, values):
        at, said = str(key[0]) if key else "", message.replace("the key", "the parameter", 1)
        if at in values:
            way = hint or kinds[at].get("description")
            raise bad_parameter(f"{at}: {said}", f"{way} {takes}" if way else takes)
        raise bad_parameter(said, f"{hint} {takes}" if hint else takes)
    return values


@cache
def _kinds(form: str) -> dict[str, BodySchema]:
    kinds: dict[str, BodySchema] = json.loads(form)["properties"]
    return kinds


def _meant(text: str, kind: str | None) -> Any:  # noqa: ANN401 - a JSON value
    """The value that a text of an address stands for, if it can be one of that kind."""
    if kind == "integer" and text.isascii() and text.isdecimal() and len(text) <= _DIGITS:
        return int(text)
    return {"true": True, "false": False}.get(text, text) if kind == "boolean" else text


_NOTHING = form_of({})


def refuse_query(request: Request) -> None:
    """Raise ``RequestError`` 400 (``bad_parameter``) for parameters where a path takes none."""
    read_values(_NOTHING, request.query_params.multi_items())


def bad_parameter(message: str, hint: str) -> RequestError:
    """The refusal of a parameter that cannot be meant."""
    return RequestError(message, code="bad_parameter", hint=hint)


# --- etags -----------------------------------------------------------------------------------------------------------

_TAG = re.compile(r'"(?P<base>[0-9]{1,12}[a-z]{0,8}|u[0-9a-f]{32})"')


def read_match(headers: Sequence[str]) -> str | None:
    """What ``If-Match`` says, which may stand in several headers: see ``RequestBody.match``."""
    if not headers:
        return None
    header = ", ".join(headers)
    found = _TAG.fullmatch(header.strip())
    if found is None:
        raise RequestError(
            f"If-Match is {shown(header)}",
            code="bad_precondition",
            hint='Give the ETag of what you read, such as "7". A weak tag, a list and * name no one revision.',
        )
    return found["base"]


def refuse_other_type(request: Request, kind: str, called: str, hint: str) -> None:
    """Raise ``RequestError`` 415 (``unsupported_media``) for a body of another type."""
    found = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if found != kind:
        message = f"the body is {shown(found) if found else 'of no type'}, and has to be {called}"
        raise RequestError(message, code="unsupported_media", hint=f"Nothing was done. {hint}")


def query_of(request: Request) -> list[tuple[str, str]]:
    """The parameters of an address, as they stand there. Raises ``RequestError`` 400 (``bad_parameter``)."""
    text: bytes = request.scope["query_string"]
    try:
        options: dict[str, Any] = {"keep_blank_values": True, "errors": "strict", "strict_parsing": True}
        return parse_qsl(text.decode(), max_num_fields=_MOST_PARAMETERS, **options) if text else []
    except ValueError:
        raise bad_parameter("the query cannot be read", "Write it as NAME=VALUE, joined by &, in UTF-8.") from None


def to_json(data: Any) -> bytes:  # noqa: ANN401 - JSON-ready data
    """Data as JSON in UTF-8; half a character, which a file may hold, as an escape."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode() if text.isascii() else text.encode(errors="backslashreplace")


# --- errors as answers: which status, and what a caller learns -------------------------------------------------------


LOG = logging.getLogger("catmem.server")

_OF_PLACES = ("path", "line", "column")
"""What an error says of files here, which is nothing to an agent elsewhere."""

_FROM_INTERNAL = 500


def answer_of(error: CatmemError, *, bounded: bool = True) -> tuple[int, dict[str, Any]]:
    """The status and the JSON of an answer: ``jsonable(error)``, and ``head`` where a write was refused for it."""
    status = error.http_status
    data = {name: value for name, value in jsonable(error).items() if value is not None}
    if isinstance(error, RefusedError) and error.head is not None:
        data["head"] = dict(error.head)
    if not bounded:
        return status, data
    if status >= _FROM_INTERNAL and not isinstance(error, RequestError | BusyError):
        # Of what another program left in an entity, waiting makes nothing better; the hint names the entity alone.
        mending = {"hint": f"Tell a person. {error.hint}"} if error.code == "not_json" else {}
        return status, {"code": error.code, **_OF_THE_SERVER, **mending}
    return status, {name: value for name, value in data.items() if name not in _OF_PLACES}


_OF_THE_SERVER = {
    "message": "the memory cannot be used right now",
    "hint": "Try again later. The person who runs the server finds the reason in its log and in 'catmem doctor'.",
}


def unforeseen() -> RequestError:
    """The answer to an unforeseen error; what it was stands in the log."""
    return RequestError(
        "something went wrong in the server",
        code="internal",
        hint="Repeat a write under its op_id only. The person who runs the server finds the reason in its log.",
    )


# --- as responses ----------------------------------------------------------------------------------------------------


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
    bounded = not (isinstance(caller, Token) and caller.is_person)
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
    if error.status_code == _NO_SUCH_PATH:
        return RequestError("there is nothing here", code="no_such_path", hint="GET /openapi.json lists the paths.")
    if error.status_code == _NO_SUCH_METHOD:
        return RequestError(
            "this path takes other methods",
            code="no_such_method",
            hint="The header Allow names them.",
            headers=error.headers,
        )
    return RequestError(error.detail, code="request", status=error.status_code, headers=error.headers)


def path_of(scope: Scope) -> str:
    """The path of a request for a log: printable and short."""
    raw = scope.get("raw_path") or scope["path"].encode()
    return ascii(raw.decode("latin-1"))[1:-1][:200]
