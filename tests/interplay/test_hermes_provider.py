"""The memory provider inside the real Hermes Agent: its loader, its commands, and whole turns of its agent.

``make hermes-test`` installs both into an environment of its own; ``CATMEM_HERMES_PYTHON`` names the Python of another.
The model is a stand-in on this machine that keeps every request.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from catmem.cli.main import group
from catmem.plugins.hermes.homes import home_at, read_config
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.interplay.model_stub import MODEL, ModelStub, system_prompt, tool_names

TURNS = Path(__file__).parent / "programs" / "hermes_turns.py"
CONFIG = f"""\
# mine
model:
  default: {MODEL}
  provider: custom
  base_url: URL
  api_key: none
memory:
  user_char_limit: 1375   # characters
  provider: ""
"""
USER = "## Tastes\nTea, not coffee.\n§\n## Payroll\nCANARY-USER-FILE\n"
MEMORY = "CANARY-WITHOUT-CATEGORY\n§\n## Tools\nUses vim.\n§\n## Payroll\nCANARY-MEMORY-FILE\n"
OTHERS = "## Tastes\nCANARY-OF-ANOTHER-PROFILE\n"
PROFILE = "user_memory_categories: [tastes]\nmemory_categories: [tools]\nwritable_categories: [tastes]\n"


@pytest.fixture
def stub():
    with ModelStub() as running:
        yield running


@pytest.fixture
def home(tmp_path, stub, monkeypatch):
    """The home of the profile ``coder`` of Hermes Agent, whose agent sees two categories."""
    hermes = tmp_path / ".hermes"
    for folder in (hermes, hermes / "profiles" / "coder"):
        put(folder / "config.yaml", CONFIG.replace("URL", stub.url))
    put(hermes / "memories" / "USER.md", OTHERS)
    home = hermes / "profiles" / "coder"
    put(home / "memories" / "USER.md", USER)
    put(home / "memories" / "MEMORY.md", MEMORY)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HERMES_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    catmem("init", "--from-hermes")
    put(hermes / "catmem-profiles" / "coder.yaml", PROFILE)
    return home


def catmem(*arguments):
    done = CliRunner().invoke(group, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def hermes(hermes_python, home):
    """Runs a command of Hermes Agent's own command line; everything that it prints."""

    def run(*arguments, **more):
        program = Path(hermes_python).parent / "hermes"
        return process([str(program), *arguments], home, **more)

    return run


@pytest.fixture
def converse(hermes_python, home, stub):
    """Runs a conversation of some turns in one process."""

    def run(turns, compress_after=0):
        return process([hermes_python, str(TURNS), stub.url, str(turns), str(compress_after)], home)

    return run


def process(command, home, **more):
    environment = {**os.environ, "HERMES_HOME": str(home), "NO_COLOR": "1", **more}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def prompts(stub):
    return {system_prompt(asked) for asked in stub.turns}


def asked_in_all(stub):
    return b"\n".join(stub.requests).decode()


# --- found and loaded -------------------------------------------------------------------------------------------------


def test_hermes_finds_the_provider_and_shows_it(hermes, home):
    catmem("hermes", "install", "--yes")
    said = hermes("memory", "status")
    assert "Provider:  catmem" in said
    assert "Plugin:    installed ✓" in said
    assert "Status:    available ✓" in said
    assert "profile: coder" in said
    assert "catmem  (local) ← active" in said
    assert f"root: {home.parent.parent}" in said


# --- whole turns ------------------------------------------------------------------------------------------------------


def test_a_whole_turn_sees_the_filtered_block_and_nothing_else(hermes, home, stub):
    catmem("hermes", "install", "--yes")
    add = {"action": "add", "content": "Green tea is best.", "category": "tastes", "tags": {"source": "chat"}}
    stub.answers = [("catmem_memory", add), ("catmem_memory", {"action": "list"}), "Noted."]
    assert "Noted." in hermes("chat", "-Q", "-q", "Remember that green tea is best.")
    workspace = Workspace.open(home.parent.parent, search=False)
    (entry,) = (each for each in workspace.read("coder").document.entries if each.body == "Green tea is best.")
    workspace.store.close()
    assert (entry.category, entry.tags["source"]) == ("tastes", "chat")
    # In the prompt is what was known when the conversation began, byte for byte the same in each of its calls.
    (prompt,) = prompts(stub)
    assert len(stub.turns) == 3
    for fact in ("Tea, not coffee.", "Uses vim."):
        assert prompt.count(fact) == 1
    assert "Green tea" not in prompt
    assert "catmem_memory" in tool_names(stub.turns[0])
    answers = [json.loads(each["content"]) for each in stub.turns[-1]["messages"] if each["role"] == "tool"]
    assert [answer["success"] for answer in answers] == [True, True]
    assert [entry["body"] for entry in answers[1]["entries"]] == ["Tea, not coffee.", "Green tea is best.", "Uses vim."]
    assert "CANARY" not in asked_in_all(stub)


def test_the_words_that_turn_write_approval_on_are_those_of_hermes_agent(hermes_python, home):
    """Read by Hermes Agent itself, from the same file."""
    asks = "from tools.write_approval import write_approval_enabled; print(write_approval_enabled('memory'))"
    for word in ("true", "'on'", "' Yes '", "'1'", "approve", "enabled", "false", "'off'", "'maybe'", "1", "[]", "~"):
        put(home / "config.yaml", f"memory:\n  write_approval: {word}\n")
        theirs = process([hermes_python, "-c", asks], home).strip().splitlines()[-1]
        assert str(read_config(home_at(home)).write_approval) == theirs, word


HOSTILE = [
    {"action": "list", "target": "memory"},
    {"action": "list", "category": "payroll"},
    {"action": "search", "query": "CANARY-"},
    {"action": "remove", "old_text": "CANARY-"},
    {"action": "replace", "old_text": "NARY-USER", "content": "x"},
    {"action": "move", "old_text": "NARY-MEMORY", "target": "memory", "category": "tools"},
    {"action": "add", "content": "x", "category": "payroll"},
    {"action": "add", "content": "y" * 2000, "category": "tastes"},
    {"action": "seed", "targets": ["default"]},
]


def test_nothing_that_the_agent_tries_brings_another_category_into_a_request(hermes, home, stub):
    catmem("hermes", "install", "--yes")
    stub.answers = [*(("catmem_memory", each) for each in HOSTILE), "I give up."]
    assert "I give up." in hermes("chat", "-Q", "-q", "Tell me everything.")
    told = [each["content"] for each in stub.turns[-1]["messages"] if each["role"] == "tool"]
    assert len(told) == len(HOSTILE)
    # What the agent itself guessed is in its own calls; the whole names of the facts are nowhere.
    for fact in ("CANARY-USER-FILE", "CANARY-MEMORY-FILE", "CANARY-WITHOUT-CATEGORY", "CANARY-OF-ANOTHER-PROFILE"):
        assert fact not in asked_in_all(stub)
    assert (home / "memories" / "USER.md").read_text(encoding="utf-8") == USER


def test_the_prompt_stays_byte_for_byte_over_a_hundred_turns(converse, home, stub):
    catmem("hermes", "install", "--yes")
    assert "Fine." in converse(100)
    spoken = {asked["messages"][-1]["content"] for asked in stub.turns}
    assert spoken >= {f"This is turn {number}." for number in range(1, 101)}
    assert len(prompts(stub)) == 1
    assert "CANARY" not in asked_in_all(stub)


def test_the_block_is_the_same_after_a_write_and_a_compression(converse, home, stub):
    catmem("hermes", "install", "--yes")
    stub.answers = [("catmem_memory", {"action": "add", "content": "Green tea is best.", "category": "tastes"})]
    converse(20, compress_after=15)
    assert len({block_of(prompt) for prompt in prompts(stub)}) == 1
    # It was shortened: a later turn has fewer messages than an earlier one.
    sizes = {asked["messages"][-1]["content"]: len(asked["messages"]) for asked in stub.turns}
    assert sizes["This is turn 16."] < sizes["This is turn 15."]
    assert "Green tea is best." in (home / "memories" / "USER.md").read_text(encoding="utf-8")


def block_of(prompt):
    """What stands between the provider's first heading and what Hermes Agent puts behind its block."""
    _, found, rest = prompt.partition("# About the user")
    block, ends, _ = rest.partition("Conversation started:")
    assert found
    assert ends
    return block


# --- with the tool of Hermes Agent itself -----------------------------------------------------------------------------


def test_what_the_own_tool_writes_is_in_the_same_file_and_nothing_is_shown_twice(hermes, home, stub):
    put(home.parent.parent / "catmem-profiles" / "coder.yaml", PROFILE + "include_uncategorized: true\n")
    put(home / "memories" / "USER.md", "Tea, not coffee.")
    catmem("hermes", "install", "--yes")
    config = home / "config.yaml"
    put(config, config.read_text(encoding="utf-8").replace("user_profile_enabled: false", "user_profile_enabled: true"))
    stub.answers = [
        ("memory", {"action": "add", "target": "user", "content": "By the own tool."}),
        ("catmem_memory", {"action": "add", "content": "By catmem.", "category": "tastes"}),
        ("memory", {"action": "add", "target": "user", "content": "Again by the own tool."}),
        "Done.",
    ]
    assert "Done." in hermes("chat", "-Q", "-q", "Remember three things.")
    told = [json.loads(each["content"]) for each in stub.turns[-1]["messages"] if each["role"] == "tool"]
    assert [answer["success"] for answer in told] == [True, True, True]
    (prompt,) = prompts(stub)
    assert prompt.count("Tea, not coffee.") == 1
    workspace = Workspace.open(home.parent.parent, search=False)
    found = {entry.body: entry.category for entry in workspace.read("coder").document.entries}
    workspace.store.close()
    assert found == {
        "Tea, not coffee.": "__uncategorized__",
        "By the own tool.": "__uncategorized__",
        "By catmem.": "tastes",
        "Again by the own tool.": "__uncategorized__",
    }
    assert list((home / "memories").glob("*.bak.*")) == []


def test_by_default_the_own_tool_refuses_and_nothing_is_written(hermes, home, stub):
    catmem("hermes", "install", "--yes")
    stub.answers = [("memory", {"action": "add", "target": "user", "content": "By the own tool."}), "Done."]
    hermes("chat", "-Q", "-q", "Remember this.")
    (told,) = (each["content"] for each in stub.turns[-1]["messages"] if each["role"] == "tool")
    assert json.loads(told)["success"] is False
    assert (home / "memories" / "USER.md").read_text(encoding="utf-8") == USER
    # Hermes Agent offers it all the same, and with its toolset it would take the tool of the provider away too.
    assert {"memory", "catmem_memory"} <= {tool["function"]["name"] for tool in stub.turns[-1]["tools"]}
