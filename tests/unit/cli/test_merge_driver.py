"""``catmem merge-driver``, called as git calls it; ``tests/interplay/test_git.py`` has git itself."""

import pytest
from click.testing import CliRunner

from catmem.cli.main import group
from catmem.ops import branches as git
from tests.golden.case import put

BASE = "## Finance\nAcme is the vendor for cloud billing.\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(group, ["merge-driver", *arguments])


def sides(folder, base, ours, theirs):
    for name, text in (("o", base), ("a", ours), ("b", theirs)):
        put(folder / name, text)
    return "o", "a", "b"


def test_the_merge_goes_into_our_file(folder):
    names = sides(folder, BASE, f"{BASE}§\nOurs.\n", f"{BASE}§\nTheirs.\n")
    result = run(*names, "homes/neo/USER.md")
    assert (result.exit_code, result.output) == (0, "")
    assert (folder / "a").read_text().count("§") == 2
    assert (folder / "o").read_text() == BASE


def test_a_path_that_looks_like_an_option(folder):
    names = sides(folder, BASE, BASE, f"{BASE}§\nTheirs.\n")
    assert run(*names, "--help/USER.md").exit_code == 0
    assert "Theirs." in (folder / "a").read_text()


def test_a_fault_of_its_own_leaves_both_sides(folder, monkeypatch):
    names = sides(folder, BASE, BASE.replace("Acme", "Bolt"), BASE.replace("Acme", "Core"))
    monkeypatch.setattr(git, "_reader", lambda *_: 1 / 0)
    result = run(*names, "USER.md")
    assert isinstance(result.exception, ZeroDivisionError)
    assert "<<<<<<< ours\nBolt" in (folder / "a").read_text()


def test_a_result_that_cannot_be_written_stops_git(folder, monkeypatch):
    names = sides(folder, BASE, BASE, f"{BASE}§\nTheirs.\n")
    (folder / "a").rename(folder / "real")
    (folder / "a").symlink_to("real")

    def merged(*_):
        (folder / "a").unlink()
        (folder / "a").mkdir()
        return git.FileMerged("a", "text")

    monkeypatch.setattr(git, "_merged", merged)
    result = run(*names, "USER.md")
    assert (result.exit_code, "not_writable" in result.stderr) == (129, True)
