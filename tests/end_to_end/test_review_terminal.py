"""``catmem review`` on a terminal, as a person meets it."""

import time

import pytest

from tests.end_to_end.pseudo_terminal import terminals
from tests.end_to_end.terminal import user_text
from tests.golden.case import put

PROMPT = "k, e WORDS, x, r, s, u, q or ?: "
NEO = """\
## Talk
[created: 2026-01-01] Likes tea.
§
[created: 2026-02-01] Prefers short answers.
§
[created: 2026-03-01] Two spaces.
"""


@pytest.fixture
def place(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [talk]\n")
    put(tmp_path / "homes" / "neo" / "USER.md", NEO)
    return tmp_path


@pytest.fixture
def opened(place):
    with terminals(place, "review", "--as-of", "2026-11-21") as opening:
        yield opening


def test_one_key_is_an_answer_and_words_end_with_enter(place, opened):
    terminal = opened()
    for typed in ("k", "e Prefers long answers.\n", "q"):
        terminal.wait_for(PROMPT)
        terminal.type(typed[0])
        terminal.type(typed[1:])
    terminal.wait_for("1 of 3 is left.")
    assert terminal.status() == 1
    assert "Prefers long answers." in user_text(place)


def test_a_round(place, opened):
    terminal = opened()
    assert "1 of 3  neo/user:2  talk\n  Likes tea.\n" in terminal.wait_for(PROMPT)
    terminal.type("what\n")
    assert "keep: it still holds" in terminal.wait_for(PROMPT)  # asks again
    terminal.type("k\n")
    assert "2 of 3" in terminal.wait_for(PROMPT)
    terminal.type("e\n")
    terminal.wait_for("New words: ")
    terminal.type("Prefers long answers.\n")
    assert "3 of 3" in terminal.wait_for(PROMPT)
    terminal.type("u\n")
    assert "2 of 3" in terminal.wait_for(PROMPT)
    terminal.type("e\n")
    terminal.wait_for("New words: ")
    terminal.type("Prefers long answers.\n")
    assert "3 of 3" in terminal.wait_for(PROMPT)
    terminal.type("r\n")
    terminal.wait_for("All done.")
    assert terminal.status() == 0
    assert "Likes tea." in user_text(place)
    assert "Prefers long answers." in user_text(place)
    assert "Two spaces." not in user_text(place)


def test_an_editor(place, opened, tmp_path):
    editor = put(tmp_path / "editor", "#!/bin/sh\necho 'Likes green tea.' > \"$1\"\n")
    editor.chmod(0o700)
    terminal = opened(EDITOR=str(editor))
    terminal.wait_for(PROMPT)
    terminal.type("e\n")
    assert "2 of 3" in terminal.wait_for(PROMPT)
    terminal.type("q\n")
    assert terminal.status() == 1
    assert "Likes green tea." in user_text(place)


def test_who_types_a_word_answers_neither_this_question_nor_the_next(place, opened):
    terminal = opened()
    terminal.wait_for(PROMPT)
    for letter in "skip\n":
        terminal.type(letter)
        time.sleep(0.05)
    assert "keep: it still holds" in terminal.wait_for(PROMPT)  # asks again
    terminal.type("q")
    terminal.wait_for("3 of 3 are left.")
    assert user_text(place) == NEO
