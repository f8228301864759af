"""What is wrong with files and names becomes a message and a status, never a traceback, and no file changes."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.end_to_end.terminal import run
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
    "no folder of profiles": (instead(PROFILE.parent, lambda path: None), "unknown_name"),
    "a file for the folder of profiles": (instead(PROFILE.parent, Path.touch), None),
    "a configuration that is no YAML": (holds(CONFIG, "a: b: c\n"), None),
}
COMMANDS = [("prompt", "neo"), ("list", "-p", "neo"), ("show", "-p", "neo")]


@pytest.fixture
def place(tmp_path):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: [talk]\n")
    put(tmp_path / "homes" / "neo" / "USER.md", "## Talk\none\n\n## Pay\nsecret\n")
    return tmp_path


def assert_refused(place, arguments, code):
    before = everything(place)
    as_json = run(*arguments, "--root", place, "--format", "json", status=2)
    text = run(*arguments, "--root", place, status=2) if arguments[0] == "prompt" else None
    assert {each.stdout for each in (text, as_json) if each} == {""}
    (line,) = as_json.stderr.splitlines()
    error = json.loads(line)["error"]
    assert {"code", "message"} <= set(error) <= {
        "code", "message", "path", "line", "column", "key", "hint", "offset", "size", "limit",
    }  # fmt: skip
    assert error["code"] == code or code is None
    assert text is None or f"error[{error['code']}]: " in text.stderr
    assert "secret" not in as_json.stderr + (text.stderr if text else "")
    assert everything(place) == before


@pytest.mark.parametrize("case", CASES)
def test_a_root_that_is_not_right(place, case):
    damage, code = CASES[case]
    damage(place)
    for arguments in COMMANDS:
        assert_refused(place, arguments, code)


@together("name", ["nothing.md", "", "x" * 300, "a/" * 3000 + "b", "\udcff"])
def test_a_file_that_is_not_there(place, monkeypatch, name):
    monkeypatch.chdir(place)
    for command in ("show", "fmt"):
        assert run(command, name, status=2).stderr
    assert "error[not_a_file]" in run("show", place, status=2).stderr


@together("date", ["soon", "2026-13-45", "[a, b]", "", '"2026-01-01\\n"'])
def test_a_broken_date_is_no_error(place, date):
    put(
        place / "homes" / "neo" / "USER.md", f"## Talk\n[verified_date: {date}, expires: {date}, created: {date}] one\n"
    )
    for arguments in COMMANDS:
        assert "one" in run(*arguments, "--root", place).stdout
    prompt = run("prompt", "neo", "--root", place)
    assert "- one\n" in prompt.stdout
    assert "USER.md:2: expires" in prompt.stderr
    assert prompt.stderr.count("so it does not count") == 3
