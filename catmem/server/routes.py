"""The interface of HTTP: the routes of the table's rows, from a request to its answer, and their OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from catmem import __version__
from catmem.config.json_schema import faults_by
from catmem.config.yamlfile import key_text
from catmem.envelopes.envelope import fields_in, json_of
from catmem.envelopes.papers import FIELDS, is_plain
from catmem.envelopes.tokens import caller_of
from catmem.errors import CatmemError, EnvelopeError, RequestError
from catmem.jsonable import jsonable
from catmem.ops.table import (
    ENTITY,
    OPERATIONS,
    Call,
    Http,
    OperationRow,
    Outcome,
    Parameter,
    RequestBody,
    Schema,
    UsageError,
    call,
    load_all,
    value_of,
)
from catmem.resources import package_text, schema
from catmem.server.guard import in_thread
from catmem.server.requests import (
    JSON_TYPE,
    TEXT_TYPE,
    answer_of,
    bad_parameter,
    field,
    form_of,
    query_of,
    read_match,
    read_values,
    refuse_other_type,
    refuse_query,
    to_json,
)
from catmem.workspace.change_feed import keyed_digest
from catmem.workspace.root import hide_names
from catmem.writing.drift_guard import ToolSession

_PRECONDITION_FAILED = 412
CONDITIONS = frozenset({"if-match", "idempotency-key"})
_LIST: Schema = {"type": "string", "maxLength": 65_536}
"""A list in an address: its parts with commas between."""
_SHORT: Schema = {"maxLength": 1024}
"""What a text in an address is unless its schema says otherwise."""


@dataclass(frozen=True)
class Endpoint:
    """A row with its path."""

    row: OperationRow
    http: Http

    @property
    def name(self) -> str:
        """Its ``operationId``."""
        return self.row.name.replace("-", "_")

    @property
    def writes(self) -> bool:
        """Whether it may change anything."""
        return self.http.method == "POST"

    @cached_property
    def fields(self) -> list[Schema]:
        """What its address gives: of one that writes, what stands in its path, and what its own form leaves out."""
        found = []
        for each in self.row.at("http"):
            in_path = f"{{{each.called}}}" in self.http.path
            if in_path or not self.writes or self.http.conditional:
                short = _SHORT if each.schema.get("type") == "string" else {}
                form, needed = _LIST if each.many else short | each.schema, each.required or each.param.needed
                place = "path" if in_path else "query"
                found.append(field(each.called, each.param.help, form, place, required=needed))
        return found

    @cached_property
    def query(self) -> str:
        """The form of these values."""
        said = {each["name"]: {**each["schema"], "description": each["description"]} for each in self.fields}
        return form_of(said, [each["name"] for each in self.fields if each["required"]])

    @cached_property
    def body(self) -> Schema | None:
        """The form of its body; ``None`` where it takes none, or one of its own."""
        if not self.writes or self.http.conditional:
            return None
        inside = [each for each in self.row.at("http") if f"{{{each.called}}}" not in self.http.path]
        form: Schema = {
            "type": "object",
            "description": f"{self.http.summary}.",
            "properties": {each.called: _described(each) for each in inside},
        }
        needed = [each.called for each in inside if each.required or each.param.needed]
        return {**form, **({"required": needed} if needed else {}), "additionalProperties": False}


def _described(each: Parameter) -> Schema:
    said = each.param.help
    return {**each.schema, "description": said} if said else each.schema


def endpoints() -> list[Endpoint]:
    """The rows that have a path."""
    load_all()
    return [Endpoint(row, row.http) for row in OPERATIONS.values() if row.http is not None]


def routes_of(found: list[Endpoint]) -> list[BaseRoute]:
    """A route for each path, with all of its methods: so that a 405 names them."""
    paths: dict[str, dict[str, Endpoint]] = {}
    for each in found:
        paths.setdefault(each.http.path, {})[each.http.method] = each
    return [Route(path, _served(there), methods=[*there], name=path) for path, there in paths.items()]


def _served(there: Mapping[str, Endpoint]) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        return await _respond(request, there["POST" if request.method == "POST" else "GET"])

    return serve


async def _respond(request: Request, endpoint: Endpoint) -> Response:
    caller, (values, request_body) = caller_of(request), await _asked(request, endpoint)
    try:
        sent, shown, session = await in_thread(request, _made, request, endpoint, values, request_body)
    except CatmemError as error:
        if request_body.match is None or not _is_stale(error):
            raise
        return JSONResponse(answer_of(error, bounded=not caller.is_person)[1], _PRECONDITION_FAILED)
    if session is not None and request.method != "HEAD":  # what is sent without a body shows nothing
        session.learn(shown)
    return sent


async def _asked(request: Request, endpoint: Endpoint) -> tuple[dict[str, Any], RequestBody]:
    """What a request asks for. Raises ``RequestError``: 400 ``bad_parameter``, ``bad_precondition``, 415."""
    headers = request.headers
    given = [*query_of(request), *((name, str(value)) for name, value in request.path_params.items())]
    values = read_values(endpoint.query, given)
    if not endpoint.writes:
        return values, RequestBody()
    refuse_other_type(request, JSON_TYPE, "JSON", "Send the header 'Content-Type: application/json'.")
    if not endpoint.http.conditional and (conditions := CONDITIONS.intersection(headers)):
        raise RequestError(
            f"this path takes no {min(conditions)}",
            code="bad_precondition",
            hint="Nothing was done. Leave the header out: it is for /mem/write.",
        )
    retry = ", ".join(headers.getlist("idempotency-key")).strip().strip('"')
    return values, RequestBody(
        await request.body(),
        match=read_match(headers.getlist("if-match")),
        retry=retry or None,
    )


def _is_stale(error: CatmemError) -> bool:
    return error.code in {"stale_prev", "drift", "unknown_revision"}


def _made(
    request: Request, endpoint: Endpoint, values: dict[str, Any], request_body: RequestBody
) -> tuple[Response, frozenset[Any], ToolSession | None]:
    """The answer, what the entries say that it shows whole, and the conversation of an agent. In a worker thread."""
    state, caller, session = request.app.state, caller_of(request), None
    accept = request.headers.get("accept", "")
    as_text = endpoint.http.as_text and not (JSON_TYPE in accept and TEXT_TYPE not in accept)
    if caller.profile is not None:
        session = state.sessions.session((caller.token_id, caller.profile), caller.profile)
    if endpoint.http.conditional:
        value = json_in(request_body.value)
        if isinstance(value, dict) and is_plain(value):
            value = object_in(value, request_body.value)
        request_body = request_body._replace(value=value, size=len(request_body.value))
    elif endpoint.body is not None:
        values |= _fields(request_body.value, json.dumps(endpoint.body))
    named = {each.called: each for each in endpoint.row.parameters.values()}
    values = {
        named[name].name: _parts(value) if named[name].many and isinstance(value, str) else value_of(named[name], value)
        for name, value in values.items()
    }
    asked = Call(
        endpoint.row,
        lambda _: state.workspace,
        "http",
        caller.profile,
        caller.agent,
        frozenset(values),
        for_program=True,
        session=session,
        request_body=request_body,
    )
    with hide_names(state.workspace, caller.profile):
        try:
            done = call(asked, values)
        except UsageError as error:
            raise bad_parameter(error.message, "See /openapi.json.") from None
        data = done.seen_by(asked)
        shown = frozenset(done.shows(data))
        return _encoded(done, data, as_text=as_text, to_agent=caller.profile is not None), shown, session


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _encoded(done: Outcome, data: dict[str, Any], *, as_text: bool, to_agent: bool) -> Response:
    data = {("entity_id" if name == "entity" else name): value for name, value in data.items()}
    if done.problems and "unreadable" not in data:
        data["unreadable"] = [{"code": error.code} if to_agent else jsonable(error) for error in done.problems]
    body = data["text"].encode(errors="backslashreplace") if as_text else to_json(data)
    base = done.revision
    if base is None and done.unrecorded is not None:
        base = keyed_digest(done.unrecorded)
    headers = {} if base is None else {"ETag": f'"{base}"'}
    if done.waiting is not None:
        headers["Location"] = f"/mem/proposals/{done.waiting}"
    if as_text and data["warnings"]:
        headers["Catmem-Warning"] = "; ".join(data["warnings"])
    status = 409 if done.conflict else 202 if done.waiting is not None else 200
    return Response(body, status, headers, TEXT_TYPE if as_text else JSON_TYPE)


# --- bodies ----------------------------------------------------------------------------------------------------------


def json_in(body: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """The JSON value that a body is. Raises ``RequestError`` 400 (``bad_json``)."""
    try:
        return json_of(body.decode())
    except UnicodeDecodeError as error:
        raise _bad_json(f"the body is not UTF-8: byte {error.start}") from None
    except EnvelopeError as error:
        place = "" if error.line is None else f" (line {error.line}, column {error.column})"
        raise _bad_json(f"the body is not JSON that can be read: {error.message}{place}") from None


def object_in(value: Any, body: bytes) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """The object that a body is. Raises ``RequestError`` 400 for what is nested without end, or half a character."""
    try:
        return fields_in(value, len(body))
    except EnvelopeError as error:
        if error.key is not None:
            raise  # the value of one field is wrong, and the whole is JSON
        raise _bad_json(error.message.replace("the envelope", "the body")) from None


def _bad_json(message: str) -> RequestError:
    return RequestError(message, code="bad_json", hint="Nothing was done. Send one JSON value in UTF-8.")


def _fields(body: bytes, form: str) -> dict[str, Any]:
    """The body as its form has it. Raises ``RequestError`` 400, and 422 (``bad_body``)."""
    value = json_in(body)
    for key, message, hint in faults_by(form, value):
        where = key_text(key) or ""
        where = where if where.isprintable() else ""  # the message shows it, with escapes
        raise RequestError(
            f"{where}: {message}" if where else message,
            code="bad_body",
            hint=hint or "Nothing was done. /openapi.json has the fields.",
        )
    return object_in(value, body)


# --- the OpenAPI document ---------------------------------------------------------------------------------------------


IF_MATCH = field(
    "If-Match", "The ETag of what the write is made on: it says the same as prev_rev.", {"type": "string"}, "header"
)
RETRY = field("Idempotency-Key", "The same as op_id.", {"type": "string"}, "header")

PATH = "/openapi.json"

_SAID = (
    "Memory for agents on other machines. Each request has the token of an agent, bound to one profile; where the "
    "server has no tokens, it is reached from its own machine only, and every caller is a person."
)
_REFUSALS = {
    400: "The request cannot be meant.",
    401: "No token that is good here.",
    403: "Not for this caller.",
    404: "Not there, for this caller.",
    409: "Refused for what is there now.",
    412: "If-Match names what is there no longer.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "Understood, and wrong.",
    428: "Nothing says what the write is made on.",
    503: "Not now: busy, or the store cannot work.",
}
_ALWAYS = (400, 401, 403, 404, 422, 503)
_BODIES = (409, 413, 415)
_BASES = (412, 428)
"""Statuses with which a path may refuse: every one, one that takes a body, and one that takes ``If-Match``."""
_PLAIN = {
    "/healthz": ("healthz", "Whether the process lives"),
    "/readyz": ("readyz", "Whether the store answers and takes writes"),
}
"""Paths of the application that want no token."""


@cache
def document() -> dict[str, Any]:
    """The document, OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    found = endpoints()
    for each in found:
        paths.setdefault(each.http.path, {})[each.http.method.lower()] = _operation(each)
    for path, (name, said) in _PLAIN.items():
        answers = {"200": _json_answer("It does.", "Status"), **_refused([503])}
        paths[path] = {"get": {"operationId": name, "summary": said, "security": [], "responses": answers}}
    paths[PATH] = {"get": _own_path()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "catmem", "version": __version__, "description": _SAID},
        "paths": paths,
        "components": {
            "schemas": dict(sorted({**_answers(), **_bodies(found)}.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    http = endpoint.http
    more = [IF_MATCH, RETRY] if http.conditional else []
    given = _json_answer("Done." if endpoint.writes else "What was asked for.", http.gives)
    given["headers"] = {"ETag": {"schema": {"type": "string"}, "description": "What If-Match takes, of an entity."}}
    if http.as_text:
        given["content"] = {TEXT_TYPE: {"schema": {"type": "string"}}, **given["content"]}
    answers = {"200": given}
    if http.conditional:
        place = {"schema": {"type": "string"}, "description": "Where to ask what became of it."}
        answers["202"] = _json_answer("It waits, and a person decides.", http.gives) | {"headers": {"Location": place}}
    refusals = [*_ALWAYS, *(_BODIES if endpoint.writes else ()), *(_BASES if http.conditional else ())]
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": http.summary,
        "description": http.description,
        "parameters": [*endpoint.fields, *more],
        "responses": {**answers, **_refused(refusals)},
    }
    if http.gives == "Seeded":
        operation["responses"]["409"] = {
            "description": "Some files were refused; the answer says which.",
            "content": {JSON_TYPE: {"schema": {"anyOf": [_reference("Error"), _reference("Seeded")]}}},
        }
    if endpoint.writes:
        content = {JSON_TYPE: {"schema": _reference("Write" if http.conditional else endpoint.name.capitalize())}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _own_path() -> dict[str, Any]:
    given = {"description": "OpenAPI 3.1.", "content": {JSON_TYPE: {"schema": {"type": "object"}}}}
    return {"operationId": "openapi", "summary": "This document", "responses": {"200": given, **_refused([401, 403])}}


def _json_answer(said: str, form: str | None) -> dict[str, Any]:
    schema = {"type": "object"} if form is None else _reference(form)
    return {"description": said, "content": {JSON_TYPE: {"schema": schema}}}


def _refused(statuses: list[int]) -> dict[str, Any]:
    return {str(status): _json_answer(_REFUSALS[status], "Error") for status in sorted(set(statuses))}


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _answers() -> dict[str, Any]:
    import yaml

    return {name: _table(said) for name, said in yaml.safe_load(package_text("server/forms.yaml")).items()}


def _table(said: dict[str, Any]) -> dict[str, Any]:
    always = said.get("always", {})
    form = {"type": "object", "description": said["description"], "properties": always | said.get("more", {})}
    form |= {"required": list(always)} if always else {}
    return form if said.get("open") else form | {"additionalProperties": False}


_PLAIN_FIELDS = {
    "entity_id": "What is written: PROFILE/user or PROFILE/memory (PROFILE alone means PROFILE/user), or an entity "
    "that catmem.yaml declares.",
    "content": "Operations, as in an envelope. Of an entity that catmem.yaml declares its text, or any JSON value.",
    "prev_rev": "The revision that it is made on. If-Match can say it too; one of the two has to.",
    "parents": "The same as prev_rev, in a list; behind it the revisions that the write merges, branches too.",
    "op_id": "A name of the writer's own for this write, the same in a retry. Idempotency-Key can say it too.",
}
_REASON = {"type": "string", "maxLength": 500, "description": "Why, for the history and for the person who decides."}


def _bodies(found: list[Endpoint]) -> dict[str, Any]:
    """The forms of bodies, with those that they refer to: the envelope is that of ``schemas/envelope.schema.json``."""
    envelope = {key: value for key, value in schema("envelope").items() if not key.startswith("$")}
    definitions = schema("envelope")["$defs"]
    forms = {"Envelope": envelope, **{f"Envelope_{name}": form for name, form in definitions.items()}}
    forms = {name: _led(form) for name, form in forms.items()}
    fields = forms["Envelope"]["properties"]
    plain = {name: {**fields[name], "description": _PLAIN_FIELDS[name]} for name in FIELDS} | {"reason": _REASON}
    plain["entity_id"] |= ENTITY
    written = {
        "type": "object",
        "description": "A write whose envelope the server makes, for the caller.",
        "properties": plain,
        "required": list(FIELDS[:2]),
        "additionalProperties": False,
    }
    bodies = {each.name.capitalize(): each.body for each in found if each.body is not None}
    return {
        **forms,
        "PlainWrite": written,
        "Write": {"anyOf": [_reference("Envelope"), _reference("PlainWrite")]},
        **bodies,
    }


def _led(form: Any) -> Any:  # noqa: ANN401 - any part of a JSON Schema
    if isinstance(form, dict):
        return {
            key: value.replace("#/$defs/", "#/components/schemas/Envelope_") if key == "$ref" else _led(value)
            for key, value in form.items()
        }
    return [_led(each) for each in form] if isinstance(form, list) else form


async def _serve_document(request: Request) -> Response:
    refuse_query(request)
    return Response(to_json(document()), media_type=JSON_TYPE)


def api_routes() -> list[BaseRoute]:
    """The routes of the API, and that of its document."""
    return [*routes_of(endpoints()), Route(PATH, _serve_document, methods=["GET"], name="openapi")]
