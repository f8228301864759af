"""The memory provider, called as Hermes Agent calls it. Hermes Agent itself is in tests/interplay."""

import json
import logging

import pytest

from catmem.plugins.hermes.provider import TOOL_NAME, Provider
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.unit.hermes.conftest import OFF, PROFILE, USER


@pytest.fixture
def home(provider_home):
    return provider_home


@pytest.fixture
def provider(home):
    made = Provider()
    made.initialize("one", hermes_home=str(home.path), platform="cli", agent_context="primary")
    yield made
    made.shutdown()


def call(provider, **arguments):
    return json.loads(provider.handle_tool_call(TOOL_NAME, arguments))


def user_file(home):
    return (home.memories / "USER.md").read_text(encoding="utf-8")


def test_the_block_is_the_prompt_of_the_profile(provider, home):
    block = provider.system_prompt_block()
    assert block == Workspace.open(home.root, search=False).prompt("coder").text
    assert "Tea, not coffee." in block
    assert "Uses vim." in block
    assert "CANARY" not in block


def test_the_block_stays_whatever_is_written_until_another_conversation_begins(provider, home):
    before = provider.system_prompt_block()
    assert call(provider, action="add", content="Green tea.", category="tastes")["success"]
    put(home.memories / "MEMORY.md", "## Tools\nUses emacs.\n")
    provider.on_session_switch("two", parent_session_id="one", reset=False, reason="compression")
    assert provider.system_prompt_block() == before
    provider.on_session_switch("three", reset=True, reason="new_session")
    after = provider.system_prompt_block()
    assert "Green tea." in after
    assert "emacs" in after


def test_what_hermes_shows_itself_is_not_shown_twice(home, caplog):
    put(home.config, OFF.replace("user_profile_enabled: false", "user_profile_enabled: true"))
    provider = Provider()
    with caplog.at_level(logging.WARNING, "catmem.plugins.hermes"):
        provider.initialize("one", hermes_home=str(home.path))
    block = provider.system_prompt_block()
    assert "Uses vim." in block
    assert "Tea" not in block
    assert "categories that are hidden from it" in caplog.text
    provider.shutdown()


def test_files_elsewhere_are_shown_whatever_hermes_shows_of_its_own(home, tmp_path):
    root = tmp_path / "central"
    put(root / "catmem.yaml", "version: 1\n")
    put(root / "profiles" / "neo.yaml", PROFILE)
    put(root / "homes" / "neo" / "USER.md", "## Tastes\nCocoa.\n")
    put(home.path / "catmem.json", json.dumps({"version": 1, "root": str(root), "profile": "neo"}))
    put(home.config, "memory: {provider: catmem}\n")
    provider = Provider()
    provider.initialize("one", hermes_home=str(home.path))
    assert "Cocoa." in provider.system_prompt_block()
    kept = [root / "catmem.yaml", root / "homes" / "neo", root / "profiles"]
    assert provider.backup_paths() == [str(path.resolve()) for path in kept]
    provider.shutdown()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"action": "add", "content": "x", "category": "payroll"}, "forbidden"),
        ({"action": "remove", "old_text": "CANARY"}, "no_match"),
        ({"action": "dance"}, "bad_arguments"),
        ({}, "bad_arguments"),
    ],
)
def test_no_answer_tells_of_what_the_profile_does_not_see(provider, home, arguments, reason):
    answer = provider.handle_tool_call(TOOL_NAME, arguments)
    assert (json.loads(answer)["success"], json.loads(answer)["reason"]) == (False, reason)
    assert "CANARY-" not in answer
    assert user_file(home) == USER


def test_what_another_wrote_is_shown_before_the_agent_changes_it(provider, home):
    put(home.memories / "USER.md", USER.replace("Tea, not coffee.", "Cocoa."))
    change = {"action": "replace", "old_text": "Cocoa", "content": "Green tea."}
    for _ in range(2):
        answer = call(provider, **change)
        assert (answer["success"], answer["entry"]["text"]) == (False, "Cocoa.")
    assert call(provider, action="list")["success"]
    assert call(provider, **change)["success"]


@pytest.mark.parametrize("context", ["subagent", "cron", "flush"])
def test_a_session_that_is_no_conversation_reads_and_does_not_write(home, context):
    provider = Provider()
    provider.initialize("one", hermes_home=str(home.path), agent_context=context)
    assert "Tea" in provider.system_prompt_block()
    assert call(provider, action="list")["success"]
    assert call(provider, action="add", content="x", category="tastes")["reason"] == "read_only"
    assert user_file(home) == USER
    provider.shutdown()


def test_nothing_is_written_where_hermes_cannot_be_asked_whether_writes_wait(provider, home):
    put(home.config, "memory: [\n")
    answer = call(provider, action="add", content="Green tea.", category="tastes")
    assert (answer["success"], answer["reason"]) == (False, "hermes_config")
    assert user_file(home) == USER


def test_unreadable_memory_is_said_and_not_taken_for_empty(provider, home, caplog):
    good = (home.memories / "USER.md").read_bytes()
    (home.memories / "USER.md").write_bytes(b"\xff")
    with caplog.at_level(logging.ERROR, "catmem.plugins.hermes"):
        assert "could not be read (not_utf8)" in provider.system_prompt_block()
    assert "USER.md" in caplog.text
    (home.memories / "USER.md").write_bytes(good)
    assert "Tea" in provider.system_prompt_block()


SPOILED = {
    "no root": lambda home: (home.root / "catmem.yaml").unlink(),
    "a root that is gone": lambda home: put(home.path / "catmem.json", '{"version": 1, "root": "/nowhere", "profile": "coder"}'),
    "broken settings": lambda home: put(home.path / "catmem.json", "{"),
    "an unknown profile": lambda home: put(home.path / "catmem.json", '{"version": 1, "root": "../..", "profile": "nobody"}'),
    "a broken profile": lambda home: put(home.root / "catmem-profiles" / "coder.yaml", "tier: many\n"),
}  # fmt: skip


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=list(SPOILED))
def test_without_a_root_and_a_profile_it_is_not_available_and_the_log_says_why(home, spoil, caplog):
    spoil(home)
    provider = Provider()
    with caplog.at_level(logging.WARNING, "catmem.plugins.hermes"):
        assert provider.is_available() is False
    assert "catmem is not available" in caplog.text
    assert "problem" in provider.get_status_config({})
    provider.initialize("one", hermes_home=str(home.path))
    assert "could not be read" in provider.system_prompt_block()
    assert call(provider, action="list")["success"] is False
    provider.shutdown()


def test_what_hermes_setup_asks_for_is_kept(home, tmp_path):
    provider = Provider()
    defaults = {field["key"]: field["default"] for field in provider.get_config_schema()}
    assert defaults == {"root": str(tmp_path), "profile": "coder"}
    provider.save_config({"root": "../..", "profile": "default"}, str(home.path))
    assert provider.get_status_config(None)["profile"] == "default"
