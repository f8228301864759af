"""``catmem add``, ``replace``, ``remove``, ``move`` and ``verify``: what they say, and what is in the file afterwards."""

import os
import re
import shlex

import pytest

from catmem.clock import today
from catmem.text import MAX_FILE_BYTES
from tests.days import stand_still
from tests.end_to_end.terminal import USER, error_of, process, run, run_json, write_root
from tests.patches import patched
from tests.together import together

DAY = today()
TODAY = DAY.isoformat()
VERBS = {
    "add": ("add", "-p", "neo", "-c", "rules", "Vendor is Acme."),
    "replace": ("replace", "-p", "neo", "15th", "Invoices are due on the 20th."),
    "remove": ("remove", "-p", "neo", "15th"),
    "move": ("move", "-p", "neo", "15th", "-c", "talk"),
    "verify": ("verify", "-p", "neo", "15th"),
}


@pytest.fixture(autouse=True)
def standing_day(monkeypatch):
    """The day of the constants, however late it is when a long run comes here."""
    stand_still(monkeypatch, DAY)


def changed(old, new):
    """The text of the root's USER.md with one piece replaced by another."""
    assert USER.count(old) == 1
    return USER.replace(old, new)


# --- what each does ------------------------------------------------------------------------------------------------


def test_a_tag_that_is_nearly_a_known_one_is_refused_by_its_right_name(user):
    result = run(*VERBS["add"], "--tag", "verifed_date=2026-01-13", status=2)
    assert "Call it verified_date, or declare verifed_date" in result.stderr
    assert user.read_text() == USER


def test_a_tag_that_is_nearly_a_known_one_is_told_and_written(user):
    result = run(*VERBS["add"], "--tag", "domian=finance")
    assert result.stderr.count("the tag domian is not declared and has no effect; domain may be meant") == 1
    assert "domian: finance" in user.read_text()


def test_the_size_is_told_where_there_is_a_limit(tmp_path):
    write_root(tmp_path, "limits: {user: 1375}\n")
    said = run(*VERBS["add"], "--root", tmp_path).stdout
    size = len((tmp_path / "homes" / "neo" / "USER.md").read_text().rstrip())
    assert said == f"added to rules in neo/user (revision 2), {size} of 1,375 characters\n"


@together(
    ("arguments", "why"),
    [
        (("add", "-p", "neo", "-c", "talk", "Never before ten."), "is already in talk of neo/user"),
        (("replace", "-p", "neo", "ten", "Never before ten."), "already says that"),
        (("move", "-p", "neo", "ten", "-c", "talk"), "is already in talk"),
        (("verify", "-p", "neo", "short", "--as-of", "2026-05-01"), "is verified as of 2026-05-01 already"),
    ],
)
def test_nothing_to_do(user, arguments, why):
    mtime = user.stat().st_mtime_ns
    result = run(*arguments)
    assert why in result.stdout
    assert result.stdout.endswith("; nothing written\n")
    assert (user.read_text(), user.stat().st_mtime_ns) == (USER, mtime)
    assert run_json(*arguments)["changed"] is False


# --- standard input ------------------------------------------------------------------------------------------------


def test_each_text_may_come_from_standard_input(user):
    run("add", "-p", "neo", "-c", "rules", "-", input="Vendor is Acme.\r\n")
    assert f"[created: {TODAY}] Vendor is Acme.\n" in user.read_text()
    run("replace", "-p", "neo", "-", "Due on the 20th.", input="15th\n")
    run("replace", "-p", "neo", "20th", "-", input="Due on the 30th.\n")
    assert "[created: 2026-01-02] Due on the 30th.\n" in user.read_text()
    run("move", "-p", "neo", "-", "-c", "talk", input="30th\n")
    run("verify", "-p", "neo", "-", input="30th\n")
    run("remove", "-p", "neo", "-", input="30th\n")
    assert "Due on" not in user.read_text()


@pytest.mark.parametrize("words", ["it's 'Zk39'", "a code Zk39\nin two lines", f"Zk39 {'x' * 400}"])
@pytest.mark.parametrize(
    "command", ["remove -", "replace - Other.", "verify -", "move - -c talk", "remove - -t user", "purge - --yes"]
)
def test_a_refusal_says_nothing_of_what_came_by_standard_input(user, command, words):
    verb, *rest = command.split()

    def said(*more, **how):
        return run(verb, "-p", "neo", *rest, *more, input=f"{words}\n", status=2, **how).output

    found = said()
    for end in ("first", "second"):
        run("add", "-p", "neo", "-c", "rules", "-", input=f"The code is {words}, {end}.")
    found += said() + said("--format", "json")
    run("add", "-p", "neo", "-t", "memory", "-c", "rules", "-", input=f"The code is {words}.")
    found += said() + run("audit").output
    assert "Zk39" not in found
    assert "error[no_match]: " in found
    assert '"code": "ambiguous"' in found


@pytest.mark.parametrize("command", ["remove -", "replace - Other.", "verify -", "move - -c talk"])
def test_a_refusal_quotes_no_entry_that_has_a_word_of_standard_input(user, command):
    verb, *rest = command.split()
    run("add", "-p", "neo", "-c", "rules", "The code is Zk39 for the east door.")
    found = run(verb, "-p", "neo", *rest, input="code\nis zk39 for", status=2).output
    user.write_text(user.read_text().replace("east", "EAST"))
    for how in ((), ("--format", "json")):
        found += run(verb, "-p", "neo", *rest, *how, input="The code is Zk39", status=3).output
    assert "Zk39" not in found
    assert "The nearest: '***'" in found
    assert '"code": "drift"' in found


@together(
    ("data", "code"),
    [(b"\xff", "not_utf8"), (b"x" * (MAX_FILE_BYTES + 1), "too_large"), (b"", "empty"), (b"\n \n", "empty")],
    ids=["not UTF-8", "over the cap", "nothing", "blank"],
)
def test_standard_input_that_is_no_text(user, data, code):
    assert error_of("add", "-p", "neo", "-c", "rules", "-", input=data)["code"] == code
    assert user.read_text() == USER


# --- JSON ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("actor", "told", "choice"), [("neo", False, ()), ("boss", True, ("--dry-run",))])
def test_a_bounded_profile_is_told_no_digest_of_the_file(user, actor, told, choice):
    digest = run_json("list", "-p", "neo")["files"]["user"]["digest"]
    choices = ("--as", actor, *choice)
    assert (run_json(*VERBS["add"], *choices)["digest"] is not None) is told
    run(*VERBS["replace"])
    refused = error_of(*VERBS["add"], *choices, "--expected", digest, status=3)
    assert ("sha256:" in f"{refused}") is told
    refused = error_of(*VERBS["add"], *choices, "--expected", "1", status=3)
    assert refused["expected"] == "1"
    assert "sha256:" not in f"{refused}"


def test_a_person_is_told_of_a_heading_that_has_no_entry_any_more_and_how_it_goes(user):
    user.write_text("## Talk\nShort.\n\n## Pay\nOne.\n§\nTwo.\n\n## Rules\nOne rule.\n")
    said = "has no entry any more, and its heading stays"
    assert said not in run("remove", "-p", "neo", "One.").stderr
    assert said not in run("remove", "-p", "neo", "One rule.", "--as", "boss").stderr
    told = run("move", "-p", "neo", "Short", "-c", "pay").stderr
    assert f"talk {said}: " in told
    run(*shlex.split(re.search("'catmem (lint .*?)'", told)[1]))
    assert user.read_text().rstrip() == "## Pay\nTwo.\n§\nShort."
    run("remove", "-p", "neo", "Two.")
    assert run("remove", "-p", "neo", "Short.").stderr.startswith(f"pay {said}\n")


# --- dry runs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["replace", "move"])
def test_a_dry_run_prints_the_diff_of_what_would_be(user, verb):
    result = run(*VERBS[verb], "--dry-run")
    assert result.stdout.startswith("--- a/neo/user\n+++ b/neo/user\n@@ ")
    assert "Nothing was written. neo/user would have " in result.stderr
    would_be = patched(USER, result.stdout)
    run(*VERBS[verb])
    assert user.read_text() == would_be


def test_a_dry_run_of_a_profile_shows_no_entry_but_its_own(user):
    result = run(*VERBS["add"], "--as", "neo", "--dry-run")
    assert result.stdout == f"would be added to rules in neo/user:\n  [created: {TODAY}] Vendor is Acme.\n"
    assert "secret" not in result.output


# --- refusals ------------------------------------------------------------------------------------------------------


@together(
    ("arguments", "code", "hint"),
    [
        (("remove", "-p", "neo", "due on the 16th"), "no_match", "The nearest: 'Invoices are due on the 15th.'"),
        (("remove", "-p", "neo", ""), "empty", "Give a piece"),
        (("remove", "-p", "ned", "15th"), "unknown_name", "Did you mean 'neo'?"),
        (("remove", "-p", "neo", "--as", "bos", "15th"), "unknown_name", "Did you mean 'boss'?"),
        (("add", "-p", "neo", "New."), "no_category", "Name one of talk, rules."),
        (("add", "-p", "neo", "-c", "rulez", "New."), "unknown_category", "Did you mean 'rules'?"),
        (("add", "-p", "neo", "-c", "rules", "--tag", "verified_date=soon", "New."), "bad_tag", "Give a value"),
        (("verify", "-p", "neo", "--as-of", "2999-01-01", "15th"), "bad_date", "Today is "),
        (("add", "-p", "neo", "--as", "neo", "-c", "talk", "New."), "forbidden", "It may write to rules."),
        (("verify", "-p", "neo", "--as", "neo", "15th"), "forbidden", "may_verify"),
    ],
)
def test_what_cannot_be_done_is_told_with_a_way_out(user, arguments, code, hint):
    said = error_of(*arguments)
    assert said["code"] == code
    assert hint in said["hint"]
    assert f"error[{code}]: " in run(*arguments, status=2).stderr
    assert user.read_text() == USER


def test_several_entries_that_are_meant_are_listed(user):
    result = run("remove", "-p", "neo", "e", status=2)
    lines = result.stderr.splitlines()
    assert lines[0].startswith("error[ambiguous]: 4 entries of neo/user hold 'e': line 2 (talk), line 4 (talk), ")
    ids = [place["id"] for place in error_of("remove", "-p", "neo", "e")["places"]]
    assert lines[1:3] == [f"  1. {ids[0]}  Prefers short answers.", f"  2. {ids[1]}  Never before ten."]
    run("remove", "-p", "neo", ids[1])
    assert lines[-1] == "  Give a longer piece of the text, the category, or the id of the entry."


def test_a_change_by_other_means_is_kept_and_told(user):
    run(*VERBS["add"])
    text = user.read_text() + "§\nWritten by an editor.\n"
    user.write_text(text)
    result = run(*VERBS["remove"], "--expected", "2", status=3)
    (copy,) = user.parent.glob("*.bak.*")
    assert f"; a copy of what was found is kept as {copy.name}\n" in result.stderr
    shown = f"  'catmem merge {os.path.relpath(copy)}' shows what the file lacks of this copy\n"
    assert shown in result.stderr
    assert user.read_text() == text
    assert [copy.read_text() for copy in user.parent.glob("*.bak.*")] == [text]


# --- usage ---------------------------------------------------------------------------------------------------------


@together(
    ("arguments", "said"),
    [
        (("replace", "-p", "neo", "15th"), "Give the new words, or tags with --tag, or both."),
        (("replace", "-p", "neo", "-", "-"), "standard input holds one text"),
        (("add", "-p", "neo", "New.", "--tag", "owner"), "'owner' is not of the form KEY=VALUE"),
        (("add", "-p", "neo", "New.", "--tag", "=Ann"), "'=Ann' is not of the form KEY=VALUE"),
        (("add", "-p", "neo", "New.", "--tag", "owner="), "a new entry has none yet"),
        (("add", "-p", "neo", "New.", "--tag", "owner=a", "--tag", "owner=b"), "'owner' is given twice"),
        (("add", "-p", "neo", "New.", "--tag", "domain=[a, b"), "'[a, b' is not a list"),
        (("add", "-p", "neo", "New.", "--tag", "domain=[]"), "'[]' is not a list"),
    ],
)
def test_wrong_usage(user, arguments, said):
    result = run(*arguments, status=2, input="x")
    assert result.stdout == ""
    assert said in result.stderr
    assert user.read_text() == USER


TEXTS_LIKE_OPTIONS = [
    ("add", "-p", "neo", "-c", "rules", "-5 degrees"),
    ("add", "-p", "neo", "-c", "rules", "--tags are useful"),
    ("replace", "-p", "neo", "15th", "- one\n- two"),
    ("remove", "-p", "neo", "-> this"),
    ("purge", "neo", "-> this"),
]


@together("arguments", TEXTS_LIKE_OPTIONS)
def test_a_text_that_was_taken_for_an_option(user, arguments):
    said = run(*arguments, status=2).stderr
    assert "No such option" in said
    assert "A text that begins with - goes behind --, after the options." in said
    assert "behind --" not in run("list", "-p", "neo", "--bogus", status=2).stderr  # it takes no text
    assert user.read_text() == USER


# --- as a process --------------------------------------------------------------------------------------------------


def test_the_real_command_writes_and_says_so_in_utf8(user):
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    found = process(
        "add", "-p", "neo", "-c", "rules", "-", cwd=user.parent, input="Grüße, 日本語\n".encode(), env=environment
    )
    assert found.stdout == b"added to rules in neo/user (revision 2)\n"
    assert f"[created: {TODAY}] Grüße, 日本語\n" in user.read_text(encoding="utf-8")


def test_over_the_limit_is_status_1_and_says_what_could_go(tmp_path):
    write_root(tmp_path, f"limits: {{user: {len(USER)}}}\n")
    arguments = (*VERBS["add"], "--root", tmp_path)
    lines = [line.split() for line in run(*arguments, status=1).stderr.splitlines()]
    assert lines[0][0] == "error[over_budget]:"
    assert lines[2] == ["state", "date", "characters", "category", "entry"]
    assert ["stale", "2026-01-02", "51", "rules", "Invoices", "are", "due", "on", "the", "15th."] in lines
    assert len(lines) == 8
