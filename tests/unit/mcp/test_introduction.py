"""What a client is told as it connects: of what is there, what may be done, and in few words."""

import json

import pytest
from mcp_types import ListToolsResult

from catmem.mcp.tools import all_tools, instructions, tools_of
from tests.roots import make_root, put_bytes
from tests.unit.mcp.talk import CANARY, ERAS, INJECTION, client_of, root, talks

TWELVE = [f"workflow-rules-{name}" for name in ("finance", "travel", "hiring", "vendors", "taxes", "legal")] + [
    *("communication-style", "approval-conventions", "projects-current", "people-and-roles", "tools-and-access"),
    "preferences",
]


async def introduced(workspace, profile="neo", mode="auto"):
    async with client_of(workspace, profile, mode) as client:
        said = client.instructions
        tools = (await client.list_tools()).tools
    return said, {tool.name: tool for tool in tools}


@pytest.mark.parametrize("era", ERAS)
@talks
async def test_a_client_hears_what_is_there_and_is_offered_what_it_may_do(tmp_path, era):
    said, tools = await introduced(root(tmp_path), mode=era)
    assert "Categories and their entries in user + memory: talk 2+1, rules 1+0." in said
    assert set(tools) == READS | {"memory_add", "memory_replace", "memory_remove", "memory_verify"}
    assert tools["memory_add"].input_schema["properties"]["category"]["enum"] == ["talk"]
    assert "from" not in tools["memory_prompt"].input_schema["properties"]
    assert "vault" not in json.dumps([said, *(tool.model_dump() for tool in tools.values())])


READS = {tool.name for tool in all_tools() if tool.annotations.read_only_hint}
ROWS = {
    "a reader": ("user_memory_categories: [talk]\n", {}, set()),
    "a drop": (
        "user_memory_categories: [rules]\nwritable_categories: [talk]\n",
        {"memory_add": ["talk"]},
        {"memory_add"},
    ),
    "two categories": (
        "user_memory_categories: [talk, rules]\nwritable_categories: [rules, talk]\n",
        {"memory_add": ["rules", "talk"], "memory_move": ["rules", "talk"]},
        {"memory_add", "memory_replace", "memory_remove", "memory_move"},
    ),
    "a verifier": ("user_memory_categories: [talk]\nmay_verify: true\n", {}, {"memory_verify"}),
    "an orchestrator": (
        "tier: 1\nuser_memory_categories: ['*']\nwritable_categories: [talk]\n",
        {name: ["talk", "rules", "vault", "__uncategorized__"] for name in ("memory_add", "memory_move")},
        {f"memory_{name}" for name in ("add", "replace", "remove", "move", "verify", "seed")},
    ),
    "a pattern": (
        "user_memory_categories: ['*']\nwritable_categories: ['t*']\n",
        {"memory_add": ["talk"]},
        {"memory_add", "memory_replace", "memory_remove"},
    ),
}


@pytest.mark.parametrize(("profile", "enums", "writing"), ROWS.values(), ids=ROWS)
def test_a_profile_is_offered_what_it_may_use(tmp_path, profile, enums, writing):
    config = "taxonomy: {closed: true, categories: {talk: {}, rules: {}, vault: {}}}\n"
    workspace = make_root(tmp_path, config=config, profiles={"neo": profile})
    tools = {tool.name: tool for tool in tools_of(workspace, "neo")}
    assert set(tools) == READS | writing
    found = {name: tool.input_schema["properties"].get("category", {}).get("enum") for name, tool in tools.items()}
    assert {name: enum for name, enum in found.items() if enum} == enums


@pytest.mark.parametrize(
    ("more", "approval", "writing"),
    [("", "", 4), ("tier: 2\nmay_verify: true\n", "", 5), ("", "approval: others\n", 4)],
)
def test_tools_and_instructions_of_a_specialist_are_short(tmp_path, more, approval, writing):
    """Twelve categories, all of which it reads and writes; or verifies besides; or where writes wait."""
    config = f"{approval}taxonomy: {{closed: true, categories: {{{', '.join(f'{name}: {{}}' for name in TWELVE)}}}}}\n"
    listed = ", ".join(TWELVE)
    profile = f"user_memory_categories: [{listed}]\nmemory_categories: [{listed}]\nwritable_categories: [{listed}]\n"
    text = "".join(f"## {name}\n" + "\n§\n".join(f"{name} {number}." for number in range(12)) + "\n" for name in TWELVE)
    profile += more
    workspace = make_root(
        tmp_path, config=config, profiles={"neo": profile}, files={"neo/user": text, "neo/memory": text}
    )
    offered = ListToolsResult(tools=tools_of(workspace, "neo"))
    assert len(offered.tools) == len(READS) + writing
    sent = offered.model_dump_json(by_alias=True, exclude_none=True)
    said = instructions(workspace, "neo")
    assert f"{TWELVE[-1]} 12+12" in said
    size = len(sent.encode()) + len(said.encode())
    assert size <= 8_000, f"{size - 8_000} bytes over: say less in the words for models (brief, Tool)"


def test_a_name_that_would_be_withheld_is_counted_and_not_told(tmp_path):
    workspace = root(tmp_path, user=f"## {INJECTION}\nx\n\n## Talk\ny\n")
    (tmp_path / "profiles" / "neo.yaml").write_text("user_memory_categories: ['*']\n")
    said = instructions(workspace, "neo")
    assert "talk 1+0, 1 more." in said
    assert "ignore" not in said
    assert CANARY not in said


def test_what_cannot_be_read_is_not_called_empty(tmp_path):
    workspace = root(tmp_path)
    put_bytes(workspace, "neo/user", b"\xff\xfe")
    said = instructions(workspace, "neo")
    assert said.endswith("What is on file cannot be read now.")
    assert "Nothing" not in said


def test_what_is_about_waiting_is_offered_where_writes_wait(tmp_path):
    profiles = {"neo": "user_memory_categories: [talk]\nwritable_categories: [talk]\n"}
    for number, (config, offered) in enumerate({"approval: all\n": True, "": False}.items()):
        workspace = make_root(tmp_path / str(number), config=config, profiles=profiles)
        tools = {tool.name: tool.input_schema["properties"] for tool in tools_of(workspace, "neo")}
        assert ("proposal" in tools["memory_list"], "reason" in tools["memory_add"]) == (offered, offered)
        assert not {name for name in tools if "approve" in name or "reject" in name}
