"""``catmem list``."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from catmem.cli.main import group
from tests.golden.case import put

KEYS = ["target", "category", "line", "id", "state", "date", "threats", "tags", "body"]


def run(*arguments):
    return CliRunner().invoke(group, ["list", *(str(argument) for argument in arguments)])


@pytest.fixture
def place(tmp_path):
    put(tmp_path / "catmem.yaml", "taxonomy: {categories: {talk: {aliases: [speech]}}}\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [talk]\nmemory_categories: [notes]\n")
    put(
        tmp_path / "homes" / "neo" / "USER.md",
        "## Talk\n[verified_date: 2026-01-01] one\nmore\n§\ntwo\n\n## Pay\nsecret\n",
    )
    put(tmp_path / "homes" / "neo" / "MEMORY.md", "## Notes\n" + "x" * 100 + "\n")
    return tmp_path


def test_for_people(place):
    result = run("-p", "neo", "--root", place, "--as-of", "2026-11-21")
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["user:2", "talk", "stale:", "verified", "2026-01-01", "one", "…"],
        ["user:5", "talk", "unverified", "two"],
        ["memory:2", "notes", "unverified", "x" * 71 + "…"],
    ]


def test_as_json(place):
    said = json.loads(run("-p", "neo", "--root", place, "--as-of", "2026-11-21", "--format", "json").stdout)
    assert list(said) == ["profile", "entries"]
    assert {tuple(entry) for entry in said["entries"]} == {tuple(KEYS)}
    assert [(entry["target"], entry["line"], entry["state"], entry["date"]) for entry in said["entries"]] == [
        ("user", 2, "stale", "2026-01-01"), ("user", 5, "unverified", None), ("memory", 2, "unverified", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("choices", "count"),
    [
        (("-t", "user"), 2),
        (("-t", "memory"), 1),
        (("-c", "talk"), 2),
        (("-c", "speech"), 2),
        (("-t", "memory", "-c", "talk"), 0),
    ],
)
def test_a_part(place, choices, count):
    assert len(run("-p", "neo", "--root", place, *choices).stdout.splitlines()) == count


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_a_category_out_of_sight_is_like_one_that_is_not_there(place, output_format):
    hidden, absent = (
        run("-p", "neo", "--root", place, "-c", name, "--format", output_format) for name in ("pay", "none")
    )
    assert (hidden.exit_code, hidden.stdout, hidden.stderr) == (absent.exit_code, absent.stdout, absent.stderr)
    assert hidden.exit_code == 0
    if output_format == "text":
        assert hidden.stderr == "No entries that this profile can see.\n"
