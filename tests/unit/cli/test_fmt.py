"""``catmem fmt``."""

import json
import os
from functools import partial

import pytest

from tests.end_to_end.terminal import run as command
from tests.golden.case import put
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
    assert result.stdout == "neo/user: formatted (revision 2)\n"
    assert result.stderr == "1 of 2 files changed\n"
    assert user.read_text() == PLAIN
    assert names(user.parent) == [".catmem", "MEMORY.md", "USER.md"]
    assert run().stdout == ""
    assert json.loads(run("--format", "json").stdout)["written"] is False


def test_check_writes_nothing_and_is_status_1(user):
    assert run("--check", status=1).stdout == "neo/user: would be formatted\n"
    assert user.read_text() == UNTIDY
    run()
    run("--check")


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
    assert result.stderr.splitlines()[1] == "1 of 3 files changed"
    assert user.read_text() == PLAIN
    assert bad.read_bytes() == b"\xff"


@together("name", [b"\xff.md", b"\x1b[31m.md", b"a\nb.md"])
@pytest.mark.parametrize("options", [(), ("--format", "json"), ("--diff",), ("--layout", "shared")])
def test_odd_file_names(place, name, options):
    path = os.fsdecode(name)
    put(place / path, UNTIDY + "\n## C\nthree\n")
    result = run(path, *options, status=int("--diff" in options))
    assert "\x1b" not in result.output
    if "json" in options:
        assert json.loads(result.stdout)["files"][0]["path"] == path


def test_a_link_in_a_circle_is_one_bad_file(place):
    loop = place / "homes" / "a" / "LOOP.md"
    loop.parent.mkdir(parents=True, exist_ok=True)
    loop.symlink_to(loop)
    assert "error[symlink]" in run(loop, status=2).stderr
