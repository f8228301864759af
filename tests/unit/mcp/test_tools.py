"""What a client is told of the tools: few, small, and true."""

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from catmem.mcp.tools import all_tools, call_tool
from catmem.names import TARGETS
from catmem.writing.drift_guard import ToolSession
from tests.together import together
from tests.unit.mcp.talk import root

BY_NAME = {tool.name: tool for tool in all_tools()}
DOCS = Path(__file__).parents[3] / "docs"


def test_the_pages_name_every_tool_and_what_it_takes():
    rows = re.findall(r"^- `(memory_\w+)` .*\((.+?)\)$", (DOCS / "mcp.md").read_text(), re.MULTILINE)
    assert {name: set(re.findall(r"`(\w+)`", takes)) for name, takes in rows} == {
        tool.name: set(tool.input_schema["properties"]) for tool in all_tools()
    }, "add a line with its arguments to docs/mcp.md, below what clients get"
    assert set(re.findall(r"`(memory_\w+)`", (DOCS / "claude-code.md").read_text())) <= set(BY_NAME)


def size(tools):
    """How many bytes a client is told of some tools."""
    told = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    return len(json.dumps(told).encode())


def test_a_model_is_told_little_of_each_tool():
    assert size(all_tools()) < 1_250 * len(all_tools())
    assert [tool.name for tool in all_tools() if size([tool]) >= 1_600] == []


@together("tool", all_tools(), ids=BY_NAME)
def test_schemas_are_schemas_and_every_argument_is_explained(tool):
    for contents in (tool.input_schema, tool.output_schema):
        Draft202012Validator.check_schema(contents)
    assert tool.input_schema["additionalProperties"] is False
    assert all(said["description"] for said in tool.input_schema["properties"].values())


RIGHT = {
    "memory_search": {"query": "short"},
    "memory_list": {},
    "memory_add": {"content": "Likes tea.", "category": "talk", "tags": {"source": "chat"}},
    "memory_replace": {"old_text": "Never before ten", "content": "Never before nine."},
    "memory_remove": {"old_text": "Never before ten"},
    "memory_move": {"old_text": "Never before ten", "category": "rules"},
    "memory_verify": {"old_text": "Never before ten"},
    "memory_seed": {"targets": ["pupil"]},
}


def listed(workspace, **arguments):
    answer = call_tool(workspace, "neo", "memory_list", arguments, ToolSession())
    assert answer["success"], answer
    return answer


@pytest.mark.parametrize(
    ("name", "arguments", "way"),
    [
        ("memory_add", {"text": "Tea."}, "It needs content. It takes "),
        ("memory_move", {"id": "x"}, "It needs old_text and category. It takes "),
        ("memory_list", {"tagret": "user"}, "Did you mean 'target'? It takes "),
    ],
)
def test_a_wrong_argument_is_told_with_what_is_missing_else_with_the_nearest(tmp_path, name, arguments, way):
    answer = call_tool(root(tmp_path), "neo", name, arguments, ToolSession())
    assert (answer["reason"], answer["remediation"][: len(way)]) == ("bad_arguments", way)


def test_a_list_has_both_files_each_entry_with_its_target(tmp_path):
    workspace = root(tmp_path)
    every = listed(workspace)
    assert [(each["target"], each["category"]) for each in every["entries"]] == [
        *[("user", "talk")] * 2, ("user", "rules"), ("memory", "talk"),
    ]  # fmt: skip
    assert (every["total"], every["categories"]) == (4, {"talk": 3, "rules": 1})
    of_talk = listed(workspace, category="talk")
    assert [(each["target"], each["body"]) for each in of_talk["entries"]] == [
        ("user", "Prefers short answers."), ("user", "Never before ten."), ("memory", "Asked twice for tables."),
    ]  # fmt: skip
    assert [each["body"] for each in listed(workspace, offset=2)["entries"]] == [
        "Invoices are due on the 15th.", "Asked twice for tables.",
    ]  # fmt: skip


def test_a_list_has_the_revision_and_the_room_of_each_file(tmp_path):
    workspace = root(tmp_path)
    assert call_tool(workspace, "boss", "memory_add", {"content": "Tea.", "category": "talk"}, ToolSession())["success"]
    answer = call_tool(workspace, "boss", "memory_list", {}, ToolSession())
    of_one = {each: call_tool(workspace, "boss", "memory_list", {"target": each}, ToolSession()) for each in TARGETS}
    assert answer["files"] == {
        target: {name: said[name] for name in ("entity", "revision", "usage")} for target, said in of_one.items()
    }
    assert {each["target"] for said in of_one.values() for each in said["entries"]} == {"user"}
    assert (of_one["user"]["entity"], "files" in of_one["user"]) == ("boss/user", False)


@pytest.mark.parametrize("name", RIGHT)
def test_answers_fit_their_schema_and_tell_what_it_names(tmp_path, name):
    output = BY_NAME[name].output_schema
    answer = call_tool(root(tmp_path), "boss", name, RIGHT[name], ToolSession())
    assert answer["success"] is True, answer
    Draft202012Validator(output).validate(answer)
    # An answer that has none of what its schema names would fit as well.
    assert set(output["properties"]) - {"error", "reason", "remediation"} <= set(answer)
    shown = answer.get("entries", [{"category": "", "body": "", "tags": {}, "id": ""}])
    assert shown
    refused = call_tool(root(tmp_path / "other"), "boss", name, {**RIGHT[name], "target": 7}, ToolSession())
    Draft202012Validator(output).validate(refused)
    assert {"error", "reason", "remediation"} <= set(refused)
