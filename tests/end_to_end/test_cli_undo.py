"""``catmem undo``, and the line after a write that names it."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.end_to_end.terminal import USER, error_of, run, run_json, write_root


@pytest.fixture
def user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_root(tmp_path)


def way_back(result):
    """The arguments of the command that the answer to a write names."""
    (line,) = re.findall(r"^'catmem (undo .*)' (?:takes it back|makes it again)$", result.stderr, re.MULTILINE)
    return shlex.split(line)


@pytest.mark.parametrize(
    "write",
    [
        ("add", "-p", "neo", "-c", "rules", "Vendor is Acme."),
        ("replace", "-p", "neo", "15th", "Invoices are due on the 20th."),
        ("remove", "-p", "neo", "15th"),
        ("move", "-p", "neo", "15th", "-c", "talk"),
        ("verify", "-p", "neo", "15th"),
    ],
)
def test_the_line_after_a_write_takes_it_back(user, write):
    back = way_back(run(*write))
    assert user.read_text() != USER
    undone = run(*back)
    assert undone.stdout == "took back the last revision in neo/user (revision 3)\n"
    assert user.read_text() == USER
    # And the line after that makes it again, and says so.
    assert "makes it again" in undone.stderr
    again = run(*way_back(undone))
    assert again.stdout == "made again what was taken back in neo/user (revision 4)\n"
    assert "was an undo or a restore itself" in again.stderr
    assert user.read_text() != USER


def test_the_line_names_the_root_that_was_named(user, monkeypatch, tmp_path):
    monkeypatch.chdir("/")
    back = way_back(run("remove", "-p", "neo", "15th", "--root", tmp_path))
    run(*back)
    assert user.read_text() == USER


def test_what_writes_nothing_names_no_way_back(user):
    for arguments in (
        ("remove", "-p", "neo", "15th", "--dry-run"),
        ("add", "-p", "neo", "-c", "talk", "Never before ten."),
    ):
        assert "undo" not in run(*arguments).stderr
    # A bounded profile may not take back: the text before may hold what it does not see.
    assert "undo" not in run("remove", "-p", "neo", "15th", "--as", "neo").stderr


def test_a_later_revision_stays(user):
    back = way_back(run("remove", "-p", "neo", "15th"))
    run("add", "-p", "neo", "-c", "rules", "Later.")
    there = user.read_text()
    error = error_of(*back, status=3)
    assert error["code"] == "stale_prev"
    assert "catmem restore neo/user 1" in error["hint"]
    assert user.read_text() == there


def test_an_external_change_stays(user):
    run("remove", "-p", "neo", "15th")
    user.write_text(user.read_text() + "by hand\n")
    error = error_of("undo", "neo", status=3)
    assert error["code"] == "drift"
    assert "catmem restore neo/user 1" in error["hint"]
    assert user.read_text().endswith("by hand\n")


def test_without_an_entity_it_is_what_you_wrote_last(user):
    run("add", "-p", "boss", "-t", "memory", "-c", "rules", "First.")
    run("remove", "-p", "neo", "15th")
    run("add", "-p", "boss", "-t", "memory", "-c", "rules", "By an agent.", "--as", "boss")
    assert run_json("undo")["entity"] == "neo/user"
    assert user.read_text() == USER


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_dry_run_shows_what_comes_back(user, dry_run):
    run("remove", "-p", "neo", "15th")
    before = user.read_text()
    result = run("undo", "neo", *["--dry-run"] * dry_run)
    assert ("+[created: 2026-01-02] Invoices are due on the 15th." in result.stdout) is dry_run
    assert (user.read_text() == before) is dry_run


def test_what_a_text_alone_does_not_take_back(user):
    assert error_of("undo", "neo")["code"] == "no_undo"
    assert error_of("undo")["code"] == "no_undo"
    run("restore", "neo/user", "0")
    user.write_text("## Rules\nWritten outside.\n")
    run("verify", "-p", "neo", "Written")
    run("undo", "neo")
    user.write_text(user.read_text() + "§\nMore.\n")
    # The refused undo has taken the change in: the newest revision is another program's now.
    assert error_of("undo", "neo", status=3)["code"] == "drift"
    assert error_of("undo", "neo")["code"] == "no_undo"


def test_a_bounded_profile_takes_nothing_back(user):
    run("remove", "-p", "neo", "15th", "--as", "neo")
    answers = [error_of("undo", entity, "--as", "neo") for entity in ("neo", "boss", "nobody")]
    answers.append(error_of("undo", "--as", "neo"))
    assert {each["code"] for each in answers} == {"forbidden"}
    assert len({each["message"] for each in answers}) == 1
    run("undo", "neo", "--as", "boss")
    assert user.read_text() == USER
