"""Every path of the API, and the OpenAPI document, made from these and from ``schemas/``."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from catmem import __version__
from catmem.server.api import answers
from catmem.server.api.endpoint import (
    JSON_TYPE,
    TEXT_TYPE,
    WRITE,
    Endpoint,
    Parameter,
    is_known,
    refuse_query,
    routes_of,
    tag_of,
    to_json,
)
from catmem.server.api.forms import ANSWERS, CATEGORY, DAY, ENTITY, PROFILE, REVISION, TARGET, TEXT, part, taken

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

_ENTITY = Parameter(
    "entity_id",
    "The entity: PROFILE/user or PROFILE/memory (PROFILE alone is PROFILE/user), or one that catmem.yaml declares.",
    ENTITY,
    required=True,
)
_AS_OF = Parameter("as_of", "The day that states are for, YYYY-MM-DD; today by default.", DAY)
_LIMIT = Parameter("limit", "How many at most.", {"type": "integer", "minimum": 1, "maximum": 100_000})
_OFFSET = Parameter("offset", "How many to pass over.", {"type": "integer", "minimum": 0, "maximum": 10_000_000})
_NEWEST = Parameter("limit", "How many at most; 100 by default.", {"type": "integer", "minimum": 1, "maximum": 10_000})
_STYLE = Parameter("style", "Instead of the profile's own.", {"type": "string", "enum": ["markdown", "xml", "hermes"]})
_PROPOSAL = Parameter("id", "Which one, such as p-1f0c2a4b6d.", TEXT, required=True, place="path")
_TARGET = Parameter("target", "Keep to one of the files: user or memory.", TARGET)

IF_MATCH = Parameter(
    "If-Match",
    "The ETag of what the write is made on: it says the same as prev_rev.",
    {"type": "string"},
    place="header",
)
RETRY = Parameter("Idempotency-Key", "The same as op_id.", {"type": "string"}, place="header")
IF_NONE_MATCH = Parameter(
    "If-None-Match", "The ETag of what the caller has: if it is still the answer, it is not sent again (304).",
    {"type": "string"}, place="header",
)  # fmt: skip

_SEED_STATUSES = {"seed_target": 422, "bad_category": 422, "unknown_category": 422}
_READS = (404,)
_WRITES = (400, 409, 413, 415, 422)

EVENTS = (
    Parameter(
        "entity_id",
        "Only these, with commas between; PROFILE/user@REVISION begins with an event if it is at another one by now.",
        {"type": "string", "maxLength": 65_536},
    ),
    Parameter(
        "Last-Event-ID", "The id that a stream began with: the caller comes back, and learns that it missed events.",
        {"type": "string"}, place="header",
    ),
)  # fmt: skip
"""What the stream of events takes (``server.sse``)."""

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET", "/mem/head", "head", "Which revision an entity is at",
        "What to give as prev_rev. recorded says whether the text is still that of the revision.",
        answers.head, "Head", (_ENTITY,), refusals=_READS,
    ),
    Endpoint(
        "POST", "/mem/write", "write", "Make a write",
        "An envelope, or a plain write of which the server makes one. Written as one revision, or refused: 409 with "
        "reason and head for what is there now (412 where If-Match says what it is made on). 202: it waits, and a "
        "person decides; Location says where to ask. A retry under the same op_id gets the first answer again.",
        answers.write, "Written",
        (Parameter("confirm", "Write what alert would refuse, and a person's secret.", {"type": "boolean"}),),
        body="Write", refusals=(*_WRITES, 404, 412, 428), statuses={"unknown_revision": 409},
    ),
    Endpoint(
        "GET", "/mem/read", "read", "Read the entries of an entity",
        "The entries that the caller sees, in file order, each with its state.",
        answers.read, "Read",
        (
            _ENTITY,
            Parameter("category", "Only entries of this category.", {"type": "string", "maxLength": 1024}),
            Parameter("revision", "An old revision: for a person and a profile of tier 1.", REVISION),
            _OFFSET, _LIMIT, _AS_OF,
        ),
        refusals=_READS,
    ),
    Endpoint(
        "GET", "/mem/log", "log", "List revisions",
        "The newest first. A bounded profile is shown those that it wrote.",
        answers.log, "Log",
        (_ENTITY, _NEWEST),
        refusals=_READS,
    ),
    Endpoint(
        "GET", "/mem/branches", "branches", "List branches that are not merged",
        "Of an entity, or of all. For a person and a profile of tier 1.",
        answers.branches, "Branches", (Parameter("entity_id", "Of this entity only.", ENTITY),), refusals=_READS,
    ),
    Endpoint(
        "POST", "/mem/merge", "merge", "Merge branches into the head",
        "For a person and a profile of tier 1. A conflict that nothing decides is a 409, and nothing is written.",
        answers.merge, "Merged", body="Merge", refusals=(*_WRITES, 404), statuses={"unknown_agent": 422},
    ),
    Endpoint(
        "GET", "/mem/proposals", "proposals", "List writes that wait for a person",
        "The oldest first. An agent gets its own, also those that were decided, and those it may approve.",
        answers.proposals, "Proposals",
    ),
    Endpoint(
        "GET", "/mem/proposals/{id}", "proposal", "What became of one",
        "Its changes, and how it was decided.", answers.proposal, "Proposal", (_PROPOSAL,), refusals=_READS,
    ),
    Endpoint(
        "POST", "/mem/proposals/{id}/approve", "approve", "Write what a proposal says",
        "For a person, and a profile that may_approve what others propose. 409 if an entry that it changes is stale.",
        answers.approve, "Decided", (_PROPOSAL,), body="Approve", refusals=(*_WRITES, 404),
    ),
    Endpoint(
        "POST", "/mem/proposals/{id}/reject", "reject", "Close a proposal",
        "For the same. Its proposer withdraws it so, and is shown the reason of others.",
        answers.reject, "Decided", (_PROPOSAL,), body="Reject", refusals=(*_WRITES, 404),
    ),
    Endpoint(
        "GET", "/prompt/{profile}", "prompt", "The prompt of a profile",
        "As text, or, where the caller accepts JSON alone, with its digest and the role of the profile. A profile is "
        "given its own.",
        answers.prompt, "Prompt",
        (
            Parameter("profile", "Whose prompt.", PROFILE, required=True, place="path"),
            Parameter("from", "Of the files of this profile; for a person and tier 1.", PROFILE),
            Parameter(
                "categories", "Only these, as selectors of a profile with commas between.",
                {"type": "string", "maxLength": 65_536},
            ),
            Parameter("budget", "At most so many characters.", {"type": "integer", "minimum": 1, "maximum": 10**9}),
            _STYLE,
            _AS_OF,
        ),
        as_text=True, refusals=(*_READS, 422), statuses={"selector": 422},
    ),
    Endpoint(
        "GET", "/seed", "seed_plan", "What a seed would do",
        "Entry by entry; nothing is written. For a person.",
        answers.seed_plan, "SeedPlan",
        (
            Parameter("source", "Whose files are copied from.", PROFILE, required=True),
            Parameter("targets", "Who gets a slice, separated by commas.", {"type": "string", "maxLength": 65_536}),
            _TARGET,
            Parameter(
                "categories", "Only these categories, separated by commas.", {"type": "string", "maxLength": 65_536}
            ),
            Parameter("category", "Only this category.", CATEGORY),
            Parameter("fit", "Leave out what would put a file over its limit.", {"type": "boolean"}),
            _AS_OF,
        ),
        refusals=(400, 404, 422), statuses=_SEED_STATUSES,
    ),
    Endpoint(
        "POST", "/seed", "seed", "Seed other profiles",
        "For a person and, from its own files, a profile of tier 1. Files that were refused make it a 409; the others "
        "are seeded.",
        answers.seed, "Seeded", body="Seed", refusals=(*_WRITES, 404), statuses=_SEED_STATUSES,
    ),
    Endpoint(
        "GET", "/lint", "lint", "What lint finds in the root",
        "For a person.", answers.lint, "Lint", (_AS_OF,),
    ),
    Endpoint(
        "GET", "/status", "status", "What is next for a person",
        "In the order in which it is best done. For a person.", answers.status, "NextSteps", (_AS_OF,),
    ),
)  # fmt: skip


# --- the document --------------------------------------------------------------------------------------------------

PATH = "/openapi.json"
EVENTS_PATH = "/mem/events"

_SAID = (
    "Memory for agents on other machines. Each request has the token of an agent, bound to one profile; where the "
    "server has no tokens, it is reached from its own machine only, and every caller is a person."
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
    if endpoint.name == "write":
        place = {"schema": {"type": "string"}, "description": "Where to ask what became of it."}
        answers["202"] = _json("It waits, and a person decides.", endpoint.gives) | {"headers": {"Location": place}}
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


def routes() -> list[BaseRoute]:
    """The routes of the API, and that of its document."""
    return [*routes_of(ENDPOINTS), Route(PATH, _serve, methods=["GET"], name="openapi")]
