"""The API against its own OpenAPI document, by requests that schemathesis makes up: the short form.

``make api`` runs the long one. Every status has to be one that the document names, every answer in its form, and no
request may make the server fail.
"""

import os

import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from catmem.ops.table import ENTITY, PROFILE
from catmem.resources import schema
from catmem.server.routes import document
from tests.http_root import ADDRESS

NAMES = {
    PROFILE["pattern"]: ["neo", "boss", "other", "nobody"],
    ENTITY["pattern"]: ["neo", "neo/user", "boss/memory", "nobody/user"],
    schema("envelope")["properties"]["entity_id"]["pattern"]: ["neo/user", "boss/memory", "nobody/user"],
}
CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance,
    response_headers_conformance, unsupported_method,
]  # fmt: skip
EXAMPLES = int(os.environ.get("CATMEM_API_EXAMPLES", "10"))


def statuses_of(operation, headers) -> set[int]:
    """Every status that requests which fit the operation, or nearly do, are answered with."""
    found: set[int] = set()

    @settings(max_examples=EXAMPLES, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy())
    def agrees(case):
        found.add(case.call_and_validate(checks=CHECKS, headers=headers, base_url=ADDRESS).status_code)

    agrees()
    return found


def with_names_of_root(part):
    """The document with names that there are, and one that there is not: made-up ones would all be a 404."""
    if isinstance(part, dict):
        known = NAMES.get(part.get("pattern"))
        return {"enum": known} if known else {key: with_names_of_root(value) for key, value in part.items()}
    return [with_names_of_root(each) for each in part] if isinstance(part, list) else part


def test_the_api_does_what_its_document_says(served):
    client = served.client()
    headers = dict(client.headers)
    found = schemathesis.openapi.from_dict(with_names_of_root(document()))
    found.app = client.app
    operations = [result.ok() for result in found.get_all_operations()]
    told = {operation.label: statuses_of(operation, headers) for operation in operations}
    names = {f"{method.upper()} {path}" for path, methods in document()["paths"].items() for method in methods}
    assert set(told) == names
    # The requests came through the door: what was looked at answers, and what is written is at least understood.
    assert all(
        200 in told[f"GET {path}"]
        for path in ("/mem/head", "/mem/read", "/mem/log", "/mem/changes", "/prompt/{profile}")
    )
    assert all(statuses & {200, 404, 409, 422} for statuses in told.values())
