"""``catmem list`` and ``search`` without ``-p``: all that the files of a root hold, copies folded."""

from pathlib import Path

import pytest

from tests.end_to_end.terminal import error_of, run, run_json
from tests.golden.case import put


@pytest.fixture
def seeded(user):
    """Two entries of neo stand in boss's file too, one of them with other tags."""
    text = "## Talk\nPrefers short answers.\n\n## Rules\n[source: neo] Invoices are due on the 15th.\n§\nBoss alone.\n"
    put(user.parent.parent / "boss" / "USER.md", text)
    return user


def test_a_list_of_all_has_each_entry_once_with_the_names(seeded):
    lines = run("list").stdout.splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("boss/user:2")
    assert lines[0].endswith("Prefers short answers.  (also in neo)")
    # A person sees all, what no profile does too.
    assert lines[-1].startswith("neo/user:10  pay")
    (first, *_) = run_json("list")["entries"]
    assert [first["entity"], first["line"], [each["entity"] for each in first["copies"]]] == [
        "boss/user",
        2,
        ["neo/user"],
    ]


def test_a_list_of_all_is_narrowed(seeded):
    assert len(run("list", "-c", "rules").stdout.splitlines()) == 2
    assert len(run("list", "-c", "speech").stdout.splitlines()) == 2
    assert run("list", "-t", "memory").stdout == ""
    assert error_of("list", "-c", "nope")["code"] == "unknown_category"


def test_a_search_of_all_finds_what_no_profile_sees(seeded):
    assert "Nothing in sight fits 'zebra'." in run("search", "zebra").stderr
    assert run("search", "secret").stdout.startswith("neo/user:10  pay  unverified\n")
    assert run("search", "invoices").stdout.startswith("boss/user:5  rules  unverified  (also in neo)\n")
    said = run_json("search", "invoices", "15th", "boss")
    assert (said["profile"], said["total"]) == (None, 2)
    result = run("search", "invoices boss", "--limit", "1")
    assert result.stdout.count("\n    ") == 1
    assert "1 of 2 entries; --limit 2 shows all." in result.stderr


@pytest.fixture
def fleet(user):
    """A fact of the orchestrator that a lead was seeded with, and a developer from the lead; one fact is the lead's."""
    root = user.parent.parent.parent
    profiles = {"zoe": "tier: 1", "lead": "seed_from: zoe", "dev": "seed_from: lead", "aide": "tier: 2"}
    for name, said in profiles.items():
        put(root / "profiles" / f"{name}.yaml", f"{said}\nuser_memory_categories: [talk]\n")
        put(root / "homes" / name / "USER.md", "## Talk\nTea is served at nine.\n")
    put(root / "homes" / "lead" / "USER.md", "## Talk\n[source: lead] Tea is served at nine.\n§\nThe lead likes tea.\n")
    put(root / "homes" / "dev" / "USER.md", "## Talk\nTea.\n§\nThe lead likes tea.\n§\nTea is served at nine.\n")


@pytest.mark.usefixtures("fleet")
def test_an_entry_stands_at_its_source_and_its_copies_are_named_beside():
    expected = [("lead/user", ["dev/user"]), ("zoe/user", ["aide/user", "lead/user", "dev/user"])]
    for command in (["list", "-c", "talk"], ["search", "tea"]):
        entries = [each for each in run_json(*command)["entries"] if each["copies"]]
        assert sorted((each["entity"], [copy["entity"] for copy in each["copies"]]) for each in entries) == expected
    places = [line.split()[0] for line in run("list", "-c", "talk").stdout.splitlines()]
    assert places == ["zoe/user:2", "lead/user:4", "dev/user:2", "neo/user:2", "neo/user:4"]
    scores = [each["score"] for each in run_json("search", "tea")["entries"]]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.usefixtures("fleet")
def test_profiles_that_are_seeded_in_a_circle_are_listed_too():
    put(Path("profiles/zoe.yaml"), "tier: 1\nseed_from: dev\nuser_memory_categories: [talk]\n")
    assert len(run_json("list", "-c", "talk")["entries"]) == 5
