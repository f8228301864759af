"""``catmem log``, ``diff``, ``restore`` and ``replay``: what was, and the way back to it."""

from __future__ import annotations

import hashlib
import re

import pytest

from tests.end_to_end.terminal import USER, error_of, process, run, run_json, snapshot, write_root
from tests.patches import patched

ADD = ("add", "-p", "neo", "-c", "rules", "--tag", "created=2026-11-21")
REVISION_FIELDS = [
    "entity", "revision", "parents", "sequence", "timestamp", "op", "agent", "op_id", "digest", "size", "note",
]  # fmt: skip
EDITED = "§\nWritten by an editor.\n"


@pytest.fixture
def user(tmp_path, monkeypatch):
    """A USER.md with three revisions: as it was found, with Acme, with Acme and Beta."""
    monkeypatch.chdir(tmp_path)
    path = write_root(tmp_path)
    run(*ADD, "Vendor is Acme.")
    run(*ADD, "--as", "neo", "Vendor is Beta.")
    return path


def digest_of(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def rows(*arguments):
    """The lines of a log, without the times."""
    said = run("log", *arguments).stdout
    stamped = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ")
    return [stamped.sub("TIME", line).split() for line in said.splitlines()]


# --- log -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entity", ["neo", "neo/user"])
def test_log_newest_first(user, entity):
    first, more = len(USER.encode()), len("§\n[created: 2026-11-21] Vendor is Acme.\n".encode())
    beta, acme = (["Added", "to", "rules:", "Vendor", "is", name] for name in ("Beta.", "Acme."))
    assert rows(entity) == [
        ["3", "TIME", "neo", "put", f"{first + 2 * more}", "bytes", f"+{more}", *beta],
        ["2", "TIME", "person", "put", f"{first + more}", "bytes", f"+{more}", *acme],
        ["1", "TIME", "external", "adopt", f"{first}", "bytes", f"+{first}", "Taken", "over", "from", "outside"],
    ]


def test_log_of_the_newest_alone_still_tells_the_change_of_size(user):
    assert rows("neo", "-n", "1") == rows("neo")[:1]


def test_log_says_what_was_done(user):
    run("remove", "-p", "neo", "Beta")
    run("verify", "-p", "neo", "15th")
    run("restore", "neo", "2")
    assert [" ".join(row[7:]) for row in rows("neo")[:3]] == [
        "Revision 2 restored",
        "Verified in rules: Invoices are due on the 15th.",
        "Removed from rules: Vendor is Beta.",
    ]


def test_log_shows_a_change_by_other_means_on_top(user):
    user.write_text(user.read_text() + EDITED)
    assert rows("neo")[0][:4] == ["-", "(not", "recorded", "yet)"]
    assert f"+{len(EDITED.encode())}" in rows("neo")[0]
    assert len(rows("neo")) == 4
    run(*ADD, "Vendor is Gamma.")
    assert [row[3] for row in rows("neo")] == ["put", "adopt", "put", "put", "adopt"]


def test_log_of_a_file_that_no_write_has_recorded(user):
    (user.parent / "MEMORY.md").write_text("A note.\n")
    (row,) = rows("neo/memory")
    assert row[1:4] == ["(not", "recorded", "yet)"]
    assert " ".join(row).endswith("no history yet: the first write begins it")
    assert run_json("log", "neo/memory")["unrecorded"]["size"] == len("A note.\n")


def test_log_of_nothing(user):
    result = run("log", "boss")
    assert (result.stdout, result.stderr) == ("", "No revision of boss/user is recorded yet.\n")


def test_log_of_a_file_that_cannot_be_read_shows_its_history_all_the_same(user):
    user.unlink()
    user.mkdir()
    result = run("log", "neo")
    assert len(result.stdout.splitlines()) == 3
    assert result.stderr.startswith("warning: what the file holds now cannot be read: ")


def test_log_as_json(user):
    user.write_text(EDITED)
    said = run_json("log", "neo/user", "-n", "2")
    assert list(said) == ["entity", "unrecorded", "revisions"]
    assert said["entity"] == "neo/user"
    assert said["unrecorded"] == {"digest": digest_of(EDITED.encode()), "size": len(EDITED.encode())}
    assert [list(revision) for revision in said["revisions"]] == [REVISION_FIELDS] * 2
    assert [revision["revision"] for revision in said["revisions"]] == ["3", "2"]
    assert run_json("log", "boss/user") == {"entity": "boss/user", "unrecorded": None, "revisions": []}


# --- diff ----------------------------------------------------------------------------------------------------------


def test_diff_of_two_revisions(user):
    result = run("diff", "neo", "1", "2")
    assert result.stdout.startswith("--- a/neo/user\trevision 1\n+++ b/neo/user\trevision 2\n@@ ")
    assert patched(USER, result.stdout) == user.read_text().replace("§\n[created: 2026-11-21] Vendor is Beta.\n", "")


def test_diff_with_what_is_there_now(user):
    result = run("diff", "neo", "1")
    assert "+++ b/neo/user\tnow\n" in result.stdout
    assert patched(USER, result.stdout) == user.read_text()


def test_diff_without_revisions_is_what_changed_last(user):
    assert run("diff", "neo").stdout == run("diff", "neo", "2", "3").stdout
    user.write_text(user.read_text() + EDITED)
    result = run("diff", "neo")
    assert result.stdout == run("diff", "neo", "3").stdout
    assert "+Written by an editor.\n" in result.stdout


def test_diff_of_a_file_that_no_write_has_recorded(user):
    (user.parent / "MEMORY.md").write_text("A note.\n")
    result = run("diff", "neo/memory")
    assert result.stdout == "--- a/neo/memory\trevision 0\n+++ b/neo/memory\tnow\n@@ -0,0 +1 @@\n+A note.\n"


def test_diff_of_the_first_revision(user):
    run("add", "-p", "boss", "-c", "rules", "--tag", "created=2026-11-21", "New.")
    assert run("diff", "boss").stdout.endswith("+## Rules\n+[created: 2026-11-21] New.\n")


@pytest.mark.parametrize("revisions", [("2", "2"), ("3",)])
def test_diff_without_a_difference(user, revisions):
    result = run("diff", "neo", *revisions)
    assert result.stdout == ""
    assert result.stderr.startswith("No difference in neo/user between revision ")


def test_diff_of_bytes_that_are_no_text(user):
    user.write_bytes(b"\xff\x1b[31m\n")
    assert "+\\xff\\x1b[31m\n" in run("diff", "neo").stdout


def test_diff_as_json(user):
    said = run_json("diff", "neo", "1")
    assert list(said) == ["entity", "from", "to", "changed", "diff"]
    assert said == {
        "entity": "neo/user",
        "from": "1",
        "to": None,
        "changed": True,
        "diff": run("diff", "neo", "1").stdout,
    }
    assert run_json("diff", "neo", "2", "2")["changed"] is False


# --- restore -------------------------------------------------------------------------------------------------------


def test_restore_is_a_revision_of_its_own(user):
    assert run("restore", "neo", "1").stdout == "restored revision 1 in neo/user (revision 4)\n"
    assert user.read_text() == USER
    assert [row[3] for row in rows("neo")] == ["restore", "put", "put", "adopt"]
    run("restore", "neo", "3")
    assert "Vendor is Beta." in user.read_text()


def test_restore_keeps_what_somebody_else_wrote_in_the_history(user):
    text = user.read_text() + EDITED
    user.write_text(text)
    run("restore", "neo", "1")
    assert user.read_text() == USER
    run("restore", "neo", "4")
    assert user.read_text() == text


def test_restore_of_what_is_there_writes_nothing(user):
    before = user.stat().st_mtime_ns
    assert run("restore", "neo", "3").stdout.endswith("nothing written\n")
    assert user.stat().st_mtime_ns == before
    assert len(rows("neo")) == 3


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_a_dry_run_of_restore_writes_nothing(user, output_format):
    before = snapshot(user.parents[2])
    result = run("restore", "neo", "1", "--dry-run", "--format", output_format)
    assert snapshot(user.parents[2]) == before
    if output_format == "text":
        assert patched(user.read_text(), result.stdout) == USER
        assert result.stderr.startswith("Nothing was written.")


def test_restore_on_an_old_view_is_refused(user):
    assert error_of("restore", "neo", "1", "--expected", "2", status=3)["code"] == "stale_prev"
    run("restore", "neo", "1", "--expected", "3")


def test_restore_by_a_profile(user):
    assert error_of("restore", "neo", "1", "--as", "neo")["code"] == "forbidden"
    run("restore", "neo", "1", "--as", "boss")
    assert rows("neo")[0][2] == "boss"


def test_restore_as_json(user):
    said = run_json("restore", "neo", "1")
    assert (said["entity"], said["revision"], said["changed"], said["dry_run"]) == ("neo/user", "4", True, False)
    assert said["digest"] == digest_of(USER.encode())


# --- replay --------------------------------------------------------------------------------------------------------


def test_replay_writes_every_revision(user, tmp_path):
    run("add", "-p", "boss", "-t", "memory", "-c", "rules", "New.")
    result = run("replay", "--to", "history")
    assert result.stderr == "4 revisions written\n2 heads rebuilt, byte for byte what the store recorded\n"
    assert set(result.stdout.splitlines()) == {
        "history/boss/MEMORY/1.md", "history/neo/USER/1.md", "history/neo/USER/2.md", "history/neo/USER/3.md",
        "history/boss/MEMORY.md", "history/neo/USER.md",
    }  # fmt: skip
    assert (tmp_path / "history/neo/USER/1.md").read_text() == USER
    assert (tmp_path / "history/neo/USER/3.md").read_bytes() == user.read_bytes()


def test_replay_of_one_file_as_json(user):
    said = run_json("replay", "neo/user", "--to", "history")
    assert list(said) == ["to", "replayed", "heads", "mismatches", "faults", "unreadable"]
    assert [list(each) for each in said["heads"]] == [
        ["entity", "revision", "path", "digest", "branches", "unrecorded"]
    ]
    assert [list(each) for each in said["replayed"]] == [["entity", "revision", "path", "digest"]] * 3
    assert said["replayed"][0]["digest"] == digest_of(USER.encode())


def test_replay_into_a_folder_with_something_in_it_is_refused(user):
    before = snapshot(user.parents[2])
    assert error_of("replay", "--to", "profiles")["code"] == "not_empty"
    assert snapshot(user.parents[2]) == before


# --- names, usage, and the real command ----------------------------------------------------------------------------

COMMANDS = {
    "log": ("log", "{}"),
    "diff": ("diff", "{}"),
    "restore": ("restore", "{}", "1"),
    "replay": ("replay", "{}", "--to", "out"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("entity", "code", "hint"),
    [
        ("ned", "unknown_name", "Did you mean 'neo'?"),
        ("neo/usr", "unknown_target", "user"),
        ("neo/user/more", "unknown_target", "user"),
        ("../neo", "unknown_target", "user"),
        ("/user", "unknown_name", ""),
    ],
)
def test_a_name_that_is_no_entity(user, command, entity, code, hint):
    arguments = [argument.format(entity) for argument in COMMANDS[command]]
    said = error_of(*arguments)
    assert said["code"] == code
    assert hint in said["hint"]


@pytest.mark.parametrize(
    ("command", "code"),
    [("log", "missing"), ("diff", "missing"), ("restore", "missing"), ("replay", "unknown_target")],
)
def test_the_path_of_a_file_that_is_not_there(user, command, code):
    assert error_of(*[argument.format("neo/USER.md") for argument in COMMANDS[command]])["code"] == code


@pytest.mark.parametrize("arguments", [("diff", "neo", "9"), ("diff", "neo", "1", "9"), ("restore", "neo", "9")])
def test_a_revision_that_there_is_not(user, arguments):
    assert error_of(*arguments)["code"] == "unknown_revision"


@pytest.mark.parametrize(
    "arguments",
    [("log",), ("log", "neo", "-n", "0"), ("log", "neo", "-n", "x"), ("diff",), ("restore", "neo"), ("replay", "neo")],
)
def test_wrong_usage(user, arguments):
    assert "Error: " in run(*arguments, status=2).stderr


@pytest.mark.parametrize("arguments", [("log", "neo"), ("diff", "neo", "1", "3")])
def test_looking_at_the_history_writes_nothing(user, arguments):
    user.write_text(user.read_text() + EDITED)
    before = snapshot(user.parents[2])
    run(*arguments)
    assert snapshot(user.parents[2]) == before


def test_the_real_command(user):
    assert process("log", "neo", cwd=user.parent).stdout.decode() == run("log", "neo").stdout
    assert process("diff", "neo", cwd=user.parent).stdout.decode() == run("diff", "neo").stdout
    process("restore", "neo", "1", cwd=user.parent)
    assert user.read_text() == USER
    assert process("restore", "neo", "9", cwd=user.parent, status=2).stderr.startswith(b"error[unknown_revision]: ")
