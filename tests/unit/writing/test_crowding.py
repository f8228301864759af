"""A write that leaves no room for an entry in a prompt is told, and nothing else is."""

import pytest

from catmem.ops.memory_tool import memory_tool
from catmem.writing.written import crowded_out
from tests.end_to_end.terminal import run
from tests.golden.case import put
from tests.roots import make_root

LONG = "x" * 60
NEO = """\
user_memory_categories: [talk, rules]
memory_categories: [rules]
writable_categories: [talk, rules, drop]
prompt: {budget: BUDGET}
"""
USER = """\
## Talk
[verified_date: 2026-11-01] Prefers short answers.

## Rules
[verified_date: 2026-11-01] Pays on Friday.

## Secret
The pay is a secret.
"""


def root(folder, budget="{user: 100}", user=USER, memory=""):
    profiles = {"neo": NEO.replace("BUDGET", budget), "boss": "tier: 1\nuser_memory_categories: ['*']\n"}
    return make_root(folder, profiles=profiles, files={"neo/user": user, "neo/memory": memory})


@pytest.fixture
def workspace(tmp_path):
    return root(tmp_path)


def told(workspace, text=LONG, *, actor=None, category="rules", **how):
    return crowded_out(workspace, workspace.add("neo", text, category=category, actor=actor, **how), actor)


def test_what_was_written_and_has_no_room_is_told(workspace):
    crowded = told(workspace)
    prompt = workspace.prompt("neo")
    out = [row for row in prompt.manifest.rows if row.status == "out"]
    assert LONG not in prompt.text
    assert (crowded.budget, crowded.limit, crowded.left_out, crowded.written) == ("user", 100, len(out), True)
    assert crowded.size > 100
    assert [row["id"] for row in crowded.entries] == [row.id for row in out]


def test_an_entry_that_is_pushed_out_by_another_is_told(tmp_path):
    workspace = root(tmp_path, user="## Rules\n[verified_date: 2020-01-01] Stale.\n", budget="{user: 110}")
    crowded = told(workspace)
    assert [row["preview"] for row in crowded.entries] == ["Stale."]
    assert (crowded.left_out, crowded.written) == (1, False)
    assert LONG in workspace.prompt("neo").text


def test_a_profile_is_told_of_its_own_prompt_only(workspace):
    assert told(workspace, actor="boss") is None
    assert told(workspace, f"{LONG} more", actor="neo").profile == "neo"


def test_the_tool_tells_an_agent_in_its_answer(workspace):
    answer = memory_tool(workspace, "neo", {"action": "add", "category": "rules", "content": LONG})
    assert answer["success"]
    assert answer["prompt"]["over_by"] == answer["prompt"]["size"] - 100
    assert [entry["category"] for entry in answer["prompt"]["entries"]] == ["rules"]
    assert "It is on file, and not in your prompt" in answer["message"]
    assert "secret" not in str(answer).lower()
    short = memory_tool(workspace, "neo", {"action": "remove", "old_text": LONG})
    assert "prompt" not in short


# --- the command line ------------------------------------------------------------------------------------------------


@pytest.fixture
def on_disk(tmp_path, monkeypatch):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", NEO.replace("BUDGET", "{user: 100}"))
    put(tmp_path / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    put(tmp_path / "homes" / "neo" / "USER.md", USER)
    monkeypatch.chdir(tmp_path)
    return "add", LONG, "-p", "neo", "-c", "rules"


def said(*arguments):
    return [line for line in run(*arguments).stderr.splitlines() if "over the budget" in line]


def test_a_person_is_told_in_one_line(on_disk):
    (line,) = said(*on_disk)
    assert line.startswith("neo's prompt is ")
    assert line.endswith("'catmem prompt neo --explain' shows which.")
    assert said("verify", "short answers", "-p", "neo") == []
    (line,) = said("replace", LONG, f"{LONG} or so", "-p", "neo")
    assert "left out: 1 entry." in line
