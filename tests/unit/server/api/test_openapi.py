"""The OpenAPI document says what the application does: its paths, its methods, and the forms of its answers."""

import pytest
from jsonschema import Draft202012Validator
from starlette.routing import Route

from catmem.server.routes import api_routes, document, endpoints


def operations() -> set[tuple[str, str]]:
    return {(path, method.upper()) for path, methods in document()["paths"].items() for method in methods}


def routed(routes) -> set[tuple[str, str]]:
    return {(route.path, method) for route in routes if isinstance(route, Route) for method in route.methods - {"HEAD"}}


def test_every_route_of_the_api_is_in_the_document_and_no_other(served):
    ours = routed(api_routes())
    probes = {("/healthz", "GET"), ("/readyz", "GET")}
    assert operations() == ours | probes
    assert ours | probes <= routed(served.client().app.routes)


def references(part) -> list[str]:
    if isinstance(part, dict):
        own = [part["$ref"]] if isinstance(part.get("$ref"), str) else []
        return own + [each for value in part.values() for each in references(value)]
    return [each for value in part for each in references(value)] if isinstance(part, list) else []


def test_every_reference_leads_somewhere_and_every_form_is_used():
    named = {reference.removeprefix("#/components/schemas/") for reference in references(document())}
    assert named == set(document()["components"]["schemas"])


def validator(form: str) -> Draft202012Validator:
    components = {"components": {"schemas": document()["components"]["schemas"]}}
    return Draft202012Validator({**components, "$ref": f"#/components/schemas/{form}"})


@pytest.mark.parametrize("form", sorted({each.http.gives for each in endpoints()} - {"Lint", "Seeded", None}))
def test_a_form_of_an_answer_takes_no_field_that_it_does_not_name(form):
    assert document()["components"]["schemas"][form]["additionalProperties"] is False


ASKED = {
    "/mem/head?entity_id=neo": "Head",
    "/mem/read?entity_id=neo": "Read",
    "/mem/log?entity_id=neo": "Log",
    "/mem/changes?since=neo@0": "Changes",
    "/mem/branches": "Branches",
    "/prompt/neo": "Prompt",
    "/healthz": "Status",
    "/readyz": "Status",
}


@pytest.mark.parametrize("agent", [None, "boss", "neo"])
def test_answers_have_the_form_that_the_document_says(served, agent):
    served.workspace.add("neo", "vendor is acme and partners", category="talk")
    served.workspace.add("neo", "late", category="talk", expected="1", on_stale="branch")
    served.workspace.add("boss", "a fact", category="talk")
    client = served.client(agent)
    for path, form in ASKED.items():
        response = client.get(path, headers={"Accept": "application/json"})
        validator(form if response.status_code == 200 else "Error").validate(response.json())
