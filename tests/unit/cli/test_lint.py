"""``catmem lint``, ``catmem rule`` and ``catmem fmt``."""

import json
import os
from functools import partial

import pytest

from tests.end_to_end.terminal import run, run_json
from tests.golden.case import put
from tests.together import together
from tests.unit.linting.rules_for_tests import registered, word_rule


def lint(*arguments, **choices):
    return run("lint", "--select", "CM299,CM298", "--select", "CM297", *arguments, **choices)


@pytest.fixture(autouse=True)
def rules():
    with registered(
        word_rule("CM299", "todo", "done", fixes="safe", options={"words": ("a", "b")}),
        word_rule("CM298", "draft", "", safe=False, fixes="unsafe"),
        word_rule("CM297", "later", severity="hint"),
    ):
        yield


@pytest.fixture
def place(tmp_path, monkeypatch):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", "{}")
    put(tmp_path / "homes" / "neo" / "USER.md", "todo this\n§\nlater\n")
    put(tmp_path / "homes" / "neo" / "MEMORY.md", "a draft note\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def user(place):
    return place / "homes" / "neo" / "USER.md"


def test_findings_go_to_stdout_and_the_count_to_stderr(place):
    result = lint(status=1)
    assert [line for line in result.stdout.splitlines() if line.startswith("homes")] == [
        "homes/neo/MEMORY.md:1:3: warning CM298 draft stands here (no-draft)",
        "homes/neo/USER.md:1:1: warning CM299 todo stands here (no-todo)",
        "homes/neo/USER.md:3:1: hint CM297 later stands here (no-later)",
    ]
    assert result.stderr == "4 files: 2 warnings, 1 hint\n"


def test_paths_are_shown_from_the_working_folder(place, monkeypatch):
    monkeypatch.chdir(place / "homes")
    result = lint("neo/USER.md", status=1)
    assert result.stdout.startswith("neo/USER.md:1:1: warning CM299")
    assert result.stderr.startswith("1 file: ")


def test_what_is_not_shown_does_not_fail(place):
    result = lint("--min-severity", "error")
    assert result.stdout == ""
    assert result.stderr == "4 files: 2 warnings (not shown), 1 hint (not shown)\n"
    lint("--min-severity", "hint", status=1)
    put(place / "catmem.yaml", "version: 1\nlint: {min_severity: severe}\n")
    assert "lint.min_severity" in lint(status=2).stderr


def test_diff_writes_nothing(user):
    result = lint("--diff", status=1)
    assert result.stdout.splitlines()[:2] == ["--- a/homes/neo/USER.md", "+++ b/homes/neo/USER.md"]
    assert "-todo this\n+done this\n" in result.stdout
    assert user.read_text() == "todo this\n§\nlater\n"
    assert not (user.parent / ".catmem").exists()


def test_fix_says_what_is_left(user):
    result = lint("--fix", status=1)
    assert user.read_text() == "done this\n§\nlater\n"
    assert "CM299" not in result.stdout
    assert result.stderr == "fixed 1 finding in 1 file\n4 files: 1 warning, 1 hint\n"
    assert "fixed" not in lint("--fix", status=1).stderr


def test_a_file_that_cannot_be_written_is_an_error_and_others_are_fixed(place, user):
    other = place / "notes" / "USER.md"
    put(other, "todo")
    put(user.parent / ".catmem", "a file where the store should be")
    lint("--fix", status=4)
    assert other.read_text() == "done"
    assert user.read_text().startswith("todo")


@pytest.mark.parametrize(
    ("config", "code"), [("version: [", "yaml_syntax"), ("lint: {ignore: [CM295]}\n", "unknown_rule")]
)
def test_configuration_that_is_not_right_is_status_2_after_the_findings(place, config, code):
    put(place / "catmem.yaml", config)
    result = lint(status=2)
    assert "CM299" in result.stdout
    assert f"error[{code}]: catmem.yaml" in result.stderr


# --- rule ------------------------------------------------------------------------------------------------------------


@together("name", ["CM320", "cm320", "repeated-tag"])
def test_the_page_of_a_rule(name):
    result = run("rule", name)
    assert result.stdout.startswith(
        "# CM320 repeated-tag\n\nSeverity: warning, safe or unsafe fix.\n\nFind tags that an entry gives twice.\n\n"
    )
    assert result.stdout.endswith("In frontmatter you mend it yourself.\n")


def test_all_rules_one_a_line():
    lines = run("rule").stdout.splitlines()
    assert [line.split() for line in lines if "CM297" in line] == [["CM297", "no-later", "hint", "Find", "a", "word."]]
    assert len(json.loads(run("rule", "--format", "json").stdout)["rules"]) == len(lines)


def test_nothing_to_look_for_or_at_is_no_success(place):
    run("lint", "--select", "", status=2)
    (place / "empty").mkdir()
    assert "nothing_to_lint" in lint("empty", status=2).stderr


# --- fmt -------------------------------------------------------------------------------------------------------------

UNTIDY = "## A\n\n\none\n§\n§\ntwo\n## B\nthree"
PLAIN = "## A\none\n§\ntwo\n\n## B\nthree\n"
fmt = partial(run, "fmt")


@pytest.fixture
def untidy(place, user):
    """A USER.md that is to be formatted, beside a MEMORY.md that is not."""
    put(place / "homes" / "neo" / "MEMORY.md", PLAIN)
    return put(user, UNTIDY)


def test_the_files_of_the_root(untidy):
    assert fmt("--check", status=1).stdout == "neo/user: would be formatted\n"
    assert untidy.read_text() == UNTIDY
    result = fmt()
    assert result.stdout == "neo/user: formatted (revision 2)\n"
    assert result.stderr == "1 of 2 files changed\n"
    assert untidy.read_text() == PLAIN
    assert sorted(path.name for path in untidy.parent.iterdir()) == [".catmem", "MEMORY.md", "USER.md"]
    fmt("--check")
    assert fmt().stdout == ""
    assert run_json("fmt")["written"] is False


def test_one_bad_file_does_not_stop_the_others(place, untidy):
    bad = put(place / "homes" / "a" / "USER.md", b"\xff")
    loop = place / "homes" / "a" / "LOOP.md"
    loop.symlink_to(loop)
    result = fmt(bad.parent, place / "nothing.md", loop, untidy, status=2)
    for code in ("not_utf8", "missing", "symlink"):
        assert f"error[{code}]" in result.stderr
    assert "1 of 4 files changed" in result.stderr.splitlines()
    assert untidy.read_text() == PLAIN
    assert bad.read_bytes() == b"\xff"


@together("name", [b"\xff.md", b"\x1b[31m.md", b"a\nb.md"])
@pytest.mark.parametrize("options", [(), ("--format", "json"), ("--diff",), ("--layout", "shared")])
def test_odd_file_names(place, name, options):
    path = os.fsdecode(name)
    put(place / path, UNTIDY + "\n## C\nthree\n")
    result = fmt(path, *options, status=int("--diff" in options))
    assert "\x1b" not in result.output
    if "json" in options:
        assert json.loads(result.stdout)["files"][0]["path"] == path
