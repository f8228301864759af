"""``catmem tidy``: the two lists for people and for programs, which files they are of, and what is left out."""

import pytest

from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import run, run_json
from tests.golden.case import put

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
BOSS = f"""\
## Talk
[verified_date: 2026-05-01] Prefers short answers in chat.
§
In chat, prefers short answers
§
The deploy token is {TOKEN}
§
[created: 2026-02-03] The standup is at 9:30.
"""
MEMORY = """\
## Calendar
[verified_date: 2026-10-12] Standup is at 10:00.
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    put(tmp_path / "homes" / "boss" / "USER.md", BOSS)
    put(tmp_path / "homes" / "boss" / "MEMORY.md", MEMORY)
    put(tmp_path / "profiles" / "neo.yaml", "seed_from: boss\nuser_memory_categories: ['*']\n")
    put(tmp_path / "homes" / "neo" / "USER.md", BOSS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_is_of_one_profile(place):
    assert run_json("tidy", "-p", "neo")["suggestions"] == []
    found = run_json("tidy", "-p", "boss")
    assert [each["kind"] for each in found["suggestions"]] == ["same", "together"]
    assert found["private"] == 1
    assert set(found["suggestions"][0]) == {"kind", "entity", "operations", "reason", "entries"}
    assert set(found["suggestions"][0]["entries"][0]) == {"entity", "category", "line", "id", "tags", "text"}
    assert "nothing to tidy" in run("tidy", "-p", "neo").stderr


def test_proposals_change_no_file_and_are_made_once(place):
    before = {path: path.read_bytes() for path in place.rglob("*.md")}
    assert "1 suggestion waits for you" in run("tidy", "--propose").stderr
    assert {path: path.read_bytes() for path in place.rglob("*.md")} == before
    workspace = Workspace.open(place)
    (waiting,) = workspace.proposals()
    assert waiting.reason == (
        'tidy, same: they have the same words, in another order; what stays: "Prefers short answers in chat."'
    )
    workspace.reject(waiting.id)
    left = run("tidy", "--propose").stderr
    assert ("1 suggestion left out: you rejected the same before" in left, "rejected_before" in left) == (True, False)
    (again,) = run_json("tidy", "--propose")["proposed"]
    assert (again["proposal"], again["error"]["code"]) == (None, "rejected_before")


def test_a_file_that_cannot_be_read_is_said_before_there_is_nothing_to_tidy(place):
    (place / "homes" / "boss" / "USER.md").write_bytes(b"Gr\xfc\xdfe\n")
    for how in ((), ("--propose",)):
        done = run("tidy", *how, status=2).stderr
        assert done.startswith("Not everything could be read (see the errors below), so this is about the rest.\n")
        assert "error[not_utf8]" in done
    run("tidy", "--format", "json", status=2)


@pytest.mark.parametrize("change", [("remove", "Prefers short"), ("replace", "Prefers short", "Prefers long ones.")])
def test_a_proposal_to_remove_one_of_two_is_stale_when_the_other_has_gone(place, change):
    run("tidy", "--propose")
    workspace = Workspace.open(place)
    (waiting,) = workspace.proposals()
    assert waiting.state == "waiting"
    run(*change, "-p", "boss")
    (waiting,) = workspace.proposals()
    assert waiting.state == "stale"
    assert "error[stale_proposal]" in run("proposals", waiting.id, "--approve", status=3).stderr
    assert "In chat, prefers short answers" in (place / "homes" / "boss" / "USER.md").read_text()
