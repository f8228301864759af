"""The OpenAPI document, made from the endpoints that serve, and from ``schemas/``."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from catmem import __version__
from catmem.server.api.endpoint import is_known, refuse_query, tag_of
from catmem.server.api.endpoints import ENDPOINTS, EVENTS, IF_MATCH, IF_NONE_MATCH, RETRY
from catmem.server.api.forms import ANSWERS, part, taken
from catmem.server.api.serving import JSON_TYPE, TEXT_TYPE, WRITE, to_json

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from catmem.server.api.endpoint import Endpoint, Parameter

PATH = "/openapi.json"
EVENTS_PATH = "/mem/events"

_SAID = (
    "Memory for agents on other machines. Each request has the token of an agent, bound to one profile; where the "
    "server has no tokens, it is reached from its own machine only, and whoever calls is a person."
)
_REFUSALS = {
    400: "The request cannot be meant.",
    401: "No token that is good here.",
    403: "Not for this caller.",
    404: "Not there, for this caller.",
    406: "It is a stream of events: the caller has to accept text/event-stream.",
    409: "Refused for what is there now.",
    412: "If-Match names what is there no longer.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "Understood, and wrong.",
    428: "Nothing says what the write is made on.",
    429: "Too many streams are open.",
    503: "Not now: busy, or the store cannot work.",
}
_ALWAYS = (400, 401, 403, 503)
_PLAIN = {
    "/healthz": ("healthz", "Whether the process lives"),
    "/readyz": ("readyz", "Whether the store answers and takes writes"),
}
"""Paths of the application that want no token."""


@cache
def document() -> dict[str, Any]:
    """The document, OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    for each in ENDPOINTS:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each)
    for path, (name, said) in _PLAIN.items():
        answers = {"200": _json("It does.", "Status"), **_refused([503])}
        paths[path] = {"get": {"operationId": name, "summary": said, "security": [], "responses": answers}}
    paths[PATH] = {"get": _own()}
    paths[EVENTS_PATH] = {"get": _events()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "catmem", "version": __version__, "description": _SAID},
        "paths": paths,
        "components": {
            "schemas": dict(sorted({**ANSWERS, **taken()}.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    parameters = [*endpoint.parameters]
    if endpoint.body == WRITE:
        parameters += [IF_MATCH, RETRY]
    if not endpoint.writes:
        parameters.append(IF_NONE_MATCH)
    given = _json("Done." if endpoint.writes else "What was asked for.", endpoint.gives)
    given["headers"] = {"ETag": {"schema": {"type": "string"}, "description": "Names this answer."}}
    if endpoint.as_text:
        given["content"] = {TEXT_TYPE: {"schema": {"type": "string"}}, **given["content"]}
    answers = {"200": given}
    if not endpoint.writes:
        answers["304"] = {"description": "The caller has it already."}
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "description": endpoint.said,
        "parameters": [_parameter(each) for each in parameters],
        "responses": {**answers, **_refused([*_ALWAYS, *endpoint.refusals])},
    }
    if endpoint.name == "seed":
        operation["responses"]["409"] = {
            "description": "Some files were refused; the answer says which.",
            "content": {JSON_TYPE: {"schema": {"anyOf": [part("Error"), part("Seeded")]}}},
        }
    if endpoint.body is not None:
        content = {JSON_TYPE: {"schema": part(endpoint.body)}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _own() -> dict[str, Any]:
    given = {"description": "OpenAPI 3.1.", "content": {JSON_TYPE: {"schema": {"type": "object"}}}}
    answers = {"200": given, "304": {"description": "The caller has it already."}, **_refused([401, 403])}
    return {
        "operationId": "openapi",
        "summary": "This document",
        "parameters": [_parameter(IF_NONE_MATCH)],
        "responses": answers,
    }


def _events() -> dict[str, Any]:
    given = {
        "description": "A stream that does not end. Each event is named revision, drift, trouble, recovered or missed, "
        "and its data is JSON.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
    return {
        "operationId": "events",
        "summary": "Hear of what is new as it happens",
        "description": "Of all that the caller may hear of: a profile of its own files, one of tier 1 and a person of "
        "all.",
        "parameters": [_parameter(each) for each in EVENTS],
        "responses": {"200": given, **_refused([*_ALWAYS, 404, 406, 429])},
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.said,
        "required": parameter.required,
        "schema": parameter.schema,
    }


def _json(said: str, form: str) -> dict[str, Any]:
    return {"description": said, "content": {JSON_TYPE: {"schema": part(form)}}}


def _refused(statuses: list[int]) -> dict[str, Any]:
    return {str(status): _json(_REFUSALS[status], "Error") for status in sorted(set(statuses))}


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


def route() -> BaseRoute:
    """Where the document is served."""
    return Route(PATH, _serve, methods=["GET"], name="openapi")
