"""An argument that a door has no use for is refused by its name, with those that it takes, and nothing is written."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catmem.ops.memory_tool import _ROWS, TAKES, TOOL_SCHEMA, memory_tool, row_of
from catmem.plugins.page.site import CHANGES, VIEWS
from tests.http_root import Served, served
from tests.roots import make_root, text_of
from tests.store.memory import InMemoryStore
from tests.together import together

PROFILES = {
    "boss": "tier: 1\nuser_memory_categories: ['*']\nmemory_categories: ['*']\n",
    "neo": "seed_from: boss\nuser_memory_categories: [talk]\n",
}
TEXT = "## Talk\nLikes tea.\n§\nNo calls before ten.\n"

VALUES: dict[str, Any] = {
    "targets": ["neo"], "categories": ["talk"], "query": "tea", "target": "user", "content": "Likes milk.",
    "old_text": "Likes tea", "category": "talk", "tags": {"source": "x"}, "state": "fresh", "offset": 1, "evidence": "the bill", "confirm": True,
    "operations": [{"action": "add", "content": "x"}], "expected": "1", "op_id": "a", "from": "boss", "budget": 900,
    "proposal": "p-0123456789", "reason": "The user said so.",
}  # fmt: skip
NEEDS = {
    "add": ["content"],
    "search": ["query"],
    "withdraw": ["proposal"],
    "move": ["old_text", "category"],
    "replace": ["old_text", "content"],
}
ACTIONS = sorted(set(TAKES) - {"operations"})
# Names that nobody knows, and those of other actions.
names = st.sampled_from([*VALUES, "targts", "categorys", "limit", "text", "dry_run", "actor"]) | st.from_regex(
    "[a-z_]{1,12}", fullmatch=True
)
anything = st.sampled_from(["talk", "user", "x", 1, True, ["talk"], {"a": "b"}])


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("root")
    return make_root(folder, profiles=PROFILES, files={"boss/user": TEXT, "boss/memory": TEXT})


def call_of(action: str) -> dict[str, Any]:
    """A call that is right."""
    needs = NEEDS.get(action, [] if action in {"list", "seed", "prompt", "proposals"} else ["old_text"])
    return {name: VALUES[name] for name in needs}


def store_of(workspace) -> list[tuple[str, str]]:
    assert isinstance(workspace.store, InMemoryStore)
    return [(entity, text_of(workspace, entity)) for entity in ("boss/user", "boss/memory", "neo/user")]


def test_the_schema_and_the_check_are_one_table():
    assert {name for takes in TAKES.values() for name in takes} == set(TOOL_SCHEMA["properties"]) - {"action"}
    assert set(TAKES) - {"operations"} == set(TOOL_SCHEMA["properties"]["action"]["enum"])
    assert set(_ROWS) == set(TAKES)
    assert set(VALUES) == set(TOOL_SCHEMA["properties"]) - {"action"}
    assert "x-" not in json.dumps(TOOL_SCHEMA)


@together("action", ACTIONS)
def test_the_schema_and_the_row_of_an_action_take_the_same(action):
    row = row_of(action)
    assert row.tool is None or row.action == action
    also = {"list": {"proposal"}, "seed": {"category"}}.get(action, set())  # what waits is listed; one of categories
    different = {each.called for each in row.at("tool")} ^ set(TAKES[action])
    assert different == also, "add the argument to the row, and to schemas/tool.schema.json under x-actions"


@together("action", ACTIONS)
def test_what_an_action_takes_is_taken(workspace, action):
    fresh = make_root(workspace.root, profiles=PROFILES, files={"boss/user": TEXT, "boss/memory": TEXT})
    for name in TAKES[action]:
        arguments = {"action": action, **call_of(action), name: VALUES[name]}
        answer = memory_tool(fresh, "boss", arguments)
        assert answer.get("reason") != "bad_arguments", answer


@given(action=st.sampled_from(ACTIONS), name=names, value=anything)
def test_the_tool_refuses_what_an_action_does_not_take(workspace, action, name, value):
    if name in TAKES[action] or name in {"action", "operations"}:
        return
    before = store_of(workspace)
    answer = memory_tool(workspace, "boss", {"action": action, **call_of(action), name: VALUES.get(name, value)})
    assert (answer["success"], answer["reason"]) == (False, "bad_arguments")
    assert name in answer["error"]
    if name in VALUES:
        assert re.findall("[a-z_]+", answer["remediation"].rpartition("It takes ")[2]) == list(TAKES[action])
    assert store_of(workspace) == before


@given(action=st.sampled_from(["add", "replace", "remove", "move", "verify"]), name=names, value=anything)
def test_the_tool_refuses_it_in_a_batch_as_well(workspace, action, name, value):
    taken = set(TAKES[action]) - {"target", "op_id", "reason"} - ({"expected"} if action == "add" else set())
    if name in taken or name == "action":
        return
    before = store_of(workspace)
    change = {"action": action, **call_of(action), name: VALUES.get(name, value)}
    answer = memory_tool(workspace, "boss", {"operations": [change]})
    assert (answer["success"], answer["reason"]) == (False, "bad_arguments")
    assert name in answer["error"]
    assert store_of(workspace) == before


# --- HTTP -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(workspace, tmp_path_factory):
    yield from served(workspace, tmp_path_factory.mktemp("tokens") / "tokens.json")


@pytest.fixture(scope="module")
def client(server: Served):
    return server.client()


@together("path", ["/healthz", "/readyz", "/metrics", "/openapi.json", "/events", "/mem/changes"])
def test_other_paths_take_no_parameters(client, path):
    answer = client.get(path, params={"limit": "1"})
    assert answer.status_code in {400, 404}
    assert answer.status_code == 404 or "limit" in answer.json()["message"]


@together("address", VIEWS)
def test_a_page_refuses_a_query_that_it_does_not_take(client, address):
    path = re.sub(r"\{name\}", "boss", re.sub(r"\{target\}", "user", address))
    answer = client.get(re.sub(r"\{[a-z]+\}", "1", path), params={"limit": "1"})
    assert answer.status_code == 400
    assert "there is no parameter &#39;limit&#39;" in answer.text


@together("address", CHANGES)
def test_a_form_refuses_a_field_that_it_does_not_take(client, workspace, address):
    before = store_of(workspace)
    path = re.sub(r"\{name\}", "boss", re.sub(r"\{target\}", "user", address))
    answer = client.post(re.sub(r"\{[a-z]+\}", "1", path), data={"entity": "boss/user", "limit": "1"})
    assert answer.status_code == 400
    assert "the form has a field &#39;limit&#39;, and this address takes csrf, back" in answer.text
    assert store_of(workspace) == before
