"""``catmem branches``, ``merge`` and ``merge-driver``, and what ``log`` and ``diff`` show of branches."""

import json
import re
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from catmem.cli.main import group
from catmem.cli.store_texts import _age
from catmem.ops import branches as git
from catmem.seeding.seed_lock import read_lock
from tests.end_to_end.terminal import begun, copied, run, run_json, snapshot, write_root
from tests.golden.case import put
from tests.together import together


def make_conflict(folder, monkeypatch, here, there):
    """A root in which two writes on revision 2 of neo/user disagree; each is the arguments of a command."""
    monkeypatch.chdir(folder)
    write_root(folder, "on_stale: branch\n")
    run("add", "-p", "neo", "-c", "rules", "--tag", "created=2026-11-21", "Vendor is Acme.")
    for arguments in (here, there):
        run(*arguments, "-p", "neo", "--expected", "2")


def test_a_side_that_removed_it_is_not_there(tmp_path, monkeypatch):
    make_conflict(tmp_path, monkeypatch, ["remove", "Acme"], ["replace", "Acme", "Vendor is Bolt."])
    lines = run("merge", "neo", status=3).stderr.splitlines()
    assert lines[1:5] == [
        "  1. branch 3a in rules: one side changed this entry and the other removed it",
        "     base:            [created: 2026-11-21] Vendor is Acme.",
        "     ours (person):   (not there)",
        "     theirs (person): [created: 2026-11-21] Vendor is Bolt.",
    ]


def test_lines_stand_below_each_other_and_escapes_are_written_out(tmp_path, monkeypatch):
    there = ["replace", "Acme", "Vendor is Acme.\nOh\x1b[2J."]
    make_conflict(tmp_path, monkeypatch, ["replace", "Acme", "Vendor is Core."], there)
    said = run("merge", "neo", "--interactive", input="q\n", status=3)
    assert said.stdout.splitlines()[-3:] == [
        "   theirs (person): [created: 2026-11-21]",
        "                    Vendor is Acme.",
        "                    Oh\\x1b[2J.",
    ]
    assert said.stderr == "Nothing was written.\n"


def test_a_bad_answer_from_a_pipe_is_named_with_its_line_and_nothing_is_written(tmp_path, monkeypatch):
    make_conflict(tmp_path, monkeypatch, ["replace", "Acme", "Vendor is Core."], ["replace", "Acme", "Vendor is Bolt."])
    files = snapshot(tmp_path)
    for answers in ("z\n", "\n?\ne\n", "o now\n"):
        said = run("merge", "neo", "-i", input=answers, status=2)
        bad = answers.splitlines()[-1]
        where = f"error[bad_answer]: standard input:{answers.count(chr(10))}: {bad!r} is no answer\n"
        assert said.stderr.endswith(f"{where}  An answer is one of o, t, b, e WORDS, q or ?. Nothing was written.\n")
        assert ("ours: what the file says" in said.stderr) == ("?\n" in answers)
        assert snapshot(tmp_path) == files
    run("merge", "neo", "-i", input="t\n")
    assert "Vendor is Bolt." in run("list", "-p", "neo").stdout


NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


@together(
    ("timestamp", "age"),
    [
        ("2026-11-21T11:59:59.000000Z", "< 1 h"),
        ("2026-11-21T12:30:00.000000Z", "< 1 h"),  # by another clock
        ("2026-11-21T11:00:00.000000Z", "1 h"),
        ("2026-11-20T12:00:01.000000Z", "23 h"),
        ("2026-11-20T12:00:00.000000Z", "1 d"),
        ("2025-11-21T12:00:00.000000Z", "365 d"),
    ],
)
def test_how_old_a_branch_is_said_to_be(timestamp, age):
    assert _age(timestamp, NOW) == age


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
    for again in ([], ["--drop"]):
        assert run("merge", "neo", "3b", *again).stderr == f"3b {DONE}Nothing was written.\n"


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
        (["neo", "--precedence", "their"], "Did you mean 'theirs'?"),
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


# --- the driver of merges for git ---

BASE = "## Finance\nAcme is the vendor for cloud billing.\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def drive(*arguments):
    """The driver called as git calls it; ``tests/interplay/test_git.py`` has git itself."""
    return CliRunner().invoke(group, ["merge-driver", *arguments])


def sides(folder, base, ours, theirs):
    for name, text in (("o", base), ("a", ours), ("b", theirs)):
        put(folder / name, text)
    return "o", "a", "b"


@pytest.mark.parametrize("swapped", [False, True])
def test_headings_without_entries_that_each_side_added_are_all_there(folder, swapped):
    texts = [f"{BASE}\n## Ours\n", f"{BASE}\n## Theirs\n\n## More\n"]
    names = sides(folder, BASE, *(reversed(texts) if swapped else texts))
    assert drive(*names, "USER.md").exit_code == 0
    lines = (folder / "a").read_text().splitlines()
    assert sorted(line for line in lines if line.startswith("##")) == ["## Finance", "## More", "## Ours", "## Theirs"]


def test_in_a_fence_that_is_not_closed_no_heading_is_added(folder):
    drive(*sides(folder, BASE, f"{BASE}§\n```\nopen\n", f"{BASE}\n## Theirs\n"), "USER.md")
    assert "```\nopen\n" in (folder / "a").read_text()


def test_entries_that_the_sides_put_under_different_headings_say_which(folder):
    names = sides(folder, BASE, BASE.replace("Finance", "Money"), BASE.replace("Finance", "Payments"))
    assert drive(*names, "USER.md").exit_code == 1
    text = (folder / "a").read_text()
    assert "<<<<<<< ours: money\nAcme" in text
    assert ">>>>>>> theirs: payments" in text


def test_the_merge_goes_into_our_file_also_by_a_path_that_looks_like_an_option(folder):
    names = sides(folder, BASE, f"{BASE}§\nOurs.\n", f"{BASE}§\nTheirs.\n")
    result = drive(*names, "--help/USER.md")
    assert (result.exit_code, result.output) == (0, "")
    assert (folder / "a").read_text().count("§") == 2
    assert (folder / "o").read_text() == BASE


def test_a_fault_of_its_own_leaves_both_sides(folder, monkeypatch):
    names = sides(folder, BASE, BASE.replace("Acme", "Bolt"), BASE.replace("Acme", "Core"))
    monkeypatch.setattr(git, "_root", lambda *_: 1 / 0)
    result = drive(*names, "USER.md")
    assert isinstance(result.exception, ZeroDivisionError)
    assert "<<<<<<< ours\nBolt" in (folder / "a").read_text()


def test_a_result_that_cannot_be_written_stops_git(folder, monkeypatch):
    names = sides(folder, BASE, BASE, f"{BASE}§\nTheirs.\n")
    (folder / "a").rename(folder / "real")
    (folder / "a").symlink_to("real")

    def merged(*_):
        (folder / "a").unlink()
        (folder / "a").mkdir()
        return "text", ()

    monkeypatch.setattr(git, "_merged", merged)
    result = drive(*names, "USER.md")
    assert (result.exit_code, "not_writable" in result.stderr) == (129, True)


def test_in_the_record_of_seeds_an_alias_is_the_category_that_it_stands_for(folder):
    put(folder / "catmem.yaml", "taxonomy: {categories: {finance: {aliases: [money]}}}\n")

    def lock(category, *entries):
        texts = {f"b2:{text.encode().hex():0>32}": text for text in entries}
        made = {"revision": "1", "digest": "sha256:00", "date": "2026-05-01", "entries": {category: [*texts]}}
        return json.dumps({"version": 1, "seeds": {"neo/user": {"trinity/user": made}}, "texts": texts})

    names = sides(folder, lock("money", "one"), lock("money", "one", "two"), lock("finance", "one", "two", "three"))
    assert drive(*names, "catmem.seed.lock").exit_code == 0
    (record,) = read_lock((folder / "a").read_bytes()).records.values()
    assert [(each.category, each.text) for each in record.entries] == [("finance", "one"), ("finance", "two")]
