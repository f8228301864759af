"""``catmem merge --interactive`` on a terminal, as a person meets it."""

import pytest

from tests.end_to_end.pseudo_terminal import terminals
from tests.end_to_end.terminal import run, run_json
from tests.golden.case import put

PROMPT = "o, t, b, e WORDS, q or ?: "
NEO = "## Talk\n[verified_date: 2026-05-01] Likes green tea.\n§\nNo calls before ten.\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A root in which the head and a branch reworded both entries of neo/user."""
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "catmem.yaml", "on_stale: branch\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [talk]\n")
    put(tmp_path / "homes" / "neo" / "USER.md", NEO)
    run("add", "-p", "neo", "-c", "talk", "Two spaces.")
    for tea, hour in (("black", "nine"), ("white", "eight")):
        seen = "2"
        for old, new in (("green tea", f"Likes {tea} tea."), ("before ten", f"No calls before {hour}.")):
            seen = run_json("replace", "-p", "neo", old, new, "--expected", seen)["digest"]
    return tmp_path


@pytest.fixture
def opened(place):
    with terminals(place, "merge", "neo", "--interactive") as opening:
        yield opening


def text(place):
    return (place / "homes" / "neo" / "USER.md").read_text(encoding="utf-8")


def test_each_conflict_is_shown_and_decided(place, opened):
    terminal = opened()
    shown = terminal.wait_for(PROMPT)
    assert shown.startswith("1. branch 4a in talk: both sides reworded this entry\n")
    assert "base:            [verified_date: 2026-05-01] Likes green tea.\n" in shown
    assert "ours (person):   Likes black tea.\n" in shown
    assert "theirs (person): Likes white tea.\n" in shown
    terminal.type("what\n")
    assert "ours: what the file says" in terminal.wait_for(PROMPT)  # and asks again
    terminal.type("t\n")
    assert "2. branch 4a" in terminal.wait_for(PROMPT)
    terminal.type("e\n")
    terminal.wait_for("New words: ")
    terminal.type("No calls before noon.\n")
    terminal.wait_for("merged 4a in neo/user (revision 5)")
    assert terminal.status() == 0
    assert "Likes white tea." in text(place)
    assert "No calls before noon." in text(place)
    assert "black" not in text(place)
    assert "eight" not in text(place)


def test_an_editor(place, opened, tmp_path):
    editor = put(tmp_path / "editor", "#!/bin/sh\necho 'Likes any tea.' > \"$1\"\n")
    editor.chmod(0o700)
    terminal = opened(EDITOR=str(editor))
    terminal.wait_for(PROMPT)
    terminal.type("e\n")
    terminal.wait_for(PROMPT)
    terminal.type("o\n")
    assert terminal.status() == 0
    assert "Likes any tea." in text(place)
