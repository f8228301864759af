"""Whatever an agent asks of the HTTP API, it sees nothing of hidden categories, and changes nothing in them."""

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from catmem.envelopes.tokens import new_token
from catmem.server.app import create_app
from catmem.server.guard import ServerSettings
from tests.property.canaries import CANARY, text_with
from tests.property.test_tool_access import (
    contents,
    folder,
    guesses,
    names,
    nothing_hidden_changes,
    opened,
    tags,
)
from tests.roots import put_bytes

__all__ = ["folder"]  # the fixture: a root with an open or a closed taxonomy

ROLE = re.compile(r'"role_hash":"sha256:[0-9a-f]{64}"|"digest":"sha256:[0-9a-f]{64}","profile"')
"""Digests of what the caller has been given: of its own profile, and of its own prompt."""

entities = st.sampled_from(["neo", "neo/user", "neo/memory", "other/user", "other", "nobody", "../neo", CANARY, ""])
revisions = st.sampled_from(["0", "1", "2", "3", "2a", "x"])
actions = st.sampled_from(["add", "replace", "remove", "move", "verify"])
operation = st.fixed_dictionaries(
    {"action": actions},
    optional={
        "content": contents, "old_text": guesses, "category": names, "to_category": names, "tags": tags,
        "as_of": st.just("2026-01-02"),
    },
)  # fmt: skip
write = st.fixed_dictionaries(
    {"entity_id": st.sampled_from(["neo/user", "neo/user", "neo/memory", "other/user"]),
     "content": st.one_of(st.lists(operation, min_size=1, max_size=2), contents),
     "prev_rev": st.sampled_from([0, 1, 1, 1, 2, "1a"])},
    optional={"op_id": st.sampled_from(["1", "2"]), "alert": st.booleans()},
)  # fmt: skip
queries = st.fixed_dictionaries(
    {"entity_id": entities},
    optional={"category": names, "revision": revisions, "limit": st.sampled_from(["1", "50"]), "offset": st.just("1")},
)
asked = st.one_of(
    st.tuples(st.just("POST"), st.just("/mem/write"), st.just({}), write),
    st.tuples(st.just("POST"), st.just("/mem/write"), st.just({}), write),
    st.tuples(st.just("GET"), st.sampled_from(["/mem/read", "/mem/head", "/mem/log"]), queries, st.none()),
    st.tuples(st.just("GET"), st.just("/mem/branches"), queries, st.none()),
    st.tuples(st.just("GET"), st.sampled_from(["/prompt/neo", "/prompt/other", "/prompt/x"]), st.fixed_dictionaries(
        {}, optional={"from": st.sampled_from(["neo", "other", "x"]), "categories": names, "budget": st.just("90")}), st.none()),
    st.tuples(st.just("GET"), st.sampled_from(["/lint", "/status"]), st.just({}), st.none()),
    st.tuples(st.just("POST"), st.just("/mem/merge"), st.just({}), st.fixed_dictionaries(
        {"entity_id": entities}, optional={"branches": st.just(["1a"]), "precedence": st.just("both")})),
    st.tuples(st.just("POST"), st.just("/seed"), st.just({}), st.fixed_dictionaries(
        {"source": st.sampled_from(["neo", "other"])}, optional={"targets": st.just(["other"])})),
)  # fmt: skip
sequences = st.lists(asked, min_size=1, max_size=6)

GOOD = {"entity_id": "neo/user", "content": [{"action": "add", "content": "a fact", "category": "talk"}], "prev_rev": 1}
IN_DROP = {**GOOD, "content": [{"action": "add", "content": "a drop", "category": "drop"}]}
LOG = ("GET", "/mem/log", {"entity_id": "neo"}, None)
EXAMPLES = (
    [("POST", "/mem/write", {}, GOOD), LOG],
    [("POST", "/mem/write", {}, IN_DROP), LOG],
    [("GET", "/mem/read", {"entity_id": "other/user"}, None), ("GET", "/prompt/other", {}, None)],
    [("POST", "/mem/write", {}, {**GOOD, "prev_rev": 0}), ("POST", "/mem/write", {}, {**GOOD, "prev_rev": 7})],
    [("GET", "/mem/read", {"entity_id": "neo", "revision": "1"}, None), ("GET", "/mem/branches", {}, None)],
)


def with_examples(test):
    for each in EXAMPLES:
        test = example(sequence=each)(test)
    return test


def root_with(folder, canary: str, vault: str = "Vault"):
    """A root in which ``neo`` has hidden entries, and another profile an entry where ``neo`` would see it in its own."""
    workspace = opened(folder, text_with(canary, vault))
    put_bytes(workspace, "other/user", f"## Talk\n{canary} of another\n")
    return workspace


@pytest.fixture(scope="module")
def token(folder, tmp_path_factory):
    """A file of tokens, and the token of ``neo`` in it."""
    path = tmp_path_factory.mktemp("tokens") / "tokens.json"
    return path, new_token(opened(folder, "").config, path, "neo")[1]


def answers(workspace, token, sequence) -> list[str]:
    """All that the agent is told, tags included."""
    path, text = token
    app = create_app(workspace, ServerSettings(tokens=path))
    headers = {"Authorization": f"Bearer {text}", "Accept": "application/json"}
    client = TestClient(app, base_url="http://127.0.0.1:8428", headers=headers)
    found = []
    for method, where, params, body in sequence:
        sent = {} if body is None else {"content": json.dumps(body), "headers": {"Content-Type": "application/json"}}
        response = client.request(method, where, params=params or None, **sent)
        assert response.status_code < 500, (method, where, response.text)
        found.append(f"{response.status_code} {response.headers.get('etag')} {response.text}")
    app.state.workers.close()
    return found


@with_examples
@given(sequence=sequences)
def test_hidden_entries_are_never_shown_and_never_changed(folder, token, sequence):
    workspace = root_with(folder, CANARY)
    with nothing_hidden_changes(workspace):
        told = answers(workspace, token, sequence)
    for each, said in zip(sequence, told, strict=True):
        # What the client itself said may come back; what it guessed, it knew.
        if CANARY.lower() not in json.dumps(each).lower():
            assert CANARY.lower() not in said.lower(), each
        assert not re.search("sha256:[0-9a-f]{6}", ROLE.sub("", said)), each
