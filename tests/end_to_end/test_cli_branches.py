"""``catmem branches`` and ``catmem merge`` on files, and what ``log`` and ``diff`` show of branches."""

import re

import pytest

from tests.end_to_end.terminal import begun, copied, run, run_json
from tests.together import together

ADD = ("add", "-p", "neo", "-c", "rules", "--tag", "created=2026-11-21")
DONE = "was merged or dropped already; 'catmem log neo/user' says when\n"


@pytest.fixture(scope="module")
def branched(tmp_path_factory):
    with begun(tmp_path_factory, "on_stale: branch\n") as folder:
        run(*ADD, "Vendor is Acme.")
        run("replace", "-p", "neo", "15th", "Invoices are due on the 20th.", "--expected", "2")
        run(*ADD, "Vendor for print is Ink.", "--expected", "2", "--as", "neo")
        run("replace", "-p", "neo", "15th", "Invoices are due on the 30th.", "--expected", "2", "--as", "boss")
    return folder


@pytest.fixture
def user(branched, tmp_path, monkeypatch):
    """A USER.md of three revisions in branch mode, and two branches: 3a adds, 3b reworded what revision 3 did."""
    return copied(branched, tmp_path, monkeypatch)


def test_a_branch_that_merges_by_itself(user):
    assert run("merge", "neo", "3a").stdout == "merged 3a in neo/user (revision 4)\n"
    assert "Vendor for print is Ink." in user.read_text()
    assert [each["revision"] for each in run_json("branches")["branches"]] == ["3b"]
    again = run("merge", "neo", "3a")
    assert (again.stdout, again.stderr) == ("", f"3a {DONE}Nothing was written.\n")


def test_what_was_dropped_is_dropped_once(user):
    run("merge", "neo", "3b", "--drop")
    assert run("merge", "neo", "3b").stderr == f"3b {DONE}Nothing was written.\n"
    assert run("merge", "neo", "3b", "--drop").stderr == f"3b {DONE}Nothing was written.\n"


def test_a_dry_run_shows_the_text_and_the_conflicts(user):
    before = user.read_bytes()
    result = run("merge", "neo", "--dry-run", status=3)
    assert "+[created: 2026-11-21] Vendor for print is Ink.\n" in result.stdout
    assert "1 conflict to decide" in result.stderr
    assert "Nothing was written. 3a, 3b cannot be merged yet." in result.stderr
    assert "Nothing was written. 3a would be merged." in run("merge", "neo", "3a", "--dry-run").stderr
    assert run_json("merge", "neo", "--dry-run", status=3)["conflicts"][0]["branch"] == "3b"
    assert user.read_bytes() == before


def test_a_dry_run_shows_what_was_decided_and_how(user):
    lines = run("merge", "neo", "--dry-run", "--precedence", "boss,person").stderr.splitlines()
    assert lines == [
        "1 conflict decided:",
        "1. branch 3b in rules: both sides reworded this entry",
        "   base:          [created: 2026-01-02] Invoices are due on the 15th.",
        "   ours (person): [created: 2026-01-02] Invoices are due on the 20th.",
        "   theirs (boss): [created: 2026-01-02] Invoices are due on the 30th.",
        "   taken:         theirs",
        "Nothing was written. 3a, 3b would be merged.",
    ]
    assert "one after the other" not in run("merge", "neo", "3b", "--dry-run", "--precedence", "ours").stderr


def test_answers_may_come_from_a_pipe(user):
    result = run("merge", "neo", "--interactive", input="e Invoices are due at once.\n")
    assert "merged 3a, 3b in neo/user (revision 4)" in result.stdout
    assert result.stderr.endswith("1 conflict decided:\n  branch 3b in rules: both sides reworded this entry: edited\n")
    assert "Invoices are due at once." in user.read_text()


@together(
    ("arguments", "said"),
    [
        (["neo", "--interactive", "--precedence", "theirs"], "--interactive does not go with --precedence"),
        (["neo", "--drop"], "Name the branches that --drop closes."),
        (["neo", "--interactive", "--format", "json"], "--interactive does not go with --format json"),
        (["neo", "--precedence", ","], "--precedence needs ours, theirs or both"),
        (["neo", "--precedence", "bos"], "Did you mean 'boss'?"),
        (["neo", "3"], "3 is no branch of neo/user"),
        (["neo", "9z"], "neo/user has no revision 9z"),
        (["neo", "--as", "neo"], "neo may not merge branches"),
        *(
            (slip, "Usage")
            for slip in ([], ["neo", "--all"], ["--all", "--drop"], ["--all", "-i"], ["--all", "--precedence", ","])
        ),
    ],
)
def test_wrong_input(user, arguments, said):
    before = user.read_bytes()
    assert said in run("merge", *arguments, status=2).stderr
    assert user.read_bytes() == before


def test_log_says_what_a_branch_comes_from(user):
    assert run_json("log", "neo/user")["unrecorded"] is None
    assert run_json("diff", "neo")["to"] == "3"
    run("merge", "neo", "3a")
    last = [line.rsplit("  ", 1)[1].partition(":")[0] for line in run("log", "neo").stdout.splitlines()]
    assert last[:3] == ["Merged 3a", "Changed in rules (branch from 2)", "Added to rules (branch from 2)"]


# --- all branches of a root ----------------------------------------------------------------------------------------


@pytest.fixture
def users(user):
    """The same, and two branches of another file that merge by themselves."""
    run("add", "-p", "boss", "-c", "pay", "The pay is fair.")
    for words in ("It comes late.", "It comes in full."):
        run("add", "-p", "boss", "-c", "pay", words, "--expected", "0")
    return user


def test_all_are_merged_where_somebody_says_who_wins(users):
    assert run("merge", "--all", "--precedence", "theirs").stdout.splitlines() == [
        "merged 1a, 1b in boss/user (revision 2)",
        "merged 3a, 3b in neo/user (revision 4)",
    ]
    assert "the 30th" in users.read_text()
    again = run("merge", "--all")
    assert (again.stdout, again.stderr) == ("", "No branch is left to merge.\n")


def test_a_dry_run_of_all_writes_nothing_and_says_the_same(users):
    before = run("log", "neo").stdout + run("log", "boss").stdout
    tried = run_json("merge", "--all", "--dry-run", status=3)
    assert run("log", "neo").stdout + run("log", "boss").stdout == before
    done = run_json("merge", "--all", status=3)
    assert [tried.pop("dry_run"), done.pop("dry_run")] == [True, False]
    assert list(done) == ["merged", "left", "unreadable"]
    assert [each["merged"] for each in tried["merged"]] == [each["merged"] for each in done["merged"]]
    assert tried["left"] == done["left"]
    (left,) = done["left"]
    assert (left["entity"], left["branch"], left["error"]) == ("neo/user", "3b", None)
    assert [found["reason"] for found in left["conflicts"]] == ["body"]
    assert "left 3b in neo/user: 1 conflict\n" in run("merge", "--all", "--dry-run", status=3).stdout


def test_all_that_merges_by_itself_is_merged_and_the_rest_is_left(users):
    result = run("merge", "--all", status=3)
    assert result.stdout.splitlines() == [
        "merged 1a, 1b in boss/user (revision 2)",
        "merged 3a in neo/user (revision 4)",
        "left 3b in neo/user: 1 conflict",
    ]
    assert "1 branch left. 'catmem merge neo/user 3b --interactive' asks who wins" in result.stderr
    assert [(each["entity"], each["revision"]) for each in run_json("branches")["branches"]] == [("neo/user", "3b")]
    assert "Vendor for print is Ink." in users.read_text()
    assert run("merge", "--all", status=3).stdout == "left 3b in neo/user: 1 conflict\n"


def test_branches_lists_what_is_not_merged(user):
    rows = [re.split(r"  +", line) for line in run("branches").stdout.splitlines()]
    assert [(*row[:4], *row[5:]) for row in rows] == [
        ("neo/user", "3b", "from 2", "boss", "put", "1 entry", "1 conflict"),
        ("neo/user", "3a", "from 2", "neo", "put", "1 entry", "merges by itself"),
    ]
    assert {row[4] for row in rows} == {"< 1 h"}
    assert run("branches", "boss").stderr == "No branch is left to merge.\n"
