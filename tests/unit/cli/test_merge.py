"""Branches and conflicts of a merge as a person sees them."""

from datetime import UTC, datetime

from catmem.cli.texts import history
from tests.end_to_end.terminal import run, snapshot, write_root
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
    assert history._age(timestamp, NOW) == age
