"""``catmem status``: a line a topic, the numbers of the other commands, and nothing where nothing waits."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from tests.end_to_end.terminal import run, run_json, snapshot
from tests.golden.case import put

CONFIG = "approval: others\non_stale: branch\n"
USER = """\
## Rules
[verified_date: 2026-11-20] Uses tabs.
§
[verified_date: 2026-11-20] Deploys go out on Fridays.
"""
TODAY = date(2026, 11, 21)


@pytest.fixture(autouse=True)
def _that_day(monkeypatch):
    monkeypatch.setattr("catmem.clock.today", lambda: TODAY)


@pytest.fixture
def place(tmp_path):
    put(tmp_path / "catmem.yaml", CONFIG)
    put(tmp_path / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    rights = "user_memory_categories: [rules]\nwritable_categories: [rules]\n"
    put(tmp_path / "profiles" / "neo.yaml", rights)
    put(tmp_path / "homes" / "neo" / "USER.md", USER)
    run("verify", "-p", "neo", "tabs", "--root", tmp_path)
    return tmp_path


def status(place, *arguments, **choices):
    return run("status", "--root", place, *arguments, **choices)


def counts(place, *arguments):
    topics = run_json("status", "--root", place, *arguments)["topics"]
    return {each["topic"]: each["count"] for each in topics if each["count"]}


def replace(place, old, new, *arguments):
    return run("replace", "-p", "neo", "--root", place, old, new, *arguments)


def test_nothing_waits(place):
    before = snapshot(place)
    result = status(place)
    assert (result.stdout, result.stderr) == ("", "Nothing waits for you.\n")
    assert snapshot(place) == before


def test_proposals(place, monkeypatch):
    replace(place, "tabs", "Uses spaces.", "--as", "neo")
    replace(place, "Fridays", "Never.", "--as", "neo")
    assert status(place).stdout == "2 proposals for you to decide  catmem proposals --interactive\n"
    replace(place, "tabs", "Uses wide tabs.")
    assert counts(place) == {"waiting": 1, "stale": 1, "due": 1}
    monkeypatch.setattr("catmem.clock.today", lambda: TODAY + timedelta(days=31))
    assert counts(place)["expired"] == 2
    assert "2 proposals whose day is over  " in status(place).stdout


def test_facts_that_are_due_are_those_of_a_review(place):
    put(place / "catmem.yaml", f"{CONFIG}stale_after: 10d\n")
    run("add", "-p", "neo", "-c", "rules", "Likes tea.", "--root", place)
    day = ("--as-of", "2026-12-10")
    assert status(place, *day).stdout == "3 facts due for review (3 stale)  catmem review\n"
    assert len(run_json("review", "--list", *day, "--root", place)["due"]) == 3
    assert run_json("status", *day, "--root", place)["as_of"] == "2026-12-10"


def test_branches(place):
    run("add", "-p", "neo", "-c", "rules", "Likes tea.", "--tag", "verified_date=2026-11-21", "--root", place)
    replace(place, "tabs", "Uses wide tabs.", "--expected", "3")
    replace(place, "tabs", "Uses narrow tabs.", "--expected", "3")
    replace(place, "Fridays", "Deploys go out on Mondays.", "--expected", "3")
    run("verify", "-p", "neo", "wide", "--root", place)
    assert counts(place) == {"branches": 1, "conflicts": 1}
    assert status(place).stdout == (
        "1 branch to merge        catmem merge --all\n1 branch with conflicts  catmem merge neo/user --interactive\n"
    )
    run("merge", "--all", "--ours", "--root", place)
    assert counts(place) == {"due": 1}


def test_seeds_and_files_of_other_programs(place):
    put(place / "profiles" / "trinity.yaml", "seed_from: neo\nuser_memory_categories: [rules]\n")
    run("seed", "--all", "--root", place)
    assert counts(place) == {}
    (place / "homes" / "neo" / "USER.md").write_text(USER.replace("tabs", "spaces"), encoding="utf-8")
    assert counts(place) == {"seeds": 1, "outside": 1}
    assert status(place).stdout == (
        "1 profile behind what seeds it     catmem seed --all\n"
        "1 file changed by another program  catmem diff neo/user --adopt\n"
    )
    assert "spaces" in run("diff", "neo/user", "--adopt", "--root", place).stdout
    run("seed", "--all", "--root", place)
    assert counts(place) == {}


def test_what_was_adopted_as_it_was_shown_is_seen(place):
    run("add", "-p", "neo", "-c", "rules", "So that there is a history.", "--root", place)
    path = place / "homes" / "neo" / "USER.md"
    path.write_text(path.read_text(encoding="utf-8").replace("tabs", "tabs, by hand"), encoding="utf-8")
    assert "by hand" in run("diff", "neo/user", "--adopt", "--root", place).stdout
    replace(place, "by hand", "Uses spaces.")
    assert "Uses spaces." in path.read_text(encoding="utf-8")


def test_entries_without_a_category(place):
    put(
        place / "homes" / "boss" / "MEMORY.md",
        "[verified_date: 2026-11-20] One.\n§\n[verified_date: 2026-11-20] Two.\n",
    )
    assert counts(place) == {"unsorted": 2}
    assert status(place).stdout == "2 entries without a category  catmem sort -p boss -t memory\n"


def test_what_specialists_learned(place):
    put(place / "profiles" / "trinity.yaml", "seed_from: neo\nuser_memory_categories: [rules]\n")
    run("seed", "--all", "--root", place)
    run("add", "-p", "trinity", "-c", "rules", "Tests come first.", "--root", place)
    before = snapshot(place)
    assert counts(place) == {"learned": 1}
    assert snapshot(place) == before
    run("promote", "--all", "-c", "*", "--root", place)
    assert counts(place) == {"waiting": 1}


def test_a_seed_that_is_refused_is_not_offered_and_conflict_marks_are_named(place):
    put(place / "profiles" / "trinity.yaml", "seed_from: neo\nuser_memory_categories: [rules]\n")
    run("seed", "--all", "--root", place)
    run("add", "-p", "neo", "-c", "rules", "Tests come first.", "--root", place)
    assert counts(place) == {"seeds": 1}
    copy = place / "homes" / "trinity" / "USER.md"
    copy.write_text(copy.read_text() + "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n", encoding="utf-8")
    run("diff", "trinity", "--adopt", "--root", place)
    found = counts(place)
    assert (found.get("seeds"), found["refused"], found["marked"]) == (None, 1, 1)
    assert "catmem seed --all --dry-run\n" in status(place).stdout
    run("seed", "--all", "--root", place, status=3)


def test_seeds_in_conflict_are_settled_and_not_repeated(place):
    put(place / "profiles" / "trinity.yaml", "seed_from: neo\nuser_memory_categories: [rules]\n")
    run("seed", "--all", "--root", place)
    replace(place, "tabs", "Uses spaces.")
    run("replace", "-p", "trinity", "--root", place, "tabs", "Uses wide tabs.")
    replace(place, "Fridays", "Deploys go out on Mondays.")
    assert (counts(place)["seeds"], "1 profile behind what seeds it" in status(place).stdout) == (1, True)
    assert "catmem seed --all --interactive\n" in status(place).stdout
    run("seed", "--all", "--root", place, status=3)
    assert "catmem seed --all --interactive\n" in status(place).stdout
    run("seed", "--all", "--resolve", "source", "--root", place)
    assert "seeds" not in counts(place)


def test_a_broken_profile_is_named_once_and_the_others_count(place):
    replace(place, "tabs", "Uses spaces.", "--as", "neo")
    put(place / "profiles" / "smith.yaml", "tier: x\n")
    result = status(place, status=2)
    assert result.stdout == "1 proposal for you to decide  catmem proposals --interactive\n"
    assert result.stderr.count("error[") == 1
