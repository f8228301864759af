"""``catmem proposals --interactive`` on a terminal, as a person meets it."""

import re

import pytest

from tests.end_to_end.pseudo_terminal import terminals
from tests.end_to_end.terminal import process, user_text
from tests.golden.case import put

PROMPT = "y, n REASON, e WORDS, s, a, q or ?: "
USER = """\
## Rules
[verified_date: 2026-11-01] Uses tabs.
§
[verified_date: 2026-11-02] Deploys go out on Fridays.
§
[verified_date: 2026-11-03] Prefers short answers.
"""


@pytest.fixture
def place(tmp_path):
    put(tmp_path / "catmem.yaml", "approval: others\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [rules]\nwritable_categories: [rules]\n")
    put(tmp_path / "homes" / "neo" / "USER.md", USER)
    for old, new in (
        ("tabs", "Uses spaces."),
        ("Fridays", "Deploys never go out."),
        ("short", "Prefers long answers."),
    ):
        process("replace", "-p", "neo", "--as", "neo", old, new, cwd=tmp_path)
    return tmp_path


def test_a_round(place):
    with terminals(place, "proposals", "--interactive") as opened:
        terminal = opened()
        shown = r"- \[verified_date: 2026-11-01\] Uses tabs\.\n  \+ \[verified_date: \d{4}-\d\d-\d\d\] Uses spaces\.\n"
        assert re.search(shown, terminal.wait_for(PROMPT))
        for wrong in ("what\n", "z"):  # a key that is no answer is told of at once
            terminal.type(wrong)
            assert "no: reject it" in terminal.wait_for(PROMPT)
        terminal.type("y\n")
        terminal.wait_for("approved p-")
        terminal.wait_for(PROMPT)
        terminal.type("n\n")
        terminal.wait_for("Reason (Enter for none): ")
        terminal.type("Fridays are fine.\n")
        terminal.wait_for("rejected p-")
        terminal.wait_for(PROMPT)
        terminal.type("e\n")
        terminal.wait_for("New words: ")
        terminal.type("Prefers no answers.\n")
        terminal.wait_for("No proposal is left.")
        assert terminal.status() == 0
    assert "Uses spaces." in user_text(place)
    assert "Deploys go out on Fridays." in user_text(place)
    assert "Prefers no answers." in user_text(place)
    assert b": Fridays are fine." in process("log", "neo/user", cwd=place).stdout


def test_one_that_went_stale_since_is_asked_about_again(place):
    with terminals(place, "proposals", "--interactive") as opened:
        terminal = opened()
        terminal.wait_for(PROMPT)
        process("replace", "-p", "neo", "tabs", "Uses wide tabs.", cwd=place)
        terminal.type("y\n")
        assert "error[stale_proposal]" in terminal.wait_for(PROMPT)
        terminal.type("n\n")
        terminal.wait_for("Reason (Enter for none): ")
        terminal.type("\n")
        assert "2 of 3" in terminal.wait_for(PROMPT)
        terminal.type("\x04")  # the end of the input
        terminal.wait_for("2 proposals left.")
        assert terminal.status() == 1
    assert "Uses wide tabs." in user_text(place)
