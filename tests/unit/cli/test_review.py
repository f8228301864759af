"""``catmem review`` through a pipe, as a list and on a terminal."""

import time
from datetime import date

import pytest

from catmem.staleness.review import Review
from catmem.workspace.workspace import Workspace
from tests.end_to_end.pseudo_terminal import terminals
from tests.end_to_end.terminal import run, user_text
from tests.golden.case import put

CONFIG = "stale_after: 30d\ntaxonomy: {closed: true, categories: {talk: {}, rules: {}}}\n"
NEO = """\
## Talk
[created: 2026-07-01] Likes tea.
§
[verified_date: 2026-08-01] Prefers short answers.

## Rules
[created: 2026-01-01, expires: 2026-11-01] Two spaces.
§
[verified_date: 2026-11-20] No tabs.
"""
DAY = ("--as-of", "2026-11-21")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("catmem.clock.today", lambda: date(2026, 11, 21))
    put(tmp_path / "catmem.yaml", CONFIG)
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [talk, rules]\n")
    put(tmp_path / "homes" / "neo" / "USER.md", NEO)
    return tmp_path


def review(answers, *arguments, status=0):
    return run("review", *DAY, *arguments, status=status, input=answers)


def test_a_list_says_what_a_prompt_withholds(place):
    (place / "homes" / "neo" / "USER.md").write_text("## Talk\nWifi password is Kaffee!Tasse2019\n", encoding="utf-8")
    assert "unverified; blocked: assigned-secret  Wifi" in review(None, "--list").stdout


def test_the_end_says_whether_anything_was_answered(place):
    assert review("", status=1).stderr == "3 of 3 are left. Nothing was answered; run it again to go on.\n"
    said = review("k\n", status=1).stderr
    assert said.endswith("2 of 3 are left. What was answered is written; run it again to go on.\n")


def test_a_whole_review(place):
    result = review("r\nk\ne Prefers long answers.\n")
    assert result.stdout == (
        "1 of 3  neo/user:7  rules\n"
        "  Two spaces.\n"
        "expired 2026-11-01, 20 days ago\n"
        "\n"
        "2 of 3  neo/user:2  talk\n"
        "  Likes tea.\n"
        "stale: created 2026-07-01, 143 days ago; stale after 30\n"
        "\n"
        "3 of 3  neo/user:4  talk\n"
        "  Prefers short answers.\n"
        "stale: verified 2026-08-01, 112 days ago; stale after 30\n"
    )
    assert [line for line in result.stderr.splitlines() if not line.startswith("note:")] == [
        "removed (revision 2)",
        "kept and verified (revision 3)",
        "changed and verified (revision 4)",
        "All done.",
    ]
    assert "[verified_date: 2026-11-21, created: 2026-07-01] Likes tea." in user_text(place)
    assert "[verified_date: 2026-11-21] Prefers long answers." in user_text(place)
    assert "Two spaces" not in user_text(place)


@pytest.mark.parametrize("answer", ["k now", "e  ", "\x1b[2J", "x" * 5000])
def test_an_unknown_answer_stops_and_names_its_line(place, answer):
    result = review(f"s\n\n{answer}\nr\n", status=2)
    assert "error[bad_answer]: standard input:3: " in result.stderr
    assert "is no answer" in result.stderr
    assert "running it again goes on" in result.stderr
    assert "\x1b" not in result.stderr
    assert len(result.stderr) < 1000
    assert user_text(place) == NEO


def test_answers_that_are_no_text(place):
    result = review(b"k\n\xff\n", status=2)
    assert "error[not_utf8]: standard input:2" in result.stderr
    assert "[created: 2026-01-01, verified_date: 2026-11-21] Two spaces." in user_text(place)


def test_an_answer_that_cannot_be_done_stops_and_names_its_line(place):
    (place / "catmem.yaml").write_text(CONFIG + "limits: {user: 300}\n", encoding="utf-8")
    result = review(f"s\ne {'long ' * 100}\n", status=1)
    assert "error[over_budget]" in result.stderr
    assert "This was line 2 of standard input" in result.stderr
    assert user_text(place) == NEO


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_asked_about(place):
    put(place / "profiles" / "boss.yaml", "tier: 1\n")
    put(place / "homes" / "boss" / "USER.md", "x").write_bytes(b"\xff\n")
    result = review("s\ns\ns\n", status=2)
    assert "All done." in result.stderr
    assert "error[not_utf8]" in result.stderr


def test_a_fact_that_somebody_changes_between_being_shown_and_answered_is_shown_again(place, monkeypatch):
    answer = Review.answer

    def late(self, due, *said):
        if due.entry.body == "Likes tea.":
            workspace = Workspace.open(place)
            workspace.replace("neo", "Likes tea.", "Likes tea, others say.")
            workspace.store.close()
        return answer(self, due, *said)

    monkeypatch.setattr(Review, "answer", late)
    result = review("k\nk\nk\nk\n")
    assert "error[changed_meanwhile]: " in result.stderr
    assert "Likes tea, others say." in result.stdout
    assert "[verified_date: 2026-11-21, created: 2026-07-01] Likes tea, others say." in user_text(place)
    assert "All done." in result.stderr


def test_copies_of_a_seed_are_not_told_as_answered(place):
    put(place / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    put(place / "homes" / "boss" / "USER.md", "## Talk\n[created: 2026-01-01] From above.\n")
    run("seed", "boss", "neo")
    said = review(None, "--list").stderr
    assert "1 more is seeded from another profile, and asked about there." in said


# --- on a terminal, as a person meets it ---

PROMPT = "k, e WORDS, x, r, s, q or ?: "
THREE = """\
## Talk
[created: 2026-01-01] Likes tea.
§
[created: 2026-02-01] Prefers short answers.
§
[created: 2026-03-01] Two spaces.
"""


@pytest.fixture
def opened(place):
    put(place / "homes" / "neo" / "USER.md", THREE)
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


def test_a_whole_review_on_a_terminal(place, opened):
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
    assert user_text(place) == THREE
