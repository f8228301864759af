"""Every path of the API, and the OpenAPI document, made from these and from ``schemas/``."""

from __future__ import annotations

from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from catmem import __version__
from catmem.envelopes.papers import FIELDS
from catmem.ops.shared import ENTITY
from catmem.resources import package_text, schema
from catmem.server.requests import JSON_TYPE, TEXT_TYPE, field, is_known, refuse_query, tag_of, to_json
from catmem.server.routes import Endpoint, endpoints, routes_of

IF_MATCH = field(
    "If-Match", "The ETag of what the write is made on: it says the same as prev_rev.", {"type": "string"}, "header"
)
RETRY = field("Idempotency-Key", "The same as op_id.", {"type": "string"}, "header")
IF_NONE_MATCH = field(
    "If-None-Match",
    "The ETag of what the caller has: if it is still the answer, it is not sent again (304).",
    {"type": "string"},
    "header",
)

# --- the document --------------------------------------------------------------------------------------------------

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
_ALWAYS = (400, 401, 403, 503)
_BODIES = (409, 413, 415, 422)
"""Statuses with which a path may refuse: every one, and one that takes a body."""
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
        answers = {"200": _json("It does.", "Status"), **_refused([503])}
        paths[path] = {"get": {"operationId": name, "summary": said, "security": [], "responses": answers}}
    paths[PATH] = {"get": _own()}
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
    more = [IF_MATCH, RETRY] if http.conditional else [] if endpoint.writes else [IF_NONE_MATCH]
    given = _json("Done." if endpoint.writes else "What was asked for.", http.gives)
    given["headers"] = {"ETag": {"schema": {"type": "string"}, "description": "Names this answer."}}
    if http.as_text:
        given["content"] = {TEXT_TYPE: {"schema": {"type": "string"}}, **given["content"]}
    answers = {"200": given}
    if not endpoint.writes:
        answers["304"] = {"description": "The caller has it already."}
    if http.conditional:
        place = {"schema": {"type": "string"}, "description": "Where to ask what became of it."}
        answers["202"] = _json("It waits, and a person decides.", http.gives) | {"headers": {"Location": place}}
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": http.summary,
        "description": http.said,
        "parameters": [*endpoint.fields, *more],
        "responses": {**answers, **_refused([*_ALWAYS, *(_BODIES if endpoint.writes else ()), *http.refusals])},
    }
    if http.gives == "Seeded":
        operation["responses"]["409"] = {
            "description": "Some files were refused; the answer says which.",
            "content": {JSON_TYPE: {"schema": {"anyOf": [_part("Error"), _part("Seeded")]}}},
        }
    if endpoint.writes:
        content = {JSON_TYPE: {"schema": _part("Write" if http.conditional else endpoint.name.capitalize())}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _own() -> dict[str, Any]:
    given = {"description": "OpenAPI 3.1.", "content": {JSON_TYPE: {"schema": {"type": "object"}}}}
    answers = {"200": given, "304": {"description": "The caller has it already."}, **_refused([401, 403])}
    return {
        "operationId": "openapi",
        "summary": "This document",
        "parameters": [IF_NONE_MATCH],
        "responses": answers,
    }


def _json(said: str, form: str | None) -> dict[str, Any]:
    schema = {"type": "object"} if form is None else _part(form)
    return {"description": said, "content": {JSON_TYPE: {"schema": schema}}}


def _refused(statuses: list[int]) -> dict[str, Any]:
    return {str(status): _json(_REFUSALS[status], "Error") for status in sorted(set(statuses))}


def _part(name: str) -> dict[str, Any]:
    """A reference to a form."""
    return {"$ref": f"#/components/schemas/{name}"}


def _answers() -> dict[str, Any]:
    """The forms of answers: JSON Schemas by name."""
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
    "content": "Operations, or the JSON form of a document, or a whole text, as in an envelope. Of an entity that "
    "catmem.yaml declares its text, or any JSON value.",
    "prev_rev": "The revision that it is made on. If-Match can say it too; one of the two has to.",
    "parents": "The same as prev_rev, in a list; behind it the revisions that the write merges, branches too.",
    "op_id": "A name of the writer's own for this write, the same in a retry. Idempotency-Key can say it too.",
    "alert": "Refuse the write once if the new text has little in common with the old one.",
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
    return {**forms, "PlainWrite": written, "Write": {"anyOf": [_part("Envelope"), _part("PlainWrite")]}, **bodies}


def _led(form: Any) -> Any:  # noqa: ANN401 - any part of a JSON Schema
    """The same with references that lead to components."""
    if isinstance(form, dict):
        return {
            key: value.replace("#/$defs/", "#/components/schemas/Envelope_") if key == "$ref" else _led(value)
            for key, value in form.items()
        }
    return [_led(each) for each in form] if isinstance(form, list) else form


@cache
def _bytes() -> tuple[bytes, str]:
    body = to_json(document())
    return body, tag_of(body)


async def _serve(request: Request) -> Response:
    refuse_query(request)
    body, tag = _bytes()
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if is_known(request.headers.get("if-none-match"), tag):
        return Response(None, 304, headers)
    return Response(body, 200, headers, JSON_TYPE)


def routes() -> list[BaseRoute]:
    """The routes of the API, and that of its document."""
    return [*routes_of(endpoints()), Route(PATH, _serve, methods=["GET"], name="openapi")]
