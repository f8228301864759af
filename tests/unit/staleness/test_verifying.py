"""Verify many entries at once: a category, or what a search finds."""

from __future__ import annotations

from datetime import date

import pytest

from catmem.errors import EditError, ForbiddenError, NoMatchError, OperationCollisionError, StaleError
from catmem.staleness import due
from catmem.workspace.workspace import Workspace
from catmem.writing.write import write
from tests.end_to_end.terminal import run
from tests.golden.case import put
from tests.together import together

NEO = """\
## Talk
[created: 2026-01-01] Likes green tea.
§
[verified_date: 2026-02-01] Likes black tea.
§
No calls before ten.

## Rules
Two spaces.
"""
DAY = date(2026, 11, 1)


@pytest.fixture
def place(tmp_path):
    put(tmp_path / "catmem.yaml", "taxonomy: {categories: {talk: {aliases: [speech]}}}\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [talk, rules]\nmemory_categories: [talk]\n")
    put(tmp_path / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: [talk]\nmemory_categories: [talk]\n")
    put(tmp_path / "homes" / "neo" / "USER.md", NEO)
    put(tmp_path / "homes" / "neo" / "MEMORY.md", "## Talk\nThe tea is in the kitchen.\n")
    return tmp_path


@pytest.fixture
def workspace(place):
    workspace = Workspace.open(place)
    yield workspace
    workspace.store.close()


def text(place, target="USER"):
    return (place / "homes" / "neo" / f"{target}.md").read_text(encoding="utf-8")


def test_a_category_in_both_files_with_one_revision_each(workspace, place):
    written = workspace.verify_all("neo", category="speech", as_of=DAY)
    assert [(each.entity, each.revision, len(each.entries)) for each in written] == [
        ("neo/user", "2", 3), ("neo/memory", "2", 1),
    ]  # fmt: skip
    assert text(place).count("verified_date: 2026-11-01") == 3
    assert "## Rules\nTwo spaces.\n" in text(place)
    assert "verified_date: 2026-11-01" in text(place, "MEMORY")


def test_one_file(workspace, place):
    (written,) = workspace.verify_all("neo", category="talk", target="memory", as_of=DAY)
    assert written.entity == "neo/memory"
    assert text(place) == NEO


def test_what_a_search_finds(workspace, place):
    written = workspace.verify_all("neo", query="tea", as_of=DAY)
    assert [each.entity for each in written] == ["neo/user", "neo/memory"]
    assert text(place).count("verified_date: 2026-11-01") == 2
    assert "No calls" in text(place)
    assert "[verified" not in text(place).partition("No calls")[0][-30:]


def test_what_a_search_finds_in_a_category(workspace, place):
    with pytest.raises(NoMatchError, match="matches 'tea' in the category 'rules'"):
        workspace.verify_all("neo", query="tea", category="rules")
    assert text(place) == NEO


def test_entries_that_say_the_same(workspace, place):
    put(place / "homes" / "neo" / "USER.md", "## Talk\ntwice\n§\ntwice\n")
    workspace.verify_all("neo", category="talk", target="user", as_of=DAY)
    assert text(place).count("verified_date: 2026-11-01") == 2


# --- more entries than one revision takes ---------------------------------------------------------------------------


@pytest.fixture
def few(monkeypatch):
    """One revision verifies two entries."""
    monkeypatch.setattr(due, "MOST", 2)


@pytest.mark.usefixtures("few")
def test_very_many_are_verified_on_what_the_caller_saw(workspace, place):
    seen = workspace.read("neo").digest
    written = workspace.verify_all("neo", category="talk", target="user", expected=seen, as_of=DAY)
    assert [(each.revision, len(each.entries)) for each in written] == [("2", 2), ("3", 1)]
    assert text(place).count("verified_date: 2026-11-01") == 3


@pytest.mark.usefixtures("few")
def test_very_many_on_an_old_view_are_refused_before_the_first(workspace, place):
    seen = workspace.read("neo").digest
    workspace.add("neo", "New.", category="rules")
    before = text(place)
    with pytest.raises(StaleError):
        workspace.verify_all("neo", category="talk", target="user", expected=seen, as_of=DAY, on_stale="refuse")
    assert text(place) == before


@pytest.mark.usefixtures("few")
def test_somebody_who_writes_between_two_parts_is_seen(workspace, monkeypatch):
    def interrupted(*arguments, **how):
        written = write(*arguments, **how)
        workspace.add("neo", "New.", category="rules")
        return written

    seen = workspace.read("neo").digest
    monkeypatch.setattr(due, "write", interrupted)
    with pytest.raises(StaleError):
        workspace.verify_all("neo", category="talk", target="user", expected=seen, as_of=DAY, on_stale="refuse")


@pytest.mark.usefixtures("few")
def test_very_many_on_an_old_view_make_one_branch(workspace, place):
    seen = workspace.read("neo").digest
    workspace.add("neo", "New.", category="rules")
    written = workspace.verify_all("neo", category="talk", target="user", expected=seen, as_of=DAY, on_stale="branch")
    assert [each.branch for each in written] == [True, True]
    (branch,) = [each.revision for each in workspace.store.branches("neo/user") if each.is_branch]
    assert workspace.store.read("neo/user", branch).data.count(b"verified_date: 2026-11-01") == 3


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("done", [1, 2])
def test_a_retry_of_very_many_goes_on_where_the_first_try_stopped(workspace, place, monkeypatch, done):
    def stopped(*arguments, **how):
        nonlocal done
        if not done:
            raise KeyboardInterrupt
        done -= 1
        return write(*arguments, **how)

    def verified():
        return workspace.verify_all("neo", category="talk", target="user", expected=seen, as_of=DAY, op_id="mine")

    seen, parts = workspace.read("neo").digest, done
    with monkeypatch.context() as patched:
        patched.setattr(due, "write", stopped)
        if parts == 1:
            with pytest.raises(KeyboardInterrupt):
                verified()
        else:
            verified()
    assert [(each.revision, each.repeated) for each in verified()] == [("2", True), ("3", parts == 2)]
    assert text(place).count("verified_date: 2026-11-01") == 3


@pytest.mark.parametrize("which", [{"category": "talk"}, {"query": "tea"}])
def test_a_retry_in_both_files_writes_nothing_more(workspace, which):
    first, again = (workspace.verify_all("neo", **which, as_of=DAY, op_id="mine") for _ in range(2))
    assert [(each.revision, each.digest, each.repeated) for each in again] == [
        (each.revision, each.digest, True) for each in first
    ]


def test_other_entries_under_the_same_op_id_are_refused(workspace):
    workspace.verify_all("neo", category="talk", target="user", as_of=DAY, op_id="mine")
    with pytest.raises(OperationCollisionError):
        workspace.verify_all("neo", category="rules", target="user", as_of=DAY, op_id="mine")


@pytest.mark.usefixtures("few")
def test_a_dry_run_of_very_many_tries_each_part_on_what_is_there(workspace, place):
    seen = workspace.read("neo").digest
    written = workspace.verify_all("neo", category="talk", target="user", expected=seen, op_id="mine", dry_run=True)
    assert [len(each.entries) for each in written] == [2, 1]
    assert text(place) == NEO


@pytest.mark.usefixtures("few")
def test_entries_that_say_the_same_in_several_parts(workspace, place):
    put(place / "homes" / "neo" / "USER.md", "## Talk\n" + "\n§\n".join(["thrice"] * 3) + "\n")
    workspace.verify_all("neo", category="talk", target="user", as_of=DAY)
    assert text(place).count("verified_date: 2026-11-01") == 3


def test_a_dry_run_writes_nothing(workspace, place):
    (first, _) = workspace.verify_all("neo", category="talk", dry_run=True)
    assert len(first.entries) == 3
    assert text(place) == NEO


@together(
    ("choices", "error", "message"),
    [
        ({"category": "nothing"}, NoMatchError, "no entry of neo is in the category 'nothing'"),
        ({"query": "coffee"}, NoMatchError, "matches 'coffee'"),
        ({}, EditError, "name a category or what to search for"),
        ({"category": "talk", "expected": "1"}, EditError, "expected is what one file was"),
        ({"category": "talk", "actor": "neo"}, ForbiddenError, "neo may not say that a fact was verified"),
        ({"category": "nothing", "actor": "neo"}, ForbiddenError, "neo may not say that a fact was verified"),
        ({"category": "talk", "as_of": date(2999, 1, 1)}, EditError, "in the future"),
        ({"category": "talk", "as_of": date(2025, 1, 1)}, EditError, "is before that"),
    ],
)
def test_what_is_refused(workspace, place, choices, error, message):
    with pytest.raises(error, match=message):
        workspace.verify_all("neo", **choices)
    assert text(place) == NEO


def test_an_actor_verifies_what_it_sees(workspace, place):
    with pytest.raises(NoMatchError):
        workspace.verify_all("neo", category="rules", actor="boss")
    workspace.verify_all("neo", category="talk", actor="boss", as_of=DAY)
    assert text(place).count("verified_date: 2026-11-01") == 3


# --- the command ----------------------------------------------------------------------------------------------------


def test_the_command(place):
    result = run("verify", "--root", place, "-p", "neo", "--all", "-c", "talk")
    assert result.stdout == (
        "verified 3 entries in neo/user (revision 2)\nverified 1 entry in neo/memory (revision 2)\n"
    )
    result = run("verify", "--root", place, "-p", "neo", "--all", "-c", "talk", "-t", "user")
    assert result.stdout == "3 entries in neo/user verified already; nothing written\n"


def test_the_command_tries_out(place):
    result = run("verify", "--root", place, "-p", "neo", "--search", "tea", "--dry-run")
    assert result.stdout.splitlines() == [
        "talk: Likes green tea.", "talk: Likes black tea.", "talk: The tea is in the kitchen.",
    ]  # fmt: skip
    assert "Nothing was written. 3 entries would be verified." in result.stderr
    assert text(place) == NEO


@together(
    ("arguments", "message"),
    [
        ([], "Say which entries: OLD for one, --all -c CATEGORY, or --search QUERY."),
        (["--all"], "--all needs -c CATEGORY"),
        (["tea", "--all", "-c", "talk"], "OLD and --all exclude each other"),
        (["tea", "--search", "tea"], "OLD and --search exclude each other"),
        (["--all", "-c", "talk", "--search", "tea"], "--all and --search exclude each other"),
    ],
)
def test_the_command_with_a_mixture(place, arguments, message):
    assert message in run("verify", "--root", place, "-p", "neo", *arguments, status=2).stderr
    assert text(place) == NEO
