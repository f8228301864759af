"""What is wrong with files, names and options becomes a message and a status, never a traceback, and no file changes."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.end_to_end.terminal import error_of, process, run, run_json, write_root
from tests.golden.case import put
from tests.together import together
from tests.unit.seeding.seeds import everything

USER, PROFILE, CONFIG = Path("homes/neo/USER.md"), Path("profiles/neo.yaml"), Path("catmem.yaml")


def holds(name, data):
    """The file with these bytes or this text."""
    return lambda root: put(root / name, data)


def instead(name, make):
    """Something else in the place of the file, or of its folder."""

    def damage(root):
        path = root / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
        make(path)

    return damage


CASES = {
    "an undeclared category, closed": (
        holds(CONFIG, "taxonomy: {closed: true, categories: {pay: {}}}"),
        "unknown_name",
    ),
    "a profile that is no YAML": (holds(PROFILE, "a: [\n"), None),
    "a profile that is not UTF-8": (holds(PROFILE, b"title: \xff\n"), "not_utf8"),
    "a profile over the cap": (holds(PROFILE, "# " + "x" * (1 << 20)), "too_large"),
    "a profile that leads out": (holds(PROFILE, "memory_dir: ../elsewhere\n"), "outside_root"),
    "a profile of a folder": (instead(PROFILE, Path.mkdir), "not_a_file"),
    "a profile of a pipe": (instead(PROFILE, os.mkfifo), "not_a_file"),
    "no folder of profiles": (instead(PROFILE.parent, lambda path: None), "missing"),
    "a file for the folder of profiles": (instead(PROFILE.parent, Path.touch), None),
    "a configuration that is no YAML": (holds(CONFIG, "a: b: c\n"), None),
}
COMMANDS = [("prompt", "neo"), ("list", "-p", "neo"), ("show", "-p", "neo")]


@pytest.fixture
def place(tmp_path, monkeypatch):
    put(tmp_path / CONFIG, "version: 1\n")
    put(tmp_path / PROFILE, "user_memory_categories: [talk]\n")
    put(tmp_path / USER, "## Talk\none\n\n## Pay\nsecret\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", CASES)
def test_a_root_that_is_not_right(place, case):
    damage, code = CASES[case]
    damage(place)
    before = everything(place)
    for arguments in COMMANDS:
        error = error_of(*arguments)
        assert {"code", "message"} <= set(error) <= {
            "code", "message", "path", "line", "column", "key", "hint", "offset", "size", "limit",
        }  # fmt: skip
        assert error["code"] == code or code is None
        assert "secret" not in str(error)
    said = run("prompt", "neo", status=2)
    assert said.stdout == ""
    assert f"error[{error['code']}]: " in said.stderr
    assert everything(place) == before


def test_fsck_is_named_for_bytes_of_memory_alone(place):
    for name in ("list.txt", PROFILE):
        put(place / name, b"title: \xff\n")
    put(place / "notes" / "USER.md", b"caf\xe9\n")
    for arguments in (("sort", USER, "--read", "list.txt"), ("prompt", "neo"), ("init", "new", "--start", "notes")):
        error = error_of(*arguments)
        assert (error["code"], "iconv" in error["hint"], "fsck" in error["hint"]) == ("not_utf8", True, False)
    put(place / PROFILE, "user_memory_categories: [talk]\n")
    put(place / USER, b"caf\xe9\n")
    for arguments in (("list", "-p", "neo"), ("show", USER), ("fmt", USER)):
        assert "catmem fsck" in run(*arguments, status=2).stderr


@together("name", ["nothing.md", "", "x" * 300, "a/" * 3000 + "b", "\udcff"])
def test_a_file_that_is_not_there(place, name):
    for command in ("show", "fmt"):
        assert run(command, name, status=2).stderr
    assert "error[not_a_file]" in run("show", place, status=2).stderr


@together("date", ["soon", "2026-13-45", "[a, b]", "", '"2026-01-01\\n"'])
def test_a_broken_date_is_no_error(place, date):
    put(place / USER, f"## Talk\n[verified_date: {date}, expires: {date}, created: {date}] one\n")
    for arguments in COMMANDS:
        assert "one" in run(*arguments).stdout
    prompt = run("prompt", "neo")
    assert "- one\n" in prompt.stdout
    assert "USER.md:2: expires" in prompt.stderr
    assert prompt.stderr.count("so it does not count") == 3


# --- outside of a root nobody is told that all is well there, and nothing is made ---

OF_A_ROOT = [
    "access", "fsck --anchors", "audit", "branches", "branches neo", "diff neo", "doctor", "fmt", "fsck", "key list",
    "key new person", "key remove person", "lint", "list", "log neo", "merge neo", "merge neo 8a --drop",
    "log --verify", "log neo --verify", "restore neo 1", "review --list",
    "search x", "serve --port 0", "stats", "store copy files files", "store info", "token list",
    "token new anna --person", "token remove anna", "watch",
]  # fmt: skip


@together("command", OF_A_ROOT)
def test_a_folder_that_is_no_root_is_told(tmp_path, monkeypatch, command):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "elsewhere").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / "elsewhere")
    result = run(*command.split(), status=2)
    assert result.stdout == ""
    assert "error[no_root]" in result.stderr
    assert "\n  " in result.stderr  # the hint
    assert [path.name for path in tmp_path.rglob("*")] == ["elsewhere"]


# --- options that leave each other nothing to do are refused, by their names ---

APART = [
    (("list", "neo", "-p", "boss"), "Name the profile once"),
    (("access", "neo", "--profile=boss"), "Name the profile once"),
    (("prompt", "neo", "-p", "boss"), "unexpected extra argument"),
    (("diff", "--git", "homes/neo/USER.md", "--root", "."), "--git does not go with --root"),
    (("export", "--snapshot", "s.json", "--format", "json"), "--snapshot does not go with --format"),
    (("export",), "Missing option '--format': 'catmem export --format markdown' is for people"),
    (("export",), "'catmem export --snapshot FILE' a backup for 'catmem import'"),
    (("lint", "--unsafe-fixes"), "--unsafe-fixes goes with --fix or --diff"),
    (("lint", "--diff", "--fix"), "--diff does not go with --fix"),
    (("lint", "--diff", "--format", "json"), "--diff does not go with --format"),
    (("merge", "neo", "8a", "--drop", "--precedence", "ours"), "--drop does not go with --precedence"),
    (("proposals", "--approve"), "Usage: "),
    (("proposals", "--reject", "--reason", "No."), "Usage: "),
    (("proposals", "--edit", "p-0000000000"), "Say in which words: catmem proposals --edit p-0000000000 WORDS."),
    (("proposals", "--approve", "--reject", "p-0000000000"), "Usage: "),
    (("proposals", "--approve", "p-0000000000", "--reason", "Yes."), "Usage: "),
    (("proposals", "neo", "trinity"), "Usage: "),
    (("proposals", "--interactive", "--format", "json"), "Usage: "),
    (("add", "x"), "Missing option"),
    (("add", "x", "y", "-p", "neo"), "extra argument (y). A text of several words stands in quotes."),
    (("list", "neo", "-t", "usr"), "'usr' is not one of 'user', 'memory'. Did you mean 'user'?"),
    (("list", "neo", "-t", "memry"), "Did you mean 'memory'?"),
    (("list", "neo", "--format", "jsn"), "Did you mean 'json'?"),
    (("list", "neo", "-t", "zzz"), "'zzz' is not one of 'user', 'memory'.\n"),
    (("import", "--from", "herms"), "Did you mean 'hermes'?"),
    (("sync", "--to", "claude-agnt", "-p", "neo"), "Did you mean 'claude-agent'?"),
]


HINTS = [
    ("categories: {talk: {}}", "It belongs below taxonomy: write taxonomy: {categories: …}."),
    ("verion: 1", "Did you mean 'version'?"),
    ("a: [b, c\n", "The bracket that opens here is not closed."),
    ("a: {b: c\n", "The bracket that opens here is not closed."),
    ("a: [b,\n", "The bracket that opens before this is not closed."),
    ("a: [b\nc: d\ne: f\n", "The bracket that opens here is not closed, or a value in it needs quotes."),
    ("a: 'b\n", "The quote that opens here is not closed."),
    ('a: "b\n', "The quote that opens here is not closed."),
    ("a: b: c", "Mend the YAML at this place; a value with special characters stands in quotes."),
]


@together(("text", "hint"), HINTS)
def test_what_is_wrong_in_a_configuration_says_what_to_write(place, text, hint):
    put(place / CONFIG, text)
    assert hint in error_of("list", "neo")["hint"]


@pytest.fixture
def team(tmp_path, monkeypatch):
    write_root(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@together(("arguments", "said"), APART)
def test_options_that_do_not_apply_together_are_refused(team, arguments, said):
    before = everything(team)
    assert said in run(*arguments, status=2).stderr
    assert everything(team) == before


@together(
    ("by_argument", "by_option"),
    [
        (("list", "neo", "-t", "user"), ("list", "-t", "user", "-p", "neo")),
        (("prompt", "neo"), ("prompt", "--profile=neo")),
        (("log", "neo", "--format", "json"), ("log", "--format", "json", "--profile", "neo")),
        (("diff", "neo", "1", "2"), ("diff", "1", "2", "-p", "neo")),
        (("review", "neo", "--list"), ("review", "--list", "-p", "neo")),
        (("access", "neo", "boss"), ("access", "-p", "neo", "-p", "boss")),
        (("export", "neo", "-t", "user", "--format", "markdown"), ("export", "-p", "neo", "-t", "user", "--format", "markdown")),
        (("undo", "neo", "--dry-run"), ("undo", "-p", "neo", "--dry-run")),
    ],
)  # fmt: skip
def test_a_profile_is_an_argument_or_an_option(team, by_argument, by_option):
    run("add", "-p", "neo", "-c", "rules", "Something new.")
    first, second = run(*by_argument), run(*by_option)
    assert (first.stdout, first.stderr) == (second.stdout, second.stderr)
    assert first.stdout


def test_a_profile_that_only_others_extend_is_no_agent(team):
    put(team / "profiles" / "stem-of-all.yaml", "seed_from: boss\ninclude_uncategorized: false\n")
    put(team / "profiles" / "child.yaml", "extends: stem-of-all\nuser_memory_categories: [rules]\n")
    assert error_of("list", "nobody")["code"] == "unknown_name"
    for command in ("access", "stats", "status"):
        said = str(run_json(command))
        assert ("stem-of-all" in said, "child" in said) == (False, command != "status"), command
    put(team / "homes" / "stem-of-all" / "USER.md", "## Rules\nOne.\n")
    assert "stem-of-all" in str(run_json("access"))


@pytest.mark.parametrize(
    "arguments",
    [("list", "neo", "--as-of", "2026-13-01", "--format=json"), ("log", "--entry", "x", "--format", "json")],
)
def test_wrong_usage_is_json_for_who_asked_for_json(tmp_path, arguments):
    done = process(*arguments, cwd=tmp_path, status=2)
    assert (done.stdout, json.loads(done.stderr)["error"]["code"]) == (b"", "bad_arguments")


def test_a_text_that_no_entry_holds_names_the_command_that_lists_them(team):
    assert "See with 'catmem list -p neo' what is there" in run("replace", "nosuch", "x", "-p", "neo", status=2).stderr


def test_what_a_person_is_to_type_names_the_profile(team):
    assert "catmem verify -p neo 'words of it'" in run("search", "short answers").stderr
    put(team / "homes" / "boss" / "USER.md", "Loose.\n")
    assert "catmem sort -p boss puts entries" in run("prompt", "neo", "--from", "boss").stderr


def test_a_text_that_is_there_is_said_with_its_place(team):
    assert (
        "is already in rules of neo/user"
        in run("add", "-p", "neo", "-c", "rules", "Invoices are due on the 15th.").stdout
    )


def test_an_entry_that_alone_is_over_the_limit_is_told_to_be_shortened(team):
    write_root(team, "limits: {user: 400, memory: 400}\n")
    said = error_of("add", "-p", "neo", "-c", "rules", "x" * 600, status=1)
    assert "This entry alone would have 622 characters: shorten it, or split it" in said["hint"]
    assert said["could_go"] == []
    said = error_of("add", "-p", "neo", "-c", "rules", "x" * 300, status=1)
    assert "Shorten or remove other entries first" in said["hint"]
    assert said["could_go"]
