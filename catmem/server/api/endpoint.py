"""One path and method of the API: what it takes and gives; ETags; from a request to an answer, of which some are kept.

The tag of an entity is ``"7-1f0c…"``: the revision, and a digest of the answer, which is another one for each caller
and day. A text that no history has yet has ``u`` and a keyed digest in the place of the revision: it tells whether it
is the same text, and nothing else of it, for the key is made anew with each process.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias
from urllib.parse import parse_qsl

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from catmem.config.json_schema import is_date, nearest, shown
from catmem.errors import CatmemError, OperationCollisionError, RequestError
from catmem.server.caller import caller_of
from catmem.server.error_responses import answer_of
from catmem.server.guard import in_thread
from catmem.workspace.root import discreet
from catmem.writing.drift_guard import shown_in
from catmem.writing.matching import is_digest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from starlette.datastructures import State
    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from catmem.server.caller import Caller
    from catmem.store.contract import Snapshot
    from catmem.workspace.workspace import Workspace
    from catmem.writing.drift_guard import ToolSession

Schema: TypeAlias = dict[str, Any]
"""A JSON Schema as OpenAPI 3.1 takes it."""

Place: TypeAlias = Literal["query", "path", "header"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that a request gives by name. ``schema`` is a text, an integer, a boolean or a date."""

    name: str
    said: str
    schema: Schema
    required: bool = False
    place: Place = "query"


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """What a request asks for: its parameters by name, its body, and what it says of revisions that it knows."""

    values: Mapping[str, Any]
    body: bytes = b""
    match: IfMatch | None = None
    retry: str | None = None
    """What ``Idempotency-Key`` names: an ``op_id``."""
    session: ToolSession | None = None
    """What the agent that asks knows of the files; ``None`` for a person."""

    def get(self, name: str) -> Any:  # noqa: ANN401 - as its schema says
        """The value of a parameter, ``None`` where it is not given."""
        return self.values.get(name)


@dataclass(frozen=True, slots=True)
class Answer:
    """What an endpoint gives: JSON-ready data, or a text that may be asked for in its place.

    ``base`` is what its ETag says beside a digest: the revision that it shows, or ``tags.unrecorded`` of its text.
    """

    data: dict[str, Any]
    base: str | None = None
    text: str | None = None
    status: int = 200
    warnings: Sequence[str] = ()
    """What a header says where the answer is a text, which has no field for it."""
    place: str | None = None
    """Where to ask what became of what was asked for."""


class Deferred(NamedTuple):
    """An answer that is not made yet: ``make`` makes it of ``made_of`` and of what was asked, and of nothing else."""

    make: Callable[[], Answer]
    made_of: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One path and method. ``answer`` is a synchronous call, made in a worker thread.

    ``gives`` names the form of its answer (``forms``), ``body`` that of what it takes. ``statuses`` say which status
    a code of an error has here, where that is another than everywhere.
    """

    method: Literal["GET", "POST"]
    path: str
    name: str
    summary: str
    said: str
    answer: Callable[[Workspace, Caller, ApiRequest], Answer | Deferred]
    gives: str
    parameters: Sequence[Parameter] = ()
    body: str | None = None
    as_text: bool = False
    refusals: Sequence[int] = ()
    statuses: Mapping[str, int] = field(default_factory=dict)

    @property
    def writes(self) -> bool:
        """Whether it changes anything."""
        return self.method == "POST"


# --- parameters ----------------------------------------------------------------------------------------------------


def read_values(parameters: Sequence[Parameter], given: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The values of parameters as a request gives them. Raises ``RequestError`` 400 (``bad_parameter``).

    What is unknown, and what is given twice, is refused: what is quietly left out may be what the caller meant most.
    """
    known = {each.name: each for each in parameters if each.place != "header"}
    values: dict[str, Any] = {}
    for name, text in given:
        if name not in known:
            near = nearest(name, known)
            takes = f"It takes {', '.join(known)}." if known else "It takes none."
            raise bad_parameter(
                f"there is no parameter {shown(name)}", f"Did you mean {near!r}? {takes}" if near else takes
            )
        if name in values:
            raise bad_parameter(f"the parameter {name} is given twice", "Give it once.")
        values[name] = _value(known[name], text)
    for name, parameter in known.items():
        if parameter.required and name not in values:
            raise bad_parameter(f"the parameter {name} is missing", parameter.said)
    return values


def refuse_query(request: Request) -> None:
    """Raise ``RequestError`` 400 (``bad_parameter``) for parameters where a path takes none."""
    read_values((), request.query_params.multi_items())


def bad_parameter(message: str, hint: str) -> RequestError:
    """The refusal of a parameter that cannot be meant."""
    return RequestError(400, message, code="bad_parameter", hint=hint)


def _value(parameter: Parameter, text: str) -> Any:  # noqa: ANN401 - as its schema says
    schema = parameter.schema
    match schema.get("type"):
        case "integer":
            fits = _is_number(text) and schema.get("minimum", 0) <= int(text) <= schema["maximum"]
            value: Any = int(text) if fits else None
        case "boolean":
            fits, value = text in {"true", "false"}, text == "true"
        case _ if schema.get("format") == "date":
            fits = is_date(text)
            value = date.fromisoformat(text) if fits else None
        case _:
            fits, value = _is_text(schema, text), text
    if not fits:
        raise bad_parameter(f"{parameter.name} is {shown(text)}, and has to be {_wanted(schema)}", parameter.said)
    return value


def _wanted(schema: Schema) -> str:
    """What a parameter may be, in words."""
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    if schema.get("type") == "integer":
        return f"a number from {schema.get('minimum', 0)} to {schema['maximum']:,}"
    if schema.get("type") == "boolean":
        return "true or false"
    if schema.get("format") == "date":
        return "a day such as 2026-11-21"
    return "a text that the parameter can be"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len("9" * 12)


def _is_text(schema: Schema, text: str) -> bool:
    if "enum" in schema:
        return text in schema["enum"]
    long = len(text) > schema.get("maxLength", 1024) or len(text) < schema.get("minLength", 0)
    return not long and ("pattern" not in schema or bool(_pattern(schema["pattern"]).search(text)))


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    # `$` alone would let a newline pass at the end.
    return re.compile(re.sub(r"\$$", r"\\Z", pattern))


# --- etags ---------------------------------------------------------------------------------------------------------

_KEY = secrets.token_bytes(32)
_LENGTH = 16
_TAG = re.compile(r'"(?P<base>[0-9]{1,12}[a-z]{0,8}|u[0-9a-f]{32})(?:-[0-9a-f]{16})?"')
_ANY_TAG = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')


class IfMatch(NamedTuple):
    """What ``If-Match`` names: a revision, or else a text that has none."""

    revision: str | None
    unrecorded: str | None = None

    def fits(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot is the text that has no revision."""
        return self.unrecorded is not None and hmac.compare_digest(self.unrecorded, unrecorded(snapshot.digest))


def unrecorded(digest: str) -> str:
    """What stands in a tag for a text without a revision."""
    return "u" + hmac.digest(_KEY, digest.encode(), "sha256").hex()[:32]


def tag_of(body: bytes, base: str | None = None) -> str:
    """The tag of an answer; ``base`` is the revision that it shows, or ``unrecorded`` of its text."""
    digest = hashlib.sha256(body).hexdigest()[:_LENGTH]
    return f'"{digest}"' if base is None else f'"{base}-{digest}"'


def read_match(headers: Sequence[str]) -> IfMatch | None:
    """What ``If-Match`` says, which may stand in several headers.

    Raises ``RequestError`` 400 (``bad_precondition``) for more than one tag, and for ``*``.
    """
    if not headers:
        return None
    header = ", ".join(headers)
    found = _TAG.fullmatch(header.strip())
    if found is None:
        raise RequestError(
            400,
            f"If-Match is {shown(header)}",
            code="bad_precondition",
            hint='Give the ETag of what you read, such as "7". A weak tag, a list and * name no one revision.',
        )
    base = found["base"]
    return IfMatch(None, base) if base.startswith("u") else IfMatch(base)


def is_known(header: str | None, tag: str) -> bool:
    """Whether ``If-None-Match`` says that the caller has the answer of this tag."""
    if header is None:
        return False
    return header.strip() == "*" or tag in _ANY_TAG.findall(header)


# --- from a request to an answer -----------------------------------------------------------------------------------

JSON_TYPE = "application/json"
TEXT_TYPE = "text/plain"
WRITE = "Write"
"""The form of the body for which conditions are looked at; elsewhere they are refused and not passed over."""
CONDITIONS = frozenset({"if-match", "idempotency-key"})
_MOST_PARAMETERS = 32
_MOST_BYTES = 16 << 20
"""Bytes that all kept answers may take."""
_OVERHEAD = 8192
"""Bytes that an answer takes beside what is counted: the question, headers, places in tables."""
OF_THE_BODY = frozenset({"content-type", "content-length"})
_NO_STORE = {"Cache-Control": "no-store"}
_CACHED = {"Cache-Control": "private, no-cache", "Vary": "Authorization, Accept"}


def routes_of(endpoints: Sequence[Endpoint]) -> list[BaseRoute]:
    """A route for each path, with all of its methods: so that a 405 names them."""
    paths: dict[str, dict[str, Endpoint]] = {}
    for each in endpoints:
        paths.setdefault(each.path, {})[each.method] = each
    return [
        Route(path, _served(found), methods=[*found], name=next(iter(found.values())).name)
        for path, found in paths.items()
    ]


def _served(endpoints: Mapping[str, Endpoint]) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        return await _respond(request, endpoints["POST" if request.method == "POST" else "GET"])

    return serve


async def _respond(request: Request, endpoint: Endpoint) -> Response:
    caller, asked = caller_of(request), await _asked(request, endpoint)
    state, accept = request.app.state, request.headers.get("accept", "")
    as_json = endpoint.as_text and JSON_TYPE in accept and TEXT_TYPE not in accept
    try:
        made, session = await in_thread(request, _made, endpoint, state, caller, asked, as_json)
    except CatmemError as error:
        status = _status(endpoint, asked, error)
        if status is None:
            raise
        data = answer_of(error, bounded=not caller.is_person, status=status)[1]
        return JSONResponse(data, status, _NO_STORE)
    sent = made.response
    if not endpoint.writes and is_known(request.headers.get("if-none-match"), sent.headers["etag"]):
        return Response(None, 304, {name: value for name, value in sent.headers.items() if name not in OF_THE_BODY})
    if session is not None and request.method != "HEAD":  # what is sent without a body shows nothing
        session.learn(made.shown)
    return sent


async def _asked(request: Request, endpoint: Endpoint) -> ApiRequest:
    """What a request asks for. Raises ``RequestError``: 400 ``bad_parameter``, ``bad_precondition``, 415."""
    headers = request.headers
    given = [*_query(request), *((name, str(value)) for name, value in request.path_params.items())]
    values = read_values(endpoint.parameters, given)
    if not endpoint.writes:
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            raise RequestError(
                400, f"{endpoint.method} {endpoint.path} takes no body", code="bad_body",
                hint="Nothing was done. Give what is asked for as parameters of the address.",
            )  # fmt: skip
        return ApiRequest(values)
    refuse_other_type(request, JSON_TYPE, "JSON", "Send the header 'Content-Type: application/json'.")
    if endpoint.body != WRITE and (conditions := CONDITIONS.intersection(headers)):
        raise RequestError(
            400,
            f"this path takes no {min(conditions)}",
            code="bad_precondition",
            hint="Nothing was done. Leave the header out: it is for /mem/write.",
        )
    match, retry = read_match(headers.getlist("if-match")), headers.get("idempotency-key")
    return ApiRequest(values, await request.body(), match, None if retry is None else retry.strip().strip('"'))


def refuse_other_type(request: Request, kind: str, called: str, hint: str) -> None:
    """Raise ``RequestError`` 415 (``unsupported_media``) for a body of another type."""
    found = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if found != kind:
        message = f"the body is {shown(found) if found else 'of no type'}, and has to be {called}"
        raise RequestError(415, message, code="unsupported_media", hint=f"Nothing was done. {hint}")


def _query(request: Request) -> list[tuple[str, str]]:
    text: bytes = request.scope["query_string"]
    try:
        options: dict[str, Any] = {"keep_blank_values": True, "errors": "strict", "strict_parsing": True}
        return parse_qsl(text.decode(), max_num_fields=_MOST_PARAMETERS, **options) if text else []
    except ValueError:
        raise bad_parameter("the query cannot be read", "Write it as NAME=VALUE, joined by &, in UTF-8.") from None


def _status(endpoint: Endpoint, asked: ApiRequest, error: CatmemError) -> int | None:
    """The status of an error where it is another one here: with ``If-Match`` a stale write is a 412."""
    if asked.match is not None and _is_stale(error):
        return 412
    return endpoint.statuses.get(error.code)


def _is_stale(error: CatmemError) -> bool:
    """Whether a write was refused for what it was made on."""
    if isinstance(error, OperationCollisionError):
        # Of an op_id that was used for something else ``expected`` is a digest, or hidden.
        return error.expected is not None and not is_digest(error.expected)
    return error.code in {"stale_prev", "drift", "unknown_revision"}


def _made(
    endpoint: Endpoint,
    state: State,
    caller: Caller,
    asked: ApiRequest,
    as_json: bool,  # noqa: FBT001
) -> tuple[Made, ToolSession | None]:
    """The answer of an endpoint, made in the same thread: that of a large file takes its time.

    ``as_json``: a caller who could have a text wants JSON. With it goes the conversation of an agent.
    """
    workspace: Workspace = state.workspace
    if caller.profile is not None:
        asked = replace(asked, session=state.sessions.session((caller.token_id, caller.profile), caller.profile))
    with discreet(workspace, caller.profile):
        answer = endpoint.answer(workspace, caller, asked)
        if isinstance(answer, Answer):
            made = _encoded(endpoint, answer, as_json=as_json)
        else:
            question = endpoint.name, caller.profile, as_json, *asked.values.items()
            made = state.answers.get(
                question, answer.made_of, lambda: _encoded(endpoint, answer.make(), as_json=as_json)
            )
    return made, asked.session


class Made(NamedTuple):
    """An answer as it is sent, and what the entries say that it shows whole."""

    response: Response
    shown: frozenset[Any]


def _encoded(endpoint: Endpoint, answer: Answer, *, as_json: bool) -> Made:
    shown = frozenset(shown_in(answer.data))
    text = None if as_json else answer.text
    body = to_json(answer.data) if text is None else text.encode(errors="backslashreplace")
    headers = dict(_NO_STORE if endpoint.writes else _CACHED)
    if not endpoint.writes:
        headers["ETag"] = tag_of(body, answer.base)
    elif answer.base is not None:
        # What was written is no answer that a caller could ask for again: its tag says where it is, and nothing else.
        headers["ETag"] = f'"{answer.base}"'
    if answer.place is not None:
        headers["Location"] = answer.place
    if text is not None and answer.warnings:
        headers["Catmem-Warning"] = "; ".join(answer.warnings)
    return Made(Response(body, answer.status, headers, JSON_TYPE if text is None else TEXT_TYPE), shown)


class AnswerCache:
    """The answers of a server that were asked for last, with what they were made of. For several threads.

    Nothing in it can be old: what an answer is made of is read again for each request, and compared.
    """

    def __init__(self) -> None:
        """None yet."""
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[object, ...], tuple[tuple[object, ...], Made, int]] = OrderedDict()
        self.size = 0
        """Bytes of all answers, and of what they were made of."""

    def get(self, question: tuple[object, ...], made_of: tuple[object, ...], make: Callable[[], Made]) -> Made:
        """What was answered to the same question, if it was made of the same; else it is made."""
        with self._lock:
            found = self._known.get(question)
            if found is not None and found[0] == made_of:
                self._known.move_to_end(question)
                return found[1]
        made = make()
        size = _OVERHEAD + len(made.response.body) + sum(len(each) for each in made_of if isinstance(each, bytes))
        with self._lock:
            self.size += size - self._known.pop(question, (None, None, 0))[2]
            self._known[question] = made_of, made, size
            while self.size > _MOST_BYTES:
                self.size -= self._known.popitem(last=False)[1][2]
        return made


def to_json(data: Any) -> bytes:  # noqa: ANN401 - JSON-ready data
    """Data as JSON in UTF-8; half a character, which a file may hold, as an escape."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode() if text.isascii() else text.encode(errors="backslashreplace")
