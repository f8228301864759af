"""The facts of a file: what they hold, and that they survive being kept as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from catmem.policy.config import Config
from catmem.policy.lint.facts import SKETCH, FileFacts, facts_of, without_marks, word_hashes
from catmem.policy.lint.linted import LintedFile

TEXT = """# Title

## Finance
[verified_date: 2026-05-01, expires: 2027-01-01, domain: [finance, legal]] Vendor is Acme.
§
[created: soon, domain: x] Paid monthly.

## Style
Short.
"""


def facts(text, **owner):
    return facts_of(LintedFile.of("homes/a/USER.md", text.encode(), Config(Path("root")), **owner))


def test_what_they_say_of_sections_and_entries():
    found = facts(TEXT, owner="a", target="user")
    assert [(section.category, section.line) for section in found.sections] == [("finance", 3), ("style", 8)]
    assert [TEXT[section.start : section.end] for section in found.sections] == ["## Finance", "## Style"]
    vendor, paid, short = found.entries
    assert (vendor.category, vendor.line, vendor.size, vendor.domains) == ("finance", 4, 15, ("finance", "legal"))
    assert (vendor.verified, vendor.created, vendor.expires, vendor.day) == (
        "2026-05-01",
        None,
        "2027-01-01",
        "2026-05-01",
    )
    assert (paid.verified, paid.created, paid.day, paid.domains) == (None, None, None, ("x",))
    assert TEXT[short.start : short.end] == "Short."


def test_json_gives_the_same_back():
    found = facts(TEXT, owner="a", target="user")
    kept = json.loads(json.dumps(found.to_json()))
    assert FileFacts.from_json(kept, path=found.path, owner="a", target="user") == found


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        [[], []],
        [[], [[1, 2]], ""],
        [[["x"]], [], ""],
        "ab",
        [[], [["c", 1, 0, 1, "d", 1, None, None, None, 1, []]], "AAA="],
    ],
)
def test_other_data_is_refused(data):
    with pytest.raises((TypeError, ValueError)):
        FileFacts.from_json(data, path="x", owner=None, target=None)


def test_of_a_file_that_is_not_text_there_are_none():
    file = LintedFile.of("homes/a/USER.md", b"\xff", Config(Path("root")))
    assert facts_of(file) == FileFacts("homes/a/USER.md")


def test_an_entry_of_marks_alone_is_none():
    marks = "<!-- catmem: ignore CM203 -->"
    assert [fact.line for fact in facts(f"{marks}\n§\nVendor is Acme.\n§\n{marks}\n").entries] == [3]


def test_no_word_of_the_file_is_in_them():
    assert "Acme" not in json.dumps(facts(TEXT).to_json())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Vendor is Acme.", "Vendor   is\nAcme."),
        ("Vendor is Acme.", "[domain: x] Vendor is Acme."),
        ("Vendor is Acme.", "Vendor is Acme.\n<!-- catmem: ignore CM203 -->"),
        ("Vendor is Acme.", "  <!-- catmem: ignore CM203 CM301 -->\nVendor is Acme."),
    ],
)
def test_blanks_tags_and_marks_do_not_count_in_a_digest(one, other):
    assert [fact.digest for fact in facts(one).entries] == [fact.digest for fact in facts(other).entries]


def test_a_mark_within_a_line_stays():
    assert without_marks("See <!-- catmem: ignore CM203 --> there.") == "See <!-- catmem: ignore CM203 --> there."


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Vendor is Acme", "vendor, is; ACME!"),
        ("a b a b", "a b"),
        ("\uff21cme", "acme"),
        ("version 3.11", "Version: 3.11."),
    ],
)
def test_words_are_the_same_whatever_case_form_and_punctuation(one, other):
    assert word_hashes(one) == word_hashes(other)


@pytest.mark.parametrize("word", ["3.11", "k8s", "10.0.0.1", "٣"])
def test_the_hash_of_a_word_with_a_digit_is_odd(word):
    assert [value % 2 for value in word_hashes(f"acme {word}")] == [0, 1]


def test_hashes_are_the_same_on_every_machine():
    assert word_hashes("vendor is acme 42") == (4112659446, 1022026390, 96778814, 841265289)


def test_words_without_blanks_between_are_read_by_twos():
    assert len(word_hashes("中文回答")) == 3
    assert len(set(word_hashes("中文回答")) & set(word_hashes("用中文"))) == 1


def test_of_many_words_a_sample_in_the_order_of_the_text():
    words = [f"word{number}" for number in range(500)]
    whole = [value for word in words for value in word_hashes(word)]
    sample = word_hashes(" ".join(words))
    assert sample == tuple(value for value in whole if value in set(sorted(whole)[:SKETCH]))
