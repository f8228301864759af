"""``catmem list`` and ``catmem show``."""

import json
from functools import partial

import pytest

from catmem.workspace import stores
from catmem.workspace.stores import open_store
from tests.end_to_end.terminal import run as command
from tests.golden.case import put
from tests.together import together

run = partial(command, "list")
show = partial(command, "show")
TEXT = "# Title\n\n## Talk\n[verified_date: 2026-05-01, domain: [a, b]] one\ntwo\n§\n```\nopen\n\n## Pay\nsecret\n"


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
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["user:2", "talk", "stale:", "verified", "2026-01-01", "one", "…"],
        ["user:5", "talk", "unverified", "two"],
        ["memory:2", "notes", "unverified", "x" * 71 + "…"],
    ]


@together(
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


@together("output_format", ["text", "json"])
def test_a_category_out_of_sight_is_like_one_that_is_not_there(place, output_format):
    hidden, absent = (
        run("-p", "neo", "--root", place, "-c", name, "--format", output_format) for name in ("pay", "none")
    )
    assert (hidden.exit_code, hidden.stdout, hidden.stderr) == (absent.exit_code, absent.stdout, absent.stderr)
    assert hidden.exit_code == 0
    if output_format == "text":
        assert hidden.stderr == "No entries that this profile can see.\n"


CLOSED = "taxonomy: {closed: true, categories: {talk: {aliases: [speech]}, pay: {}%s}}\n"


@together(
    ("category", "said"),
    [
        ("tlak", "the category 'tlak' is not declared in catmem.yaml\n  Did you mean 'talk'?"),
        ("Tlak!", "the category 'Tlak!' is not declared in catmem.yaml\n  Did you mean 'talk'?"),
        ("speach", "Did you mean 'speech'?"),
        ("zebra", "The declared categories are pay, talk."),
    ],
)
def test_a_category_that_a_closed_taxonomy_does_not_declare(place, category, said):
    put(place / "catmem.yaml", CLOSED % "")
    put(place / "profiles" / "neo.yaml", "user_memory_categories: [talk]\n")
    result = run("-p", "neo", "--root", place, "-c", category, status=2)
    assert result.stdout == ""
    assert result.stderr.startswith("error[unknown_category]: ")
    assert result.stderr.endswith(f"{said}\n")
    for declared in ("talk", "speech", "Talk", "pay", "__uncategorized__"):
        assert "declared" not in run("-p", "neo", "--root", place, "-c", declared).stderr


# --- show ------------------------------------------------------------------------------------------------------------


def test_the_name_of_a_profile_is_no_file_but_the_profile(place, monkeypatch):
    assert show("neo", "--root", place).stdout == show("-p", "neo", "--root", place).stdout
    monkeypatch.chdir(place)
    put(place / "neo", "## Other\nx\n")
    assert show("neo").stdout.startswith("other (1)")  # a file that is there goes first


def test_standard_input(place):
    assert "talk (2)" in show("-", "--root", place, input=TEXT).stdout
    assert "talk (1)" in show("-", "--root", place, input="## Speech\nx").stdout
    assert show("-", "--root", place, input="").stdout == "(no entries)\n"
    assert json.loads(show("-", "--root", place, "--format", "json", input=b"\xef\xbb\xbf## A\r\nx\r\n").stdout)[
        "categories"
    ]


def test_the_files_own_root_says_what_its_aliases_mean(place, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    file = put(place / "homes" / "neo" / "USER.md", "## Speech\nx\n")
    assert show(file).stdout.startswith("talk (1)")


def test_what_people_are_shown_of_a_file_needs_no_store(place, monkeypatch):
    command("add", "-p", "neo", "-c", "talk", "three", "--root", place)
    opened = []
    monkeypatch.setattr(stores, "open_store", lambda *given: opened.append(given) or open_store(*given))
    assert "three" in show("-p", "neo", "--root", place).stdout
    assert opened == []
    (place / "homes" / "neo" / "USER.md").unlink()
    assert "another program took" in show("-p", "neo", "--root", place).stderr
    assert len(opened) == 1
