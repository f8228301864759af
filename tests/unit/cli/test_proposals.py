"""``catmem proposals``: the list, decisions by options, through a pipe and on a terminal; and how a waiting write is answered."""

import re
from datetime import date
from functools import partial

import pytest

from tests.end_to_end.pseudo_terminal import terminals
from tests.end_to_end.terminal import error_of, process, run, run_json, user_text
from tests.golden.case import put

CONFIG = "approval: others\nsecrets: refuse\n"
NEO = "user_memory_categories: [rules, talk]\nwritable_categories: [rules, talk]\n"
USER = """\
## Rules
[verified_date: 2026-11-01] Uses tabs.
§
[verified_date: 2026-11-02] Deploys go out on Fridays.

## Talk
[verified_date: 2026-11-03] Prefers short answers.
"""
TODAY = date(2026, 11, 21)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("catmem.clock.today", lambda: TODAY)
    monkeypatch.setenv("CATMEM_PERSON", "Anna")
    put(tmp_path / "catmem.yaml", CONFIG)
    put(tmp_path / "profiles" / "neo.yaml", NEO)
    put(tmp_path / "homes" / "neo" / "USER.md", USER)
    return tmp_path


proposals = partial(run, "proposals")


def propose(old, new, *arguments):
    """The id of what neo proposes."""
    result = run("replace", "-p", "neo", "--as", "neo", old, new, *arguments)
    return re.search(r"p-[0-9a-f]{10}", result.stdout)[0]


# --- a write that waits --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["add", "Likes tea.", "-c", "rules"], ["+ [created: 2026-11-21] Likes tea."]),
        (
            ["replace", "tabs", "Uses spaces."],
            ["- [verified_date: 2026-11-01] Uses tabs.", "+ [verified_date: 2026-11-21] Uses spaces."],
        ),
        (["remove", "tabs"], ["- [verified_date: 2026-11-01] Uses tabs."]),
        (["move", "tabs", "-c", "talk"], ["rules to talk"]),
        (["verify", "tabs"], ["+ [verified_date: 2026-11-21] Uses tabs."]),
    ],
)
def test_every_verb_can_propose_with_a_reason(place, arguments, lines):
    said = run_json(*arguments, "-p", "neo", "--propose", "--reason", "It is\nso.")
    assert said["waiting"].startswith("p-")
    shown = proposals(said["waiting"]).stdout
    assert "  why: It is so.\n" in shown
    for line in lines:
        assert f"  {line}\n" in shown
    assert user_text(place) == USER


# --- looking -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["a person", "an editor"])
def test_what_was_made_by_hand_meanwhile_is_stale(place, by):
    name = propose("short", "Prefers short answers in the evening.")
    if by == "a person":
        run("replace", "-p", "neo", "short", "Prefers short answers in the evening.")
    else:
        put(place / "homes" / "neo" / "USER.md", user_text(place).replace("answers.", "answers in the evening."))
    assert "  stale: another entry by now, so reject it\n" in proposals(name).stdout
    assert "1 proposal" in run("status").stdout
    assert error_of("proposals", "--approve", name, status=3)["code"] == "stale_proposal"


def test_a_stale_one_shows_three_texts(place):
    name = propose("tabs", "Uses spaces.")
    run("replace", "-p", "neo", "tabs", "Uses tabs\nof four.")
    assert (
        "  stale: another entry by now, so reject it\n"
        "  rules\n"
        "  before:   [verified_date: 2026-11-01] Uses tabs.\n"
        "  proposed: Uses spaces.\n"
        "  now:      Uses tabs\n"
        "            of four.\n"
    ) in proposals(name).stdout


def test_one_that_was_decided_is_shown_by_its_id_and_by_all(place):
    name = propose("tabs", "Uses spaces.")
    proposals("--reject", name, "--reason", "Tabs stay.")
    assert proposals().stdout == ""
    for arguments in ([name], ["--all"]):
        shown = proposals(*arguments).stdout
        assert re.search(r"  rejected by Anna \(person\) in revision \d+, .*Z: Tabs stay\.\n", shown)


def test_an_agent_is_shown_its_own_as_every_interface_shows_it(place):
    name = propose("tabs", "Uses spaces.")
    (said,) = run_json("proposals", "--as", "neo")["proposals"]
    assert said["id"] == name
    assert not {"revision", "base", "person"} & said.keys()
    assert proposals("neo/memory", "--as", "neo").stdout == ""
    assert proposals("neo", "--as", "neo").stdout.endswith("  + Uses spaces.\n\n")
    proposals("--reject", name, "--reason", "No.")
    assert proposals("--as", "neo").stdout == ""
    assert re.search(r"  rejected, .*Z: No\.\n", proposals("--as", "neo", "--all").stdout)


# --- deciding ------------------------------------------------------------------------------------------------------


def test_several_go_on_after_one_that_is_refused(place):
    first, second, third = (
        propose(old, new)
        for old, new in (("tabs", "Uses spaces."), ("Fridays", "Never on Fridays."), ("short", "Long answers."))
    )
    run("replace", "-p", "neo", "tabs", "Uses four blanks.")
    result = proposals("--approve", first, second, "p-0000000000", third, status=3)
    assert f"{first}: refused\nerror[stale_proposal]" in result.stderr
    assert "p-0000000000: refused\nerror[unknown_proposal]" in result.stderr
    assert result.stdout.count("approved ") == 2
    assert "Never on Fridays." in user_text(place)
    assert "Long answers." in user_text(place)


def test_other_words_are_written_and_the_files_named_that_could_not_be_given_them(place):
    put(place / "profiles" / "tri.yaml", "seed_from: neo\n")
    put(place / "homes" / "tri" / "USER.md", b"\xff\xfe")
    name = propose("tabs", "Uses spaces.")
    result = proposals("--edit", name, "Uses", "four spaces.")
    assert "Uses four spaces." in user_text(place)
    assert re.search("not looked at, so it may have other words: .*tri/USER.md", result.stderr)


# --- one by one ----------------------------------------------------------------------------------------------------


def test_a_round_says_what_is_refused_and_waits_still(place):
    name = propose("tabs", "Uses spaces.")
    run("replace", "-p", "neo", "tabs", "Uses both.")
    result = proposals("-i", input="y\n", status=3)
    assert "1 proposal refused, and waiting still.\n" in result.stderr
    assert "No proposal is left." not in result.stderr
    assert name in proposals().stdout


def test_a_round_through_a_pipe(place):
    names = [propose(*each) for each in (("tabs", "Uses spaces."), ("Fridays", "Never."), ("short", "Long."))]
    result = proposals("-i", input="n Tabs stay.\ne Never on Mondays.\ny\n")
    assert "1 of 3\n" in result.stdout
    assert "3 of 3\n" in result.stdout
    done = re.findall(r"^(approved|rejected) (p-\w+)", result.stdout, re.MULTILINE)
    assert done == list(zip(("rejected", "approved", "approved"), names, strict=True))
    assert "Tabs stay." in proposals(names[0]).stdout
    assert "No proposal is left." in result.stderr
    # Whoever approves new words of a verified fact says that they hold.
    assert [line.rpartition("] ")[2] for line in user_text(place).splitlines() if line and line[0] not in "#§"] == [
        "Uses tabs.",
        "Never on Mondays.",
        "Long.",
    ]
    assert user_text(place).count("verified_date") == 3


def test_all_that_are_left_of_a_profile_and_category(place):
    propose("tabs", "Uses spaces.")
    propose("Fridays", "Never.")
    other = propose("short", "Long.")
    result = proposals("neo", "-i", input="a\n", status=1)
    assert "a approves 2 of neo in rules\n" in result.stderr
    assert "1 proposal left." in result.stderr
    assert other in proposals().stdout
    assert "Uses spaces." in user_text(place)
    assert "Never." in user_text(place)
    assert "short answers" in user_text(place)


# --- the record ----------------------------------------------------------------------------------------------------


def test_the_log_in_plain_words(place):
    first = propose("tabs", "Uses spaces.")
    second = propose("Fridays", "Never.")
    third = propose("short", "Long.")
    proposals("--approve", first)
    proposals("--reject", second, "--reason", "Fridays stay.")
    proposals("--edit", third, "Long answers.")
    log = run("log", "neo/user").stdout
    assert f"Proposed: Changed in rules ({first}, branch from 1): Uses spaces.\n" in log
    assert f"Proposed by neo, approved ({first}): Uses spaces.\n" in log
    assert f"Nothing changed: proposed by neo, rejected ({second}): Fridays stay.\n" in log
    assert f"Proposed by neo, approved ({third}, in other words): Long answers.\n" in log


def test_a_review_says_how_many_wait(place):
    run("review", "--list")
    assert "proposal" not in run("review", "--list").stderr
    propose("tabs", "Uses spaces.")
    said = run("review", "--list").stderr
    assert "1 proposal of agents: 'catmem proposals --interactive' goes through what waits.\n" in said


def test_a_write_that_waits_names_its_proposal_and_what_to_type_and_is_listed(place):
    reason = ("--reason", "The formatter says so.")
    waits = run("replace", "-p", "neo", "--as", "neo", "tabs", "Uses spaces.", *reason)
    name = re.search(r"p-[0-9a-f]{10}", waits.stdout)[0]
    assert waits.stdout.startswith(f"waiting in neo/user as {name}: ")
    assert f"catmem proposals {name}" in waits.stderr
    assert "undo" not in waits.stderr
    assert user_text(place) == USER
    result = proposals()
    moment = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ"
    assert re.fullmatch(
        rf"{name}  neo/user  neo  {moment}\n"
        r"  why: The formatter says so\.\n"
        r"  rules\n"
        r"  - \[verified_date: 2026-11-01\] Uses tabs\.\n"
        r"  \+ \[verified_date: 2026-11-21\] Uses spaces\.\n\n",
        result.stdout,
    )
    assert "catmem proposals --interactive" in result.stderr
    assert proposals("neo").stdout == proposals("neo/user").stdout == result.stdout
    assert proposals("neo/memory").stdout == ""


def test_an_id_that_is_none_is_no_profile(place):
    for name in ("p-zzz", "p-1f0c2a4b6d"):
        error = error_of("proposals", name)
        assert (error["code"], error["message"]) == ("unknown_proposal", f"there is no proposal {name!r}")
    assert error_of("proposals", "zzz")["message"] == "there is no profile 'zzz'"
    put(place / "profiles" / "p-team.yaml", "user_memory_categories: [talk]\n")
    for name in ("p-team", "p-team/user"):
        assert run_json("proposals", name)["proposals"] == []


# --- on a terminal, as a person meets it ---

PROMPT = "y, n REASON, e WORDS, s, a, q or ?: "


@pytest.fixture
def three(place):
    """The root with three proposals."""
    for each in (("tabs", "Uses spaces."), ("Fridays", "Deploys never go out."), ("short", "Prefers long answers.")):
        propose(*each)
    return place


def test_a_round_on_a_terminal(three):
    with terminals(three, "proposals", "--interactive") as opened:
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
    assert "Uses spaces." in user_text(three)
    assert "Deploys go out on Fridays." in user_text(three)
    assert "Prefers no answers." in user_text(three)
    assert b": Fridays are fine." in process("log", "neo/user", cwd=three).stdout


def test_one_that_went_stale_since_is_asked_about_again(three):
    with terminals(three, "proposals", "--interactive") as opened:
        terminal = opened()
        terminal.wait_for(PROMPT)
        process("replace", "-p", "neo", "tabs", "Uses wide tabs.", cwd=three)
        terminal.type("y\n")
        assert "error[stale_proposal]" in terminal.wait_for(PROMPT)
        terminal.type("n\n")
        terminal.wait_for("Reason (Enter for none): ")
        terminal.type("\n")
        assert "2 of 3" in terminal.wait_for(PROMPT)
        terminal.type("\x04")  # the end of the input
        terminal.wait_for("2 proposals left.")
        assert terminal.status() == 1
    assert "Uses wide tabs." in user_text(three)
