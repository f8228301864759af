"""One operation works on one state of the disk: profiles and files are read once for it."""

import threading

import pytest

from catmem.config.profile import one_reading
from catmem.workspace.profile_memory import TEXTS, read_memory
from catmem.workspace.workspace import Workspace
from tests.golden.case import put

TALK, RULES = "user_memory_categories: [talk]\n", "user_memory_categories: [rules]\n"


@pytest.fixture
def root(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", TALK)
    put(tmp_path / "homes" / "neo" / "USER.md", "## Talk\n[expires: soon] short answers\n\n## Rules\nno calls\n")
    return tmp_path


def test_a_profile_that_changes_in_the_middle_of_an_operation_counts_for_the_next_one(root):
    workspace = Workspace.open(root)
    with one_reading():
        assert workspace.profile("neo").user_memory_categories == ("talk",)
        put(root / "profiles" / "neo.yaml", RULES)
        with one_reading():
            assert workspace.profile("neo").user_memory_categories == ("talk",)
        assert "short answers" in workspace.prompt("neo").text
    assert "no calls" in workspace.prompt("neo").text


def test_another_thread_has_its_own_reading(root):
    workspace, seen = Workspace.open(root), []
    with one_reading():
        workspace.profile("neo")
        put(root / "profiles" / "neo.yaml", RULES)
        thread = threading.Thread(target=lambda: seen.append(workspace.profile("neo").user_memory_categories))
        thread.start()
        thread.join()
    assert seen == [("rules",)]


def test_a_profile_that_is_wrong_is_read_again(root):
    workspace = Workspace.open(root)
    with one_reading():
        with pytest.raises(Exception, match="no profile"):
            workspace.profile("trinity")
        put(root / "profiles" / "trinity.yaml", TALK)
        assert workspace.profile("trinity").name == "trinity"


def test_text_and_warnings_are_of_one_state_of_the_files(root):
    memory = read_memory(Workspace.open(root), "neo")
    put(root / "homes" / "neo" / "USER.md", "## Talk\nchanged\n")
    assert "short answers" in memory.prompt().text
    assert ["expires" in warning.message for warning in memory.warnings()] == [True]


def test_the_last_texts_are_kept_by_their_bytes_and_no_others(root):
    workspace = Workspace.open(root)
    texts = [f"## Talk\n{number}\n".encode() for number in range(TEXTS + 1)]
    documents = [workspace.parse(text) for text in texts]
    assert all(workspace.parse(text) is document for text, document in zip(texts[1:], documents[1:], strict=True))
    assert workspace.parse(texts[0]) is not documents[0]
    assert workspace.parse(texts[0]) == documents[0]


def test_two_workspaces_share_nothing(root):
    one, other = Workspace.open(root), Workspace.open(root)
    assert one == other
    assert one.parse(b"## Talk\nfirst\n") is not other.parse(b"## Talk\nfirst\n")


def test_entries_whose_tags_say_the_same_are_dated_once(root):
    many = "\n§\n".join(f"[created: 2026-01-0{number % 3 + 1}] fact {number}" for number in range(300))
    put(root / "homes" / "neo" / "USER.md", f"## Talk\n{many}\n")
    listed = Workspace.open(root).list("neo", category="talk")
    assert [str(each.freshness.day) for each in listed[:4]] == ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-01"]
    assert len({id(each.freshness) for each in listed}) == 3
