"""``catmem log``, ``diff`` and ``restore`` of a file by its path: of no root, and of one."""

import json

import pytest

from catmem.plugins.hermes.memory_store import GuardedFiles
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import run


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A file of Hermes Agent with two revisions of its store and, behind them, what another program wrote."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "home" / "memories" / "MEMORY.md"
    files = GuardedFiles()
    for text in (b"one", b"two"):
        files.write(path, lambda _, text=text: text, {})
    files.close()
    path.write_bytes(b"two\nappended")
    return path


def test_the_history_of_a_file_is_listed(path):
    found = json.loads(run("log", path, "--format", "json").stdout)
    assert [each["revision"] for each in found["revisions"]] == ["2", "1"]
    assert (found["entity"], found["unrecorded"]["size"]) == (str(path), 12)
    assert "changed by another program" in run("log", path).stdout


def test_a_file_is_restored_and_what_it_held_stays(path):
    run("restore", path, "1", "--dry-run")
    assert path.read_bytes() == b"two\nappended"
    run("restore", path, "1")
    assert path.read_bytes() == b"one"
    run("restore", path, "3")
    assert path.read_bytes() == b"two\nappended"


def test_a_path_through_a_link_means_the_file_that_it_leads_to(path, tmp_path):
    link = tmp_path / "link.md"
    link.symlink_to(path)
    run("restore", link, "1")
    assert link.is_symlink()
    assert path.read_bytes() == b"one"


@pytest.mark.parametrize("command", [("log",), ("diff",), ("restore", "1")])
def test_a_path_of_nothing_is_an_error_and_makes_nothing(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "gone/MEMORY.md" in run(command[0], "gone/MEMORY.md", *command[1:], status=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_a_history_is_shown_and_gets_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.md").write_text("one", encoding="utf-8")
    assert "no history yet" in run("log", "notes.md").stdout
    run("restore", "notes.md", "1", status=2)
    assert [each.name for each in tmp_path.iterdir()] == ["notes.md"]


def test_an_agent_may_not_restore_a_file_of_no_profile(path):
    run("restore", path, "1", "--as", "neo", status=2)
    assert path.read_bytes() == b"two\nappended"


def test_the_path_of_a_file_of_a_root_means_its_entity(tmp_path, monkeypatch):
    root = tmp_path / "root"
    run("init", "--example", root)
    workspace = Workspace.open(root)
    before = workspace.path("trinity", "user").read_bytes()
    workspace.add("trinity", "New.", category="workflow-rules-finance")
    monkeypatch.chdir(tmp_path)
    found = json.loads(run("log", "root/homes/trinity/USER.md", "--format", "json").stdout)
    assert found["entity"] == "trinity/user"
    run("restore", "root/homes/trinity/USER.md", "1")
    assert workspace.path("trinity", "user").read_bytes() == before
    assert '"restore"' in run("audit", "--root", root, "--format", "json").stdout
