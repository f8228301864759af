"""The commands that an answer names next: they are of the root that was named, and do what they say."""

import pytest

from tests.end_to_end.terminal import run, run_json
from tests.golden.case import put

USER = "Prefers tea.\n§\nThe token is ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8\n\n## Talk\nShort answers.\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A root ``root`` in the working folder, with a specialist that has more than its source."""
    root = tmp_path / "root"
    put(root / "catmem.yaml", "version: 1\ntaxonomy: {categories: {talk: {aliases: [speech]}}}\n")
    put(root / "profiles" / "boss.yaml", "tier: 1\nuser_memory_categories: ['*']\n")
    put(
        root / "profiles" / "neo.yaml",
        "seed_from: boss\nuser_memory_categories: [talk]\nwritable_categories: [talk]\n",
    )
    put(root / "homes" / "boss" / "USER.md", USER)
    put(root / "homes" / "boss" / "MEMORY.md", "Loose.\n")
    put(root / "homes" / "neo" / "USER.md", "## Talk\nNo calls before ten.\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def proposed():
    done = run_json("add", "-p", "neo", "-c", "talk", "Likes lists.", "--as", "neo", "--propose", "--root", "root")
    return done["waiting"]


def named(*arguments, **how):
    """The commands of catmem that an answer names."""
    done = run(*arguments, "--root", "root", **how)
    words = f"{done.stdout}\n{done.stderr}".replace("'", "\n").splitlines()
    return [f"catmem {each.partition('catmem ')[2]}".rstrip(".") for each in words if "catmem " in each]


def test_each_is_of_the_root_that_was_named(place):
    waits = proposed()
    said = {
        "status": named("status"),
        "sort": named("sort", "-p", "boss", "--yes"),
        "a printed list": [each for each in named("sort", "-p", "boss") if "-p boss -t memory" in each],
        "promote": named("promote"),
        "promote --all": named("promote", "--all"),
        "proposals": named("proposals"),
        "approve": named("proposals", "--approve", waits),
        "review --list": named("review", "--list"),
    }
    assert all(said.values()), said
    without = {name: [each for each in commands if "--root root" not in each] for name, commands in said.items()}
    assert not any(without.values()), without


def test_what_is_approved_in_other_words_is_shown_as_it_was_written(place):
    said = run("proposals", "--edit", proposed(), "Likes", "short", "lists.", "--root", "root")
    assert "neo/user says: Likes short lists." in said.stderr


def test_a_list_of_another_file_with_the_same_text_is_refused(place):
    put(place / "root" / "homes" / "neo" / "USER.md", USER)
    put(place / "list.txt", run("sort", "-p", "boss", "-t", "user", "--root", "root").stdout)
    refused = run("sort", "-p", "neo", "-t", "user", "--read", "list.txt", "--root", "root", status=3)
    assert "this list is of boss/user, and not of neo/user" in refused.stderr


@pytest.mark.parametrize(
    "command",
    ["list -c takl", "list -p neo -c takl", "search -c takl short", "prompt neo -c takl", "access --why neo speach"],
)
def test_an_unknown_category_is_told_with_the_nearest(place, command):
    said = run(*command.split(), "--root", "root")
    assert "id you mean 'talk'?" in said.stderr or "id you mean 'speech'?" in said.stderr


def test_a_secret_is_purged_by_its_text_from_standard_input(place):
    put(place / "list.txt", "1 talk\n2 secret\n")
    said = run("sort", "-p", "boss", "-t", "user", "--read", "list.txt", "--root", "root").stderr
    assert "  catmem purge boss/user - --dry-run --root root\n" in said


def test_a_dry_run_of_an_undo_names_the_revision_and_who_wrote_it(place):
    run("add", "-p", "boss", "-c", "talk", "Likes maps.", "--as", "boss", "--root", "root")
    said = run("undo", "boss/user", "--dry-run", "--root", "root").stderr
    assert "revision 2 (put: Added to talk) by boss would be taken back" in said


@pytest.mark.parametrize(
    ("options", "said"), [((), "recorded yet."), (("-n", "3"), "recorded yet."), (("--agent", "neo"), "that fits.")]
)
def test_an_empty_log_says_whether_a_filter_was_given(place, options, said):
    assert run("audit", *options, "--root", "root").stderr.strip().endswith(said)


def test_a_file_to_migrate_is_named_from_the_working_folder(place):
    put(place / "root" / "homes" / "boss" / "USER.md", "[TALK] Short answers.\n")
    steps = run_json("status", "--root", "root")["next"]
    command = next(each["command"] for each in steps if each["kind"] == "unsorted")
    run(*command.split()[1:], "--dry-run", "--root", "root")
