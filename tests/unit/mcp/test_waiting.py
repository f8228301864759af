"""Over MCP: what an agent is told of a write that waits, how it asks, and what that costs in bytes."""

import pytest

from catmem.mcp.tools import tools_of
from tests.roots import make_root
from tests.unit.mcp.talk import client_of, talks, told

PROFILES = {"neo": "user_memory_categories: [talk]\nwritable_categories: [talk]\n"}
CONFIG = "approval: all\n"


@pytest.fixture
def ws(tmp_path):
    return make_root(tmp_path, config=CONFIG, profiles=PROFILES, files={"neo/user": "## Talk\nshort answers\n"})


@talks
async def test_a_write_waits_and_its_writer_asks_what_became_of_it(ws):
    async with client_of(ws) as client:
        answer = await told(client, "memory_add", content="A new fact.", reason="Ada said so.")
        assert (answer["changed"], "a person decides" in answer["message"]) == (False, True)
        assert "Ask for it by its id" in answer["message"]
        ws.reject(answer["waiting"], reason="Ada is on leave.")
        listed = await told(client, "memory_list", proposal="all")
        one = await told(client, "memory_list", proposal=answer["waiting"])
        refused = await told(client, "memory_list", proposal="all", category="talk")
        plain = await told(client, "memory_list")
    assert listed["proposals"] == one["proposals"]
    assert one["proposals"][0]["decision"]["reason"] == "Ada is on leave."
    assert refused["reason"] == "bad_arguments"
    assert plain["total"] == 1


def test_what_is_about_waiting_is_offered_where_writes_wait(ws, tmp_path):
    free = make_root(tmp_path / "free", profiles=PROFILES)
    for root, offered in ((ws, True), (free, False)):
        tools = {tool.name: tool.input_schema["properties"] for tool in tools_of(root, "neo")}
        assert ("proposal" in tools["memory_list"], "reason" in tools["memory_add"]) == (offered, offered)
        assert not {name for name in tools if "approve" in name or "reject" in name}
