"""The same files, profile and day give the same bytes, whatever the process around them is like."""

import json
import os
import shutil

import pytest

from tests.end_to_end.terminal import process, run

AS_OF = "2026-11-21"
PLACES = {
    "hash seed 0, C locale, far east of Greenwich": {
        "PYTHONHASHSEED": "0", "TZ": "Pacific/Kiritimati",
        "LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0",
    },
    "hash seed 12345, Turkish, Latin-5, far west of Greenwich, narrow terminal": {
        "PYTHONHASHSEED": "12345", "TZ": "Etc/GMT+12", "LC_ALL": "tr_TR.ISO-8859-9", "LANG": "tr_TR", "PYTHONUTF8": "0",
        "COLUMNS": "20", "TERM": "dumb", "NO_COLOR": "1",
    },
    "other output encoding, development mode": {
        "PYTHONIOENCODING": "utf-16", "PYTHONDEVMODE": "1", "PYTHONOPTIMIZE": "2",
    },
}  # fmt: skip
C_LOCALE, _, OTHER_ENCODING = PLACES.values()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    run("init", "--example", folder)
    path = folder / "homes" / "trinity" / "USER.md"
    text = path.read_text(encoding="utf-8")
    text += "\n## Approval Conventions\nİstanbul ıI, Ελληνικά, 日本語, e\u0301\n"
    path.write_text(text, encoding="utf-8")
    return folder


def output(folder, *arguments, **environment):
    found = process(*arguments, "--root", str(folder), cwd=folder, env={**os.environ, **environment})
    assert found.stderr == b""
    return found.stdout


def prompt(folder, **environment):
    return output(folder, "prompt", "trinity", "--as-of", AS_OF, "--format", "json", **environment)


@pytest.fixture(scope="module")
def usual(demo):
    return prompt(demo)


@pytest.mark.parametrize("environment", PLACES.values(), ids=PLACES)
def test_the_environment_changes_no_byte(demo, usual, environment):
    assert prompt(demo, **environment) == usual


def test_a_copy_somewhere_else_gives_the_same_bytes(demo, usual, tmp_path):
    clone = tmp_path / "clone ü"
    shutil.copytree(demo, clone)
    for path in sorted(clone.rglob("*"), reverse=True):
        os.utime(path, (0, 0))
    assert prompt(clone) == usual


def test_the_text_is_printed_as_utf8_whatever_the_locale(demo, usual):
    text = json.loads(usual)["text"].encode()
    for environment in ({}, C_LOCALE, OTHER_ENCODING):
        assert output(demo, "prompt", "trinity", "--as-of", AS_OF, **environment) == text
