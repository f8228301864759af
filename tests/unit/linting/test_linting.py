"""Lint of a root on disk."""

import os
from datetime import date

import pytest

from catmem.errors import ChangedMeanwhileError, UnreadableError
from catmem.linting import rule as registry
from catmem.linting.root_lint import Linter
from catmem.linting.rule import Finding, Fix
from catmem.model.edit import TextEdit
from catmem.workspace.workspace import Workspace
from tests.golden.case import put
from tests.together import together
from tests.unit.linting.rules_for_tests import registered, word_rule

CODES = ("CM299", "CM298", "CM297", "CM192")
AS_OF = date(2026, 11, 21)


@pytest.fixture(autouse=True)
def looked_at():
    """The texts that the rule for "todo" was run on, so that a test can tell how often each was looked at."""
    seen = []

    def todo():
        def check(file, context):
            """Find a word.

            ## Why
            A test wants it.
            """
            seen.append(file.path)
            start = file.text.find("todo")
            if start >= 0:
                fix = Fix((TextEdit(start, start + 4, "done"),), safe=True, message="Write done")
                yield Finding(start, start + 4, "todo", fix=fix)

        registry.rule("CM299", "no-todo", fixes="safe")(check)

    def twice():
        def check(root, context):
            """Find entries that stand in two files.

            ## Why
            A test wants it.
            """
            first = {}
            for path, file in root.items():
                for entry in file.entries:
                    if first.setdefault(entry.words, path) != path:
                        yield Finding(entry.start, entry.end, f"stands in {first[entry.words]} too", path=path)

        registry.rule("CM298", "no-twice", scope="root")(check)

    with registered(todo, twice, word_rule("CM297", "later", severity="hint")):
        yield seen


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    put(folder / "catmem.yaml", "version: 1\n")
    put(folder / "profiles" / "neo.yaml", "{}")
    put(folder / "homes" / "neo" / "USER.md", "## A\ntodo\n")
    put(folder / "homes" / "neo" / "MEMORY.md", "fine\n")
    put(folder / "homes" / "other" / "USER.md", "fine\n")
    return folder


def open_lint(root, *paths, **choices):
    choices = {"select": CODES, "as_of": AS_OF} | choices
    return Linter.open(root, paths=paths, **choices)


def found(root, *paths, **choices):
    return places(open_lint(root, *paths, **choices).run())


def places(result):
    return [f"{each.path}:{each.line} {each.code}" for each in result.diagnostics]


EVERYTHING = ["homes/neo/USER.md:2 CM299", "homes/other/USER.md:1 CM298"]


def test_everything_below_the_root(root):
    before = sorted(root.rglob("*"))
    result = open_lint(root).run()
    assert places(result) == EVERYTHING
    assert sorted(root.rglob("*")) == before  # nothing is written
    assert (result.files, result.exit_status) == (5, 1)


@together(
    ("path", "lines"),
    [
        ("homes/neo", EVERYTHING[:1]),
        ("homes/neo/MEMORY.md", []),
        ("homes/other/USER.md", EVERYTHING[1:]),
        (".", EVERYTHING),
        ("profiles", []),
        ("catmem.yaml", []),
    ],
)
def test_only_what_is_named_is_reported_and_rules_across_files_see_all(root, path, lines):
    assert found(root, root / path) == lines


def test_a_folder_that_is_no_root(tmp_path):
    put(tmp_path / "a" / "USER.md", "todo")
    put(tmp_path / "b" / "MEMORY.md", "todo too")
    assert found(tmp_path) == ["a/USER.md:1 CM299", "b/MEMORY.md:1 CM299"]
    assert found(tmp_path, tmp_path / "a") == ["a/USER.md:1 CM299"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]  # nothing is written


def test_other_roots_and_hidden_folders_are_left_out(root):
    put(root / "examples" / "catmem.yaml", "version: 1\n")
    for place in ("examples", ".hidden", "node_modules/x", ".git"):
        put(root / place / "USER.md", "todo")
    assert found(root) == EVERYTHING
    assert found(root, root / "examples") == ["examples/USER.md:1 CM299"]


def test_homes_outside_the_root(root, tmp_path):
    put(root / "catmem.yaml", f"version: 1\nhomes: {tmp_path}/away/{{name}}\n")
    put(tmp_path / "away" / "neo" / "USER.md", "todo")
    assert f"{tmp_path.as_posix()}/away/neo/USER.md:1 CM299" in found(root)


def test_a_link_below_the_root_is_not_followed(root, tmp_path):
    put(tmp_path / "secret.md", "todo")
    (root / "homes" / "other" / "MEMORY.md").symlink_to(tmp_path / "secret.md")
    assert found(root) == [EVERYTHING[0], "homes/other/MEMORY.md:1 CM192", EVERYTHING[1]]


# --- files that cannot be read ---------------------------------------------------------------------------------------


def test_what_cannot_be_read_is_a_finding_and_the_rest_is_looked_at(root):
    (root / "homes" / "odd" / "USER.md").mkdir(parents=True)
    (root / "homes" / "odd" / "MEMORY.md").symlink_to("nowhere")
    os.mkfifo(root / "homes" / "other" / "MEMORY.md")
    lines = [f"homes/{place}:1 CM192" for place in ("odd/MEMORY.md", "odd/USER.md", "other/MEMORY.md")]
    assert found(root) == sorted([*EVERYTHING, *lines])


def test_a_file_that_vanishes_after_it_was_found(root):
    linter = open_lint(root)
    (root / "homes" / "neo" / "USER.md").unlink()
    assert places(linter.run()) == ["homes/neo/USER.md:1 CM192", EVERYTHING[1]]


@together("path", ["gone.md", "homes/nobody", "", "notes.txt"])
def test_a_path_that_lint_can_do_nothing_with_is_an_error(root, path, monkeypatch):
    monkeypatch.chdir(root)
    put(root / "notes.txt", "todo")
    with pytest.raises(UnreadableError):
        open_lint(root, path)


# --- configuration that is not right -----------------------------------------------------------------------------------


@together(
    ("name", "text", "code"),
    [
        ("catmem.yaml", "version: [", "yaml_syntax"),
        ("catmem.yaml", "version: 1\ncolour: red\n", "schema"),
        ("catmem.yaml", "lint: {ignore: [CM296]}\n", "unknown_rule"),
        ("catmem.yaml", "lint: {options: {CM299: {x: 1}}}\n", "schema"),
        ("profiles/neo.yaml", "tier: [\n", "yaml_syntax"),
        ("profiles/neo.yaml", "teir: 1\n", "schema"),
        ("profiles/neo.yaml", "# What it said is gone.\n", "schema"),
        ("profiles/neo.yaml", "extends: nobody\n", "unknown_name"),
        ("profiles/neo.yaml", "memory_dir: ../away\n", "outside_root"),
    ],
)
def test_files_are_looked_at_all_the_same_and_the_status_is_2(root, name, text, code):
    before = (root / name).read_text() if (root / name).exists() else None
    put(root / name, text)
    result = open_lint(root).run()
    (root / name).unlink() if before is None else put(root / name, before)
    assert [error.code for error in result.errors] == [code]
    assert result.exit_status == 2
    assert set(EVERYTHING) <= set(places(result))


# --- runs ------------------------------------------------------------------------------------------------------------


def test_each_run_looks_at_the_files_as_they_are(root):
    linter = open_lint(root)
    assert places(linter.run()) == EVERYTHING
    put(root / "homes" / "other" / "USER.md", "else\n")
    assert places(linter.run()) == EVERYTHING[:1]
    put(root / "homes" / "neo" / "MEMORY.md", "else\n")
    assert places(linter.run()) == EVERYTHING
    (root / "homes" / "neo" / "MEMORY.md").unlink()
    assert places(linter.run()) == ["homes/neo/MEMORY.md:1 CM192", *EVERYTHING[:1]]
    put(root / "homes" / "neo" / "MEMORY.md", "")
    assert places(linter.run()) == EVERYTHING[:1]


def test_the_rounds_of_a_fix_look_at_changed_files_alone(root, looked_at):
    open_lint(root).fix()
    assert sorted(looked_at) == [f"homes/{name}.md" for name in ("neo/MEMORY", "neo/USER", "neo/USER", "other/USER")]


# --- fixes -----------------------------------------------------------------------------------------------------------


def test_a_file_of_a_profile_is_written_through_the_store(root):
    linter = open_lint(root)
    linter.write(linter.planned("homes/neo/USER.md", "## A\ndone\n"))
    workspace = Workspace.open(root, search=False)
    revision = workspace.store.head("neo/user")
    workspace.store.close()
    assert revision.op == "lint"
    assert (root / "homes" / "neo" / "USER.md").read_text() == "## A\ndone\n"


def test_a_file_of_nobody_is_written_in_its_place(root):
    linter = open_lint(root)
    change = linter.planned("homes/other/USER.md", "better\n")
    linter.write(change)
    assert [path.name for path in (root / "homes" / "other").iterdir()] == ["USER.md"]
    with pytest.raises(ChangedMeanwhileError):
        linter.write(change)
    assert (root / "homes" / "other" / "USER.md").read_text() == "better\n"
