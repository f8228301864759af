"""No secret of a file is in what lint prints, whichever rule speaks and whichever form it is in."""

import pytest
from click.testing import CliRunner

from catmem.cli.main import group
from catmem.linting.renderers import mask, mask_both
from tests.golden.case import put
from tests.together import together

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9" * 2
LOGIN = "maple-4-lantern"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn\nygWyF0qJDr0K5k2d7s\n-----END RSA PRIVATE KEY-----"
FORMS = ["text", "json", "github", "sarif"]

TEXT = f"""## Pay
Acme.
## Style
[{KEY}: x] says a label
§
[verified: 2026/1/2, source: {KEY}] test
§
Look at postgres://billing:{LOGIN}@db.internal/billing
§ Then write {KEY} down.
§
{PEM}

## Pay
CI uses {KEY} now.
§
CI uses {KEY} now.
§
CI uses {KEY} now, since a while.
"""


@pytest.fixture
def root(tmp_path, monkeypatch):
    put(tmp_path / "catmem.yaml", "version: 1\n")
    put(tmp_path / "USER.md", TEXT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    result = CliRunner().invoke(group, ["lint", "--as-of", "2026-11-21", *arguments])
    return result.stdout + result.stderr


def shows_none(said):
    hidden = (KEY, LOGIN, "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn", KEY[:12])
    return not any(secret in said for secret in hidden)


@together("form", FORMS)
def test_no_form_shows_one(root, form):
    said = run("--format", form)
    assert "CM605" in said
    assert "CM102" in said
    assert shows_none(said)
    said = run("--format", form, "--ignore", "CM605")  # nor when the rule for secrets is off
    assert "CM102" in said
    assert shows_none(said)


@together("form", FORMS)
def test_a_message_of_its_own_is_not_masked(tmp_path, monkeypatch, form):
    put(tmp_path / "USER.md", "## Pay\nDB_PASSWORD=password-7-Falk0n!\n")
    monkeypatch.chdir(tmp_path)
    said = run("--format", form)
    assert "a random text that is called a password, a token" in said
    assert "Falk0n" not in said


def test_nor_does_a_diff(root):
    said = run("--diff", "--unsafe-fixes")
    assert "CI uses **************************************** now." in said
    assert shows_none(said)
    assert (root / "USER.md").read_text() == TEXT


def test_a_fix_is_made_all_the_same(root):
    assert shows_none(run("--fix"))
    fixed = (root / "USER.md").read_text()
    assert fixed.count("## Pay") == 1
    assert KEY in fixed


@together(
    ("text", "word", "shown"),
    [
        ("a abcdefgh12 b", "abcdefgh12", "a ********** b"),
        ("abcdefgh1…", "abcdefgh12345", "*********…"),
        ("abcdefg", "abcdefgh12", "abcdefg"),
        ("short, short", "short", "*****, *****"),
        ("nothing", "abcdefgh", "nothing"),
    ],
)
def test_a_word_and_its_beginning_are_masked(text, word, shown):
    assert mask(text, [word]) == shown


def test_texts_of_a_diff_keep_their_lines():
    old, new = mask_both(f"one\n{PEM}\ntwo\n", f"{PEM}\ntwo\n")
    assert (old.count("\n"), new.count("\n")) == (6, 5)
    assert old.endswith("\ntwo\n")
    assert shows_none(old + new)
