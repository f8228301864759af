"""Over MCP: what an agent is told of a write that waits, how it asks, and what that costs in bytes."""

import pytest

from catmem.mcp.tools import tools_of
from tests.roots import make_root

PROFILES = {"neo": "user_memory_categories: [talk]\nwritable_categories: [talk]\n"}
CONFIG = "approval: all\n"


@pytest.fixture
def ws(tmp_path):
    return make_root(tmp_path, config=CONFIG, profiles=PROFILES, files={"neo/user": "## Talk\nshort answers\n"})


def test_what_is_about_waiting_is_offered_where_writes_wait(ws, tmp_path):
    free = make_root(tmp_path / "free", profiles=PROFILES)
    for root, offered in ((ws, True), (free, False)):
        tools = {tool.name: tool.input_schema["properties"] for tool in tools_of(root, "neo")}
        assert ("proposal" in tools["memory_list"], "reason" in tools["memory_add"]) == (offered, offered)
        assert not {name for name in tools if "approve" in name or "reject" in name}
