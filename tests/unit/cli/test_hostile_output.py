"""What a terminal would act on, in the files and names of a root: no command prints it raw, and JSON says the same."""

import json
import unicodedata

import pytest
from click.testing import CliRunner

from catmem.cli.main import group
from catmem.text import printable, printable_json
from tests.golden.case import put
from tests.together import together

HOSTILE = "a\x1b[31mb\x7fc\x9b2Jd\u202ee\u2066f\u2028g\ufeffh\U000e0041i"
"""ESC, DEL, a C1 control, bidi overrides, a line separator, a BOM, a tag character."""
SHOWN = "caf\u00e9 \u2014 \U0001f468\u200d\U0001f469 \u6c34"


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "profiles" / "neo.yaml", "user_memory_categories: ['*']\n")
    put(tmp_path / "profiles" / "ann.yaml", "user_memory_categories: ['*']\n")
    put(tmp_path / "homes" / "neo" / "USER.md", f"## Talk\n{HOSTILE} {SHOWN}\n\n## B{HOSTILE}\nx\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def raw(text):
    return {hex(ord(c)) for c in text if c not in "\n\t\u200d" and unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"}}


COMMANDS = [
    ["show", "-p", "neo"],
    ["list", "-p", "neo"],
    ["search", "-p", "neo", "b"],
    ["prompt", "neo"],
    ["lint", "--exit-zero"],
    ["access"],
    ["stats"],
    ["add", "-p", "neo", "-c", "talk", "More " + HOSTILE],
    ["replace", "-p", "neo", SHOWN, HOSTILE + "z", "--dry-run"],
    ["log", "neo"],
    ["diff", "neo"],
    ["seed", "neo", "ann", "--dry-run"],
    ["review", "--list", "--as-of", "2030-01-01"],
    ["fmt", "--diff"],
    ["fsck"],
    ["audit"],
    ["envelope", "-p", "neo", "--add", HOSTILE, "-c", "talk"],
    ["purge", "neo", HOSTILE + "!", "--dry-run"],
    ["add", "-p", "neo", "-c", HOSTILE, "x"],
    ["show", HOSTILE],
    ["import", "-p", "neo", "--from", "claude", HOSTILE],
    ["remove", "-p", "neo", "\x7f"],
    ["remove", "-p", "neo", "red \x1b"],
    ["remove", "-p", "neo", SHOWN, "--dry-run"],
    ["add", "-p", "neo", "-c", "talk", HOSTILE],
    ["seed", "neo", "ann", "--check"],
]


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("part", range(3))
def test_no_command_prints_it(part, form):
    CliRunner().invoke(group, ["add", "-p", "neo", "-c", "talk", HOSTILE])
    for command in COMMANDS[part::3]:
        result = CliRunner().invoke(group, [*command, "--format", form])
        assert result.exception is None or isinstance(result.exception, SystemExit), command
        assert raw(result.stdout) | raw(result.stderr) == set(), command
        assert result.exit_code in {0, 1} or result.stderr, command
        if form == "json" and result.stdout:
            json.loads(result.stdout)


@together("form", ["json", "sarif", "github", "text"])
def test_no_form_of_lint_prints_it(form):
    result = CliRunner().invoke(group, ["lint", "--format", form])
    assert result.stdout
    assert raw(result.stdout) == set()


def test_json_is_the_same_text_and_stays_readable():
    result = CliRunner().invoke(group, ["list", "-p", "neo", "--format", "json"])
    first = json.loads(result.stdout)["entries"][0]
    assert first["body"] == f"{HOSTILE} {SHOWN}"
    assert SHOWN in result.stdout


@together("value", [HOSTILE, SHOWN, "\ud800", "\\u001b \\", {"a\x7f": ["\x9b", 1, None]}])
def test_printable_json_decodes_to_the_same(value):
    assert json.loads(printable_json(value)) == value
    assert printable(printable_json(value)) == printable_json(value)


def test_an_export_to_json_escapes_it_and_the_others_keep_it_and_say_so(root):
    for form in ("json", "hermes", "markdown"):
        result = CliRunner().invoke(group, ["export", "-p", "neo", "--format", form, "-o", form])
        (file,) = (root / form / "neo").iterdir()
        text = file.read_bytes().decode()
        assert (raw(text) == set(), "a terminal acts on" in result.stderr) == (form == "json", form != "json")
        assert HOSTILE in (json.loads(text)["categories"]["talk"][0]["body"] if form == "json" else text)
