"""What an answer stands on: profiles, the store and the day, as they were when it was made and not a moment later."""

from __future__ import annotations

from datetime import date

import pytest

from catmem.service.ground import ground, holds, start
from catmem.service.workspace import Workspace
from tests.envelopes import make_files


@pytest.fixture
def workspace(tmp_path):
    make_files(tmp_path / "root", "version: 1\nstore: sqlite:///memory.db\n")
    opened = Workspace.open(tmp_path / "root", search=False)
    opened.add("neo", "be brief", category="talk")
    yield opened
    opened.store.close()


def stands_on(workspace, *names):
    return ground(workspace, start(workspace), [workspace.profile(name) for name in names])


def profile_file(workspace, name="neo"):
    return workspace.config.profiles_dir / f"{name}.yaml"


def test_it_holds_as_long_as_nothing_changes(workspace):
    known = stands_on(workspace, "neo", "boss")
    workspace.prompt("neo")
    workspace.read("neo")
    assert holds(workspace, known)


def test_what_is_written_while_an_answer_is_made_ends_it(workspace):
    begun = start(workspace)
    workspace.add("neo", "be quick", category="talk")
    known = ground(workspace, begun, [workspace.profile("neo")])
    assert not holds(workspace, known)


def test_an_answer_that_was_made_of_another_profile_than_there_is_now_stands_on_nothing(workspace):
    begun, seen = start(workspace), workspace.profile("neo")
    profile_file(workspace).write_text("user_memory_categories: []\n", encoding="utf-8")
    assert ground(workspace, begun, [seen]) is None


def test_a_profile_that_is_written_in_other_words_counts_as_changed(workspace):
    known = stands_on(workspace, "neo")
    with profile_file(workspace).open("a", encoding="utf-8") as file:
        file.write("# A remark.\n")
    assert not holds(workspace, known)


def test_the_profiles_of_others_do_not_count(workspace):
    known = stands_on(workspace, "neo")
    profile_file(workspace, "boss").write_text("tier: 1\n", encoding="utf-8")
    assert holds(workspace, known)


@pytest.mark.parametrize("what", ["a folder", "no right to read it"])
def test_a_profile_that_cannot_be_read_ends_it(workspace, what):
    known = stands_on(workspace, "neo")
    file = profile_file(workspace)
    file.unlink()
    if what == "a folder":
        file.mkdir()
    else:
        file.symlink_to("neo.yaml")  # a circle, which nobody can read: rights stop no administrator
    assert not holds(workspace, known)


def test_it_ends_with_the_day(workspace, monkeypatch):
    known = stands_on(workspace, "neo")
    calendar = type("Calendar", (), {"today": staticmethod(lambda: date(2036, 1, 1))})
    monkeypatch.setattr("catmem.service.clock.date", calendar)
    assert not holds(workspace, known)


def test_a_root_of_files_and_a_database_that_is_not_there_yet_give_none(tmp_path):
    for name, config in (("files", "version: 1\n"), ("new", "version: 1\nstore: sqlite:///memory.db\n")):
        make_files(tmp_path / name, config)
        workspace = Workspace.open(tmp_path / name, search=False)
        assert start(workspace) is None
        workspace.store.close()
