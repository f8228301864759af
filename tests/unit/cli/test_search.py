"""``catmem search``."""

from functools import partial

import pytest

from tests.end_to_end.terminal import run as command
from tests.golden.case import put
from tests.together import together

run = partial(command, "search")


@pytest.fixture
def place(tmp_path):
    put(tmp_path / "catmem.yaml", "taxonomy: {categories: {talk: {aliases: [speech]}}}\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [talk]\nmemory_categories: [notes]\n")
    put(
        tmp_path / "homes" / "neo" / "USER.md",
        "## Talk\n[verified_date: 2026-01-01] Green tea\nin the morning\n§\n[created: 2026-11-20] black Tea\n\n"
        "## Pay\n[created: 2026-11-21] tea money\n",
    )
    put(
        tmp_path / "homes" / "neo" / "MEMORY.md",
        "## Notes\n[created: 2026-11-01] " + "much else " * 30 + "and tea " + "much else " * 30 + "\n",
    )
    return tmp_path


@pytest.fixture
def look(place):
    """Runs a search of neo's in the root."""

    def looking(*arguments, **choices):
        return run("-p", "neo", "--root", place, "--as-of", "2026-11-21", *arguments, **choices)

    return looking


def test_a_limit_says_what_it_leaves_out(look):
    result = look("tea", "--limit", "1")
    assert len(result.stdout.splitlines()) == 2
    assert result.stderr == "1 of 3 entries; --limit 3 shows all.\n"


@together(
    ("choices", "lines"),
    [
        (("-t", "user"), {"user:5", "user:2"}),
        (("-t", "memory"), {"memory:2"}),
        (("-c", "speech"), {"user:5", "user:2"}),
        (("--state", "stale"), {"user:2"}),
        (("--state", "stale", "--state", "fresh"), {"user:5", "user:2", "memory:2"}),
        (("--tag", "created=2026-11-20"), {"user:5"}),
        (("--tag", "created="), {"user:2"}),
        (("--tag", "created=", "--tag", "verified_date=2026-01-01"), {"user:2"}),
    ],
)
def test_filters(look, choices, lines):
    assert {line.split()[0] for line in look("tea", *choices).stdout.splitlines() if line and line[0] != " "} == lines


@together(
    ("arguments", "lifted"),
    [
        (("zebra", "-c", "talk"), []),
        (("tea", "-c", "pay"), ["-c"]),
        (("tea", "-c", "xyz"), ["-c"]),
        (("money", "-t", "memory"), []),
        (("black", "--state", "expired"), ["--state"]),
        (("black", "--state", "expired", "-t", "memory"), []),
        (("morning", "--tag", "created=2026-11-20", "-t", "user"), ["--tag"]),
        (('"tea money"',), []),
    ],
)
def test_nothing_found_is_told_with_the_filter_that_hides_what_fits(look, arguments, lifted):
    result = look(*arguments)
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if not line.startswith("Nothing in sight fits ")]
    assert lines == [f"Without {option} there are entries that fit." for option in lifted]
    assert "there are entries" not in look(*arguments, "--format", "json").stderr


def test_a_filter_of_a_search_of_all_files_that_hides_what_fits_is_named(place):
    said = run("money", "-t", "memory", "--root", place).stderr
    assert "Without -t there are entries that fit." in said


def test_a_hint_fails_for_no_file_that_was_not_asked_for(look, place):
    (place / "homes" / "neo" / "MEMORY.md").write_bytes(b"\xff")
    assert len(look("zebra", "-t", "user").stderr.splitlines()) == 1
    assert len(look("notes", "-t", "user").stderr.splitlines()) == 1
    look("zebra", status=2)


@together(
    ("arguments", "status", "said"),
    [
        (("§",), 2, "error[empty_query]: this query has no word in it"),
        (("x" * 2000,), 2, "error[long_query]: this query has 2,000 characters, and 1,000 is the most"),
        (("tea", "--tag", "created"), 2, "is not of the form KEY=VALUE"),
        (("--", "-tea"), 0, ""),
    ],
)
def test_wrong_input(look, arguments, status, said):
    assert said in look(*arguments, status=status).stderr
