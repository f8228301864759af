"""``catmem log``, ``diff``, ``restore`` and ``replay``: what was, and the way back to it."""

import re

import pytest

from tests.end_to_end.terminal import USER, begun, copied, run, run_json, snapshot, write_root
from tests.patches import patched
from tests.together import together

ADD = ("add", "-p", "neo", "-c", "rules", "--tag", "created=2026-11-21")
EDITED = "§\nWritten by an editor.\n"


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    with begun(tmp_path_factory) as folder:
        run(*ADD, "Vendor is Acme.")
        run(*ADD, "--as", "neo", "Vendor is Beta.")
    return folder


@pytest.fixture
def user(grown, tmp_path, monkeypatch):
    """A USER.md with three revisions: as it was found, with Acme, with Acme and Beta."""
    return copied(grown, tmp_path, monkeypatch)


def rows(*arguments):
    """The lines of a log, without the times."""
    said = run("log", *arguments).stdout
    stamped = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ")
    return [stamped.sub("TIME", line).split() for line in said.splitlines()]


def test_a_history_whose_end_is_lost_is_told_and_its_file_is_read(user):
    (segment,) = (user.parent / ".catmem" / "journal").iterdir()
    segment.write_bytes(segment.read_bytes()[:-60])
    for command in ("log neo", "log", "log neo --entry Beta", "blame neo/user", "undo neo"):
        refused = run(*command.split(), status=4)
        assert "gone from the end of the journal" in refused.stderr, command
        assert refused.stdout == ""
    assert "gone from the end of the journal" in run("status", status=None).stderr
    assert "Vendor is Beta." in run("list", "-p", "neo").stdout
    assert "Vendor is Beta." in run("prompt", "neo").stdout


# --- log -----------------------------------------------------------------------------------------------------------


def test_log_newest_first(user):
    first, more = len(USER.encode()), len("§\n[created: 2026-11-21] Vendor is Acme.\n".encode())
    beta, acme = (["Added", "to", "rules:", "Vendor", "is", name] for name in ("Beta.", "Acme."))
    assert (
        rows("neo/user")
        == rows("neo")
        == [
            ["3", "TIME", "neo", "put", f"{first + 2 * more}", "bytes", *beta],
            ["2", "TIME", "person", "put", f"{first + more}", "bytes", *acme],
            ["1", "TIME", "external", "adopt", f"{first}", "bytes", "Taken", "over", "from", "outside"],
        ]
    )
    assert rows("neo", "-n", "1") == rows("neo")[:1]


def test_log_without_an_entity_has_the_newest_revision_of_each_file(user):
    run("add", "-p", "boss", "-c", "rules", "Vendor is Gamma.")
    user.write_text(user.read_text() + EDITED)
    said = run("log").stdout
    assert said.startswith("boss/user\n")  # the file with the newest revision
    assert rows() == [["boss/user"], *rows("boss/user", "-n", "1"), [], ["neo/user"], *rows("neo/user", "-n", "1")]
    assert rows("-n", "2")[-3:] == rows("neo/user", "-n", "2")
    assert [each["entity"] for each in run_json("log")["files"]] == ["boss/user", "neo/user"]
    assert "goes with ENTITY" in run("log", "--entry", "Acme", status=2).stderr


def test_log_of_a_root_without_a_history(tmp_path):
    write_root(tmp_path)
    (tmp_path / "homes" / "neo" / "USER.md").unlink()
    assert "No revision of any file is recorded yet." in run("log", "--root", tmp_path).stderr
    assert "error[no_root]" in run("log", "--root", tmp_path / "homes", status=2).stderr


def test_log_says_what_was_done(user):
    run("remove", "-p", "neo", "Beta")
    run("verify", "-p", "neo", "15th")
    run("restore", "neo", "2")
    assert [" ".join(row[6:]) for row in rows("neo")[:3]] == [
        "Revision 2 restored",
        "Verified in rules: Invoices are due on the 15th.",
        "Removed from rules: Vendor is Beta.",
    ]


def test_log_shows_a_change_by_other_means_on_top(user):
    user.write_text(user.read_text() + EDITED)
    assert rows("neo")[0][:4] == ["-", "(not", "recorded", "yet)"]
    assert len(rows("neo")) == 4
    run(*ADD, "Vendor is Gamma.")
    assert [row[3] for row in rows("neo")] == ["put", "adopt", "put", "put", "adopt"]


def test_log_of_a_file_that_cannot_be_read_shows_its_history_all_the_same(user):
    user.unlink()
    user.mkdir()
    result = run("log", "neo")
    assert len(result.stdout.splitlines()) == 3
    assert result.stderr.startswith("warning: what the file holds now cannot be read: ")


# --- diff ----------------------------------------------------------------------------------------------------------


def test_diff_with_what_is_there_now_and_without_revisions_with_what_changed_last(user):
    result = run("diff", "neo", "1")
    assert "+++ b/neo/user\tnow\n" in result.stdout
    assert patched(USER, result.stdout) == user.read_text()
    assert run("diff", "neo").stdout == run("diff", "neo", "2", "3").stdout
    for revisions in (("2", "2"), ("3",)):
        same = run("diff", "neo", *revisions)
        assert same.stdout == ""
        assert same.stderr.startswith("No difference in neo/user between revision ")
    user.write_text(user.read_text() + EDITED)
    result = run("diff", "neo")
    assert result.stdout == run("diff", "neo", "3").stdout
    assert "+Written by an editor.\n" in result.stdout


def test_diff_of_bytes_that_are_no_text(user):
    user.write_bytes(b"\xff\x1b[31m\n")
    assert "+\\xff\\x1b[31m\n" in run("diff", "neo").stdout


def test_diff_for_git_prints_the_file_by_entries(user):
    printed = run("diff", "--git", user)
    assert (printed.stderr, printed.stdout.count("## ")) == ("", user.read_text().count("## "))
    assert "Written by an editor." not in printed.stdout
    user.write_text(user.read_text() + EDITED)
    assert "Written by an editor." in run("diff", "--git", user).stdout
    user.write_bytes(b"\xff")
    assert run("diff", "--git", user).stdout.startswith("(")


# --- restore -------------------------------------------------------------------------------------------------------


def test_restore_of_what_is_there_writes_nothing(user):
    before = user.stat().st_mtime_ns
    assert run("restore", "neo", "3").stdout.endswith("nothing written\n")
    assert user.stat().st_mtime_ns == before
    assert len(rows("neo")) == 3


# --- names, usage, and the real command ----------------------------------------------------------------------------


@together("arguments", [("log", "neo"), ("diff", "neo", "1", "3")])
def test_looking_at_the_history_writes_nothing(user, arguments):
    user.write_text(USER + EDITED)
    before = snapshot(user.parents[2])
    run(*arguments)
    assert snapshot(user.parents[2]) == before


def test_replay_rebuilds_every_revision_and_writes_nothing(user):
    run("add", "-p", "boss", "-t", "memory", "-c", "rules", "New.")
    before = snapshot(user.parents[2])
    result = run("log", "--verify")
    assert result.stderr == "4 revisions and 2 heads rebuilt, byte for byte what the store recorded\n"
    assert set(result.stdout.splitlines()) == {"boss/memory at revision 1", "neo/user at revision 3"}
    assert snapshot(user.parents[2]) == before
