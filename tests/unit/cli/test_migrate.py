"""``catmem migrate``."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from catmem.cli.main import group
from tests.golden.case import put

CONFIG = "version: 1\ntaxonomy: {categories: {communication-style: {aliases: [comm]}}}\n"
FLAT = "# About\n§\n[COMM] Short.\n§\n[OPS] Plain.\n"
SECTIONED = "# About\n\n[OPS] Plain.\n\n## Communication Style\nShort.\n"


def run(*arguments, **choices):
    return CliRunner().invoke(group, ["migrate", *(str(argument) for argument in arguments)], **choices)


@pytest.fixture
def place(tmp_path, monkeypatch):
    put(tmp_path / "catmem.yaml", CONFIG)
    put(tmp_path / "profiles" / "neo.yaml", "{user_memory_categories: ['*'], include_uncategorized: true}")
    put(tmp_path / "homes" / "neo" / "USER.md", FLAT)
    put(tmp_path / "old notes.md", FLAT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_dry_run_shows_the_diff_and_a_table_and_writes_nothing(place):
    result = run("homes/neo/USER.md", "--dry-run")
    assert result.exit_code == 0
    assert result.stdout == (
        "--- a/homes/neo/USER.md\n+++ b/homes/neo/USER.md\n@@ -1,5 +1,6 @@\n"
        " # About\n-§\n-[COMM] Short.\n-§\n+\n [OPS] Plain.\n+\n+## Communication Style\n+Short.\n"
        "line  category             entry          why\n"
        "   3  communication-style  [COMM] Short.  [COMM] is an alias of communication-style\n"
        "   5  -                    [OPS] Plain.   [OPS] names no declared category\n"
        "homes/neo/USER.md: would be migrated: of 2 entries without a category 1 moved to 1 category, 0 tagged, "
        "1 as before\n"
    )
    assert result.stderr == (
        "the heading '# About' would be the title of the file\n"
        "labels that name no category: OPS (1)\n"
        "  Give them as aliases under taxonomy.categories in catmem.yaml, then run this again.\n"
    )
    assert (place / "homes" / "neo" / "USER.md").read_text() == FLAT
    assert [path.name for path in (place / "homes" / "neo").iterdir()] == ["USER.md"]


def test_a_run_says_how_to_take_it_back_and_that_works(place):
    user = place / "homes" / "neo" / "USER.md"
    result = run(user)
    assert user.read_text() == SECTIONED
    assert "to take it back (revision 2): catmem restore neo/user 1\n" in result.stderr
    assert CliRunner().invoke(group, ["restore", "neo/user", "1"]).exit_code == 0
    assert user.read_text() == FLAT


def test_a_file_in_no_store_has_its_copy_named(place):
    result = run("old notes.md")
    (copy,) = place.glob("*.bak.*")
    assert copy.read_text() == FLAT
    assert f"kept in {copy.name}; to take it back: mv '{copy.name}' 'old notes.md'\n" in result.stderr
    again = run("old notes.md")
    assert again.stdout == (
        "old notes.md: nothing to migrate: of 1 entry without a category 0 moved, 0 tagged, 1 as before\n"
    )


def test_json(place):
    dry = json.loads(run("homes/neo/USER.md", "--dry-run", "--format", "json").stdout)
    result = run("homes/neo/USER.md", "old notes.md", "--format", "json")
    said = json.loads(result.stdout)
    assert (dry["dry_run"], said["dry_run"]) == (True, False)
    user, notes = said["files"]
    assert user["path"] == "homes/neo/USER.md"
    assert (user["entity"], user["written"], user["revision"], user["restore"], user["backup"]) == (
        "neo/user",
        True,
        "2",
        "1",
        None,
    )
    assert notes["entity"] is notes["revision"] is None
    assert notes["backup"].startswith(str(place / "old notes.md.bak."))
    assert (user["title"], user["counts"]) == ("About", {"moved": 1, "tagged": 0, "stayed": 1})
    assert user["unknown"] == [{"label": "OPS", "entries": 1}]
    assert user["entries"][0] == {
        "line": 3,
        "action": "moved",
        "category": "communication-style",
        "label": "[COMM]",
        "tags": {},
        "body": "Short.",
        "why": "[COMM] is an alias of communication-style",
    }
    (before,) = dry["files"]
    assert (before["changed"], before["written"], before["revision"]) == (True, False, None)


def test_the_other_files_are_migrated_if_one_cannot_be(place):
    put(place / "bad.md", b"\xff")
    result = run("bad.md", "old notes.md", "missing.md")
    assert result.exit_code == 2
    assert "error[not_utf8]: bad.md" in result.stderr
    assert "error[missing]: missing.md" in result.stderr
    assert (place / "old notes.md").read_text() == SECTIONED


def test_standard_input(place):
    result = run("-", input=FLAT)
    assert (result.exit_code, result.stdout) == (0, SECTIONED)
    assert run("-", "--dry-run", input=FLAT).stdout.startswith("--- a/-\n")
    assert json.loads(run("-", "--format", "json", input=FLAT).stdout)["files"][0]["text"] == SECTIONED


def test_a_file_is_asked_for():
    assert run().exit_code == 2


def test_what_a_terminal_would_act_on_is_written_out(place):
    put(place / "notes.md", "[\x1b[31mOPS] x\n§\n[COMM] \x1b[31my")
    result = run("notes.md", "--dry-run")
    assert "\x1b" not in result.output
