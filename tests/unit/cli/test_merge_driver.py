"""``catmem merge-driver``, called as git calls it; ``tests/interplay/test_git.py`` has git itself."""

from __future__ import annotations

import json
from functools import partial

import pytest
from click.testing import CliRunner

from catmem.cli import git_commands
from catmem.cli.main import group
from tests.end_to_end.terminal import run as command
from tests.golden.case import put

BASE = "## Finance\nAcme is the vendor for cloud billing.\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


run = partial(command, "merge-driver")


def sides(folder, base, ours, theirs):
    for name, text in (("o", base), ("a", ours), ("b", theirs)):
        put(folder / name, text)
    return "o", "a", "b"


def test_the_merge_goes_into_our_file(folder):
    names = sides(folder, BASE, f"{BASE}§\nOurs.\n", f"{BASE}§\nTheirs.\n")
    assert run(*names, "homes/neo/USER.md").output == ""
    assert (folder / "a").read_text().count("§") == 2
    assert (folder / "o").read_text() == BASE


def test_json(folder):
    names = sides(folder, BASE, BASE.replace("Acme", "Bolt"), BASE.replace("Acme", "Core"))
    said = json.loads(run("--format", "json", *names, "USER.md", status=1).stdout)
    assert (said["path"], said["merged"]) == ("USER.md", True)
    (conflict,) = said["conflicts"]
    assert conflict["reason"] == "body"
    assert conflict["ours"] == {"category": "finance", "text": "Bolt is the vendor for cloud billing."}


def test_an_added_entry_has_no_base(folder):
    names = sides(folder, "", "[domain: a] Same.\n", "[domain: b] Same.\n")
    assert json.loads(run("--format", "json", *names, "USER.md", status=1).stdout)["conflicts"][0]["base"] is None


def test_a_path_that_looks_like_an_option(folder):
    names = sides(folder, BASE, BASE, f"{BASE}§\nTheirs.\n")
    run(*names, "--help/USER.md")
    assert "Theirs." in (folder / "a").read_text()


def test_what_a_terminal_would_act_on_is_written_out(folder):
    names = sides(folder, BASE, BASE.replace("Acme", "\x1b[2JBolt"), BASE.replace("Acme", "Core"))
    result = run(*names, "USER.md", status=1)
    assert "\\x1b[2JBolt" in result.stderr
    assert "\x1b" not in result.stderr


def test_a_missing_side(folder):
    names = sides(folder, BASE, BASE, BASE)
    (folder / "b").unlink()
    assert "error[missing]" in run(*names, "USER.md", status=1).stderr


def test_a_fault_of_its_own_leaves_both_sides(folder, monkeypatch):
    names = sides(folder, BASE, BASE.replace("Acme", "Bolt"), BASE.replace("Acme", "Core"))
    monkeypatch.setattr(git_commands, "_reader", lambda *_: 1 / 0)
    ended = CliRunner().invoke(group, ["merge-driver", *names, "USER.md"])
    assert isinstance(ended.exception, ZeroDivisionError)
    assert "<<<<<<< ours\nBolt" in (folder / "a").read_text()


def test_a_result_that_cannot_be_written_stops_git(folder, monkeypatch):
    names = sides(folder, BASE, BASE, f"{BASE}§\nTheirs.\n")
    (folder / "a").rename(folder / "real")
    (folder / "a").symlink_to("real")

    def merged(*_):
        (folder / "a").unlink()
        (folder / "a").mkdir()
        return git_commands._Merged("text")

    monkeypatch.setattr(git_commands, "_merged", merged)
    assert "not_writable" in run(*names, "USER.md", status=129).stderr
