"""``catmem lint`` of much text on a terminal: it says what it is at, and a pipe gets none of it."""

import subprocess
import sys

import pytest

from tests.end_to_end.pseudo_terminal import terminals
from tests.golden.case import put

_ENTRIES = 12_000
_FACT = "[verified_date: 2025-01-01] Fact number {} of the vendor {} is that it pays within {} days.\n"
"""So many of these that a run takes several times as long as lint waits before it says what it is at."""


@pytest.fixture
def place(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [style]\n")
    facts = (_FACT.format(number, number % 977, number % 90) for number in range(_ENTRIES))
    put(tmp_path / "homes" / "neo" / "USER.md", "## Style\n" + "§\n".join(facts))
    return tmp_path


def test_a_terminal_shows_what_lint_is_at_and_then_the_findings_alone(place):
    with terminals(place, "lint") as opened:
        terminal = opened(TERM="xterm")
        terminal.wait_for(" s: ")
        shown = terminal.wait_for("3 files: ")
        assert "\r\x1b[K" in shown
        assert shown.splitlines()[-1].endswith("3 files: ")
        terminal.status()


@pytest.mark.parametrize("term", ["dumb", "xterm"])
def test_a_dumb_terminal_and_a_pipe_get_none_of_it(place, term):
    if term == "dumb":
        with terminals(place, "lint") as opened:
            shown = opened(TERM=term).wait_for("3 files: ")
    else:
        done = subprocess.run(
            [sys.executable, "-m", "catmem", "lint"], cwd=place, capture_output=True, text=True, check=False
        )
        shown = done.stdout + done.stderr
    assert "\x1b" not in shown
    assert " s: " not in shown
