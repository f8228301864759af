"""Anthropic's memory tool where writes wait: each command says so in words, and a path tells what became of them."""

import pytest

pytest.importorskip("anthropic", reason="NOT TESTED: the package anthropic is not installed")


from catmem.plugins.anthropic.tool import PROPOSALS, CatmemMemoryTool
from tests.roots import make_root, text_of

CONFIG = "approval: all\n"
PROFILES = {
    "neo": "user_memory_categories: [talk, rules, new]\nwritable_categories: [talk, rules, new]\n",
    "boss": "tier: 1\nuser_memory_categories: ['*']\n",
}
TEXT = "## Talk\nshort answers\n§\nno calls\n"
FILE = "/memories/user/talk.md"


@pytest.fixture
def ws(tmp_path):
    return make_root(tmp_path, config=CONFIG, profiles=PROFILES, files={"neo/user": TEXT})


@pytest.fixture
def tool(ws):
    return CatmemMemoryTool(ws, "neo")


@pytest.mark.parametrize(
    "command",
    [
        {"command": "create", "path": "/memories/user/new.md", "file_text": "a fact\n"},
        {"command": "str_replace", "path": FILE, "old_str": "short", "new_str": "long"},
        {"command": "insert", "path": FILE, "insert_line": 0, "insert_text": "a fact"},
        {"command": "delete", "path": FILE},
        {"command": "rename", "old_path": FILE, "new_path": "/memories/user/rules.md"},
    ],
)
def test_a_command_that_waits_says_so(ws, tool, command):
    said = tool.call(command)
    (waiting,) = ws.proposals(actor="neo")
    assert f"it waits as proposal {waiting.id}, and a person decides" in said
    assert f"View {PROPOSALS}" in said
    assert text_of(ws) == TEXT


def test_the_path_tells_what_became_of_them(ws, tool):
    ws.remove("neo", "no calls", actor="boss", proposes=True)
    tool.call({"command": "delete", "path": FILE})
    (waiting,) = ws.proposals(actor="neo")
    ws.reject(waiting.id, reason="We need them.")
    first, *lines = tool.call({"command": "view", "path": PROPOSALS}).splitlines()
    assert first.startswith("Changes of yours that had to wait")
    assert lines == [f"{waiting.id} {waiting.timestamp[:10]} rejected: We need them."]
    assert PROPOSALS not in tool.call({"command": "view", "path": "/memories"})
