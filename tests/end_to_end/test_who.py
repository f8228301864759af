"""Who did it: the name of the person, where it comes from, and where it is shown."""

import subprocess

import pytest

from catmem.ops.library import ask
from catmem.workspace import root
from catmem.workspace.change_feed import News, heard
from catmem.workspace.workspace import Workspace
from tests.end_to_end.terminal import run, run_json, write_root


@pytest.fixture
def user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    root._of_system.cache_clear()
    yield write_root(tmp_path)
    root._of_system.cache_clear()


@pytest.fixture
def git_home(tmp_path, monkeypatch):
    """A home in which git knows Ada, and a login name."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Ada Git\n")
    monkeypatch.delenv("CATMEM_PERSON")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("LOGNAME", "ada-login")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home


def whose():
    """Agent and name of the newest revision of neo's USER.md."""
    revision = run_json("log", "neo/user")["revisions"][0]
    return revision["agent"], revision["note"].get("person")


def test_the_name_of_the_environment(user, monkeypatch):
    monkeypatch.setenv("CATMEM_PERSON", "Ada Lovelace")
    run("remove", "-p", "neo", "15th")
    assert whose() == ("person", "Ada Lovelace")
    assert "  Ada Lovelace (person)  " in run("log", "neo/user").stdout
    assert "  Ada Lovelace (person)  " in run("audit").stdout
    assert run_json("audit")["lines"][0]["person"] == "Ada Lovelace"
    assert run("audit", "--agent", "Ada Lovelace").stdout == run("audit").stdout
    run("remove", "-p", "neo", "short", "--as", "boss")  # what a profile writes has no name
    assert whose() == ("boss", None)
    assert run_json("audit")["lines"][-1].get("person") is None


def test_the_names_in_their_order(user, git_home, monkeypatch):
    run("add", "-p", "neo", "-c", "rules", "One.")
    assert whose() == ("person", "Ada Git")
    (git_home / ".gitconfig").unlink()
    root._of_system.cache_clear()
    run("add", "-p", "neo", "-c", "rules", "Two.")
    assert whose() == ("person", "ada-login")
    monkeypatch.setenv("PATH", "")
    root._of_system.cache_clear()
    run("add", "-p", "neo", "-c", "rules", "Three.")
    assert whose() == ("person", "ada-login")
    monkeypatch.setenv("CATMEM_PERSON", "")
    run("add", "-p", "neo", "-c", "rules", "Four.")
    assert whose() == ("person", None)


def test_the_repository_of_the_root_has_its_own_name(user, git_home, tmp_path):
    subprocess.run(["git", "-C", tmp_path, "init", "-q"], check=True)
    subprocess.run(["git", "-C", tmp_path, "config", "user.name", "Ada at work"], check=True)
    run("remove", "-p", "neo", "15th")
    assert whose() == ("person", "Ada at work")


def test_a_branch_and_an_event_tell_the_name_to_people_alone(user, monkeypatch):
    monkeypatch.setenv("CATMEM_PERSON", "Ada")
    run("remove", "-p", "neo", "pay is")
    run("replace", "-p", "neo", "15th", "Invoices are due at once.", "--expected", "1", "--on-stale", "branch")
    assert "  Ada (person)  " in run("branches").stdout
    assert run_json("branches")["branches"][0]["person"] == "Ada"
    workspace = Workspace.open(".")
    ((branch,),) = ask(workspace, "branches", "boss").values()
    assert (branch["agent"], "person" in branch) == ("person", False)
    (record,) = workspace.store.branches("neo/user")[:1]
    news = [News("revision", "neo/user", record.revision, record.digest, record)]
    ((_, told),) = heard(workspace, news, None)
    assert (told["agent_id"], told["person"]) == ("person", "Ada")
    ((_, to_agent),) = heard(workspace, news, "boss")
    assert (to_agent["agent_id"], "person" in to_agent) == ("person", False)


@pytest.mark.parametrize(
    ("said", "kept"), [("Ada\n\tL.", "Ada L."), ("\x1b[2J\u202eAda", "[2JAda"), ("a" * 500, "a" * 80), (" \n ", None)]
)
def test_a_name_is_one_short_line(user, monkeypatch, said, kept):
    monkeypatch.setenv("CATMEM_PERSON", said)
    run("remove", "-p", "neo", "15th")
    assert whose() == ("person", kept)
