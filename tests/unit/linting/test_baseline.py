"""The baseline."""

from __future__ import annotations

import json

import pytest

from catmem.errors import ConfigError
from catmem.linting.suppress import read_baseline, without_old, write_baseline
from tests.unit.linting.rules_for_tests import lint, only, registered, word_rule

TEXT = "todo one\n§\ntodo two\n§\nthree todo todo"


@pytest.fixture(autouse=True)
def rules():
    with registered(word_rule("CM299", "todo")):
        yield


def found(text):
    return lint(text, only("CM299"))


def lines_left(text, baseline):
    old = read_baseline(baseline.encode(), "lint.json")
    return [each.line for each in without_old(found(text), old) if not each.suppressed]


def test_what_was_there_does_not_count():
    assert lines_left(TEXT, write_baseline(found(TEXT))) == []


def test_it_holds_when_lines_move_and_entries_change_places():
    assert lines_left("\n\nthree todo todo\n§\n\ntodo two\n§\ntodo one", write_baseline(found(TEXT))) == []


def test_a_new_or_changed_entry_counts():
    assert lines_left(TEXT.replace("two", "2") + "\n§\ntodo new", write_baseline(found(TEXT))) == [3, 7]


def test_one_more_of_the_same_counts():
    assert lines_left(TEXT + "\n§\ntodo one", write_baseline(found(TEXT))) == [7]


def test_what_a_mark_suppresses_is_not_in_it():
    marked = "todo one\n<!-- catmem: ignore CM299 -->"
    assert json.loads(write_baseline(found(marked))) == {"version": 1, "findings": {}}


def test_it_is_the_same_text_for_the_same_findings():
    assert write_baseline(found(TEXT)) == write_baseline(list(reversed(found(TEXT))))
    assert write_baseline(found(TEXT)).endswith("}\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        (b"\xff", "is not JSON"),
        ("[]", "must have the version 1, and has null"),
        ('{"version": 2, "findings": {}}', "must have the version 1, and has 2"),
        ('{"version": 1}', "does not have the right form"),
        ('{"version": 1, "findings": []}', "does not have the right form"),
        ('{"version": 1, "findings": {"a": {"CM299": {"x": "1"}}}}', "does not have the right form"),
        ('{"version": 1, "findings": {"a": {"CM299": ["x"]}}}', "does not have the right form"),
    ],
)
def test_a_baseline_that_is_not_right_is_an_error(text, message):
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(ConfigError, match=message) as caught:
        read_baseline(data, "lint.json")
    assert (caught.value.code, caught.value.path) == ("bad_baseline", "lint.json")
