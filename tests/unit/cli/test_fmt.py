"""``catmem fmt``."""

from __future__ import annotations

import json
import os
from functools import partial

import pytest
from click.testing import CliRunner

from catmem.cli.main import group
from tests.end_to_end.terminal import run as command
from tests.golden.case import put
from tests.patches import patched
from tests.together import together

UNTIDY = "## A\n\n\none\n§\n§\ntwo\n## B\nthree"
PLAIN = "## A\none\n§\ntwo\n\n## B\nthree\n"


run = partial(command, "fmt")


@pytest.fixture
def place(tmp_path, monkeypatch):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", "{}")
    put(tmp_path / "homes" / "neo" / "USER.md", UNTIDY)
    put(tmp_path / "homes" / "neo" / "MEMORY.md", PLAIN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def user(place):
    return place / "homes" / "neo" / "USER.md"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_files_of_the_root(user):
    result = run()
    assert result.stdout == "formatted homes/neo/USER.md\n"
    assert result.stderr == "1 of 2 files changed\n"
    assert user.read_text() == PLAIN
    assert names(user.parent) == [".catmem", "MEMORY.md", "USER.md"]
    assert run().stdout == ""


def test_check_writes_nothing_and_is_status_1(user):
    assert run("--check", status=1).stdout == "would format homes/neo/USER.md\n"
    assert user.read_text() == UNTIDY
    run()
    run("--check")


def test_diff_writes_nothing_and_shows_it(user):
    result = run("--diff", status=1)
    assert result.stdout.startswith("--- a/homes/neo/USER.md\n+++ b/homes/neo/USER.md\n@@ ")
    assert "\n-three\n\\ No newline at end of file\n+three\n" in result.stdout
    assert user.read_text() == UNTIDY
    run()
    assert run("--diff").stdout == ""


def test_the_shared_layout_and_back(user):
    run("--layout", "shared", user)
    shared = user.read_text()
    assert shared.endswith("## __uncategorized__")
    run("--check", user)
    run("--check", "--layout", "plain", user, status=1)
    run("--layout", "plain", user)
    assert user.read_text().startswith(PLAIN)


def test_entries_that_hermes_agent_would_drop_are_named(place):
    file = put(place / "twice.md", "## A\nsame\n\n## B\nsame\n")
    assert "warning: twice.md: stands more than once" in run("--layout", "shared", file).stderr


def test_standard_input(place):
    assert run("-", input=UNTIDY).stdout == PLAIN
    assert run("-", "--layout", "shared", input=UNTIDY).stdout.endswith("## __uncategorized__")
    assert run("-", "--check", input=UNTIDY, status=1).stdout == ""
    run("-", "--check", input=PLAIN)
    assert run("-", "--diff", input=UNTIDY, status=1).stdout.startswith("--- a/-\n+++ b/-\n")
    bad = run("-", input=b"\xff", status=2)
    assert (bad.stdout, "not_utf8" in bad.stderr) == ("", True)


def test_one_bad_file_does_not_stop_the_others(place, user):
    bad = put(place / "homes" / "a" / "USER.md", b"\xff")
    result = run(place / "homes" / "a", place / "nothing.md", user, status=2)
    assert "not_utf8" in result.stderr
    assert "missing" in result.stderr
    assert user.read_text() == PLAIN
    assert bad.read_bytes() == b"\xff"


def test_a_change_in_between_is_status_3(user, monkeypatch):
    from catmem.workspace import formatting

    apply_format = formatting.apply_format

    def somebody_is_faster(workspace, planned):
        planned.path.write_text("## A\nwritten by somebody else")
        apply_format(workspace, planned)

    monkeypatch.setattr(formatting, "apply_format", somebody_is_faster)
    assert "error[drift]" in run(status=3).stderr
    assert user.read_text() == "## A\nwritten by somebody else"
    (backup,) = user.parent.glob("USER.md.bak.*")
    assert backup.read_text() == user.read_text()


def test_mode_and_link_are_kept(place, user):
    user.chmod(0o640)
    link = place / "link.md"
    link.symlink_to(user)
    run(link)
    assert link.is_symlink()
    assert user.read_text() == PLAIN
    assert user.stat().st_mode & 0o777 == 0o640


def test_a_link_that_nobody_named_leads_nowhere(place, user, tmp_path_factory):
    outside = put(tmp_path_factory.mktemp("outside") / "precious", UNTIDY)
    user.unlink()
    user.symlink_to(outside)
    for arguments in ((), ("homes",)):
        assert "error[symlink]" in run(*arguments, status=2).stderr
    assert outside.read_text() == UNTIDY


@together("name", [b"\xff.md", b"\x1b[31m.md", b"a\nb.md"])
@pytest.mark.parametrize("options", [(), ("--format", "json"), ("--diff",), ("--layout", "shared")])
def test_odd_file_names(place, name, options):
    path = os.fsdecode(name)
    put(place / path, UNTIDY + "\n## C\nthree\n")
    result = run(path, *options, status=int("--diff" in options))
    assert "\x1b" not in result.output
    if "json" in options:
        assert json.loads(result.stdout)["changed"] == [path]


def test_carriage_returns_show_in_a_diff(place):
    file = put(place / "x.md", b"## A\r\none\r\n## B\ntwo\r\n")
    assert "\\r" in run("--diff", file, status=1).stdout
    assert file.read_bytes() == b"## A\r\none\r\n## B\ntwo\r\n"


def test_check_in_the_wrong_folder_does_not_pass(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("--check", status=2)
    assert result.stdout == ""
    assert "error[no_root]" in result.stderr
    put(tmp_path / "catmem.yaml", "version: 1\n")
    assert run("--check").stderr == "0 of 0 files would be changed\n"


def test_a_file_that_is_no_markdown_is_refused(place, user):
    file = put(place / "notes.txt", UNTIDY)
    assert "error[not_markdown]" in run(user, file, status=2).stderr
    assert (user.read_text(), file.read_text()) == (UNTIDY, UNTIDY)


def test_a_large_difference_is_a_diff_all_the_same(place):
    old = "".join(f"## A{number % 7}\n{number % 3}\n" for number in range(20_000))
    file = put(place / "large.md", old)
    result = run("--diff", file, status=1)
    run(file)
    assert patched(old, result.stdout) == file.read_text()


def test_stdin_as_json(place):
    result = CliRunner().invoke(group, ["fmt", "-", "--format", "json", "--root", str(place)], input=b"one\n\n")
    assert json.loads(result.stdout) == {"files": 1, "changed": ["-"], "written": False, "text": "one\n"}
    checked = CliRunner().invoke(
        group, ["fmt", "-", "--check", "--format", "json", "--root", str(place)], input=b"one\n\n"
    )
    assert (checked.exit_code, json.loads(checked.stdout)["changed"]) == (1, ["-"])
