"""Marks that suppress findings."""

from __future__ import annotations

import pytest

from catmem.linting.suppress import is_only_marks, marks, without_marks
from catmem.model.document import parse
from catmem.model.edit import apply_edits
from tests.unit.linting.rules_for_tests import lint, only, registered, word_rule

MARK = "<!-- catmem: ignore CM299 -->"


@pytest.fixture(autouse=True)
def rules():
    with registered(word_rule("CM299", "todo"), word_rule("CM298", "later"), word_rule("CM699", "evil")):
        yield


def codes(text, *selected):
    """Code and line of what counts, with a mark of its own for what is suppressed."""
    found = lint(text, only(*(selected or ("CM299", "CM298", "CM699", "CM190", "CM191"))))
    return [f"{each.code}:{each.line}{' off' * bool(each.suppressed)}" for each in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("todo", ["CM299:1"]),
        (f"{MARK}\ntodo", ["CM299:2 off"]),
        (f"todo\n{MARK}", ["CM299:1 off"]),
        (f"one\n{MARK}\n\ntodo", ["CM299:4 off"]),
        (f"[source: x] todo\n  {MARK} \n", ["CM299:1 off"]),
        (f"{MARK}\n§\ntodo", ["CM299:3 off"]),
        (f"{MARK}\r\n§\r\ntodo\r\n", ["CM299:3 off"]),
        (f"{MARK}\n§\n§\n\n[source: x] todo", ["CM299:5 off"]),
        (f"one\n{MARK}\n§\ntodo", ["CM190:2", "CM299:4"]),
        (f"todo\n§\n{MARK}\none", ["CM299:1", "CM190:3"]),
        (f"## A\none\n{MARK}\n## todo\n\ntodo", ["CM299:4 off", "CM299:6"]),
        (f"one\n{MARK}\n\n## todo", ["CM190:2", "CM299:4"]),
        (f"todo {MARK}", ["CM299:1"]),
        (f"todo\n§\n{MARK}", ["CM299:1", "CM190:3"]),
        ("<!-- catmem: ignore CM299 CM298 -->\ntodo later", ["CM299:2 off", "CM298:2 off"]),
        ("<!-- catmem: ignore CM299, CM298 -->\ntodo", ["CM190:1", "CM299:2 off"]),
        (f"{MARK}\n{MARK}\ntodo", ["CM299:3 off", "CM190:2"]),
        ("<!-- catmem: ignore CM699 -->\nevil", ["CM191:1", "CM699:2"]),
        ("<!-- catmem: ignore CM799 -->\ntodo", ["CM191:1", "CM299:2"]),
        ("<!-- catmem: ignore -->\ntodo", ["CM191:1", "CM299:2"]),
        ("<!-- CATMEM: ignore CM299 -->\ntodo", ["CM191:1", "CM299:2"]),
        ("<!-- a comment on catmem -->\ntodo", ["CM299:2"]),
    ],
)
def test_what_a_mark_covers(text, found):
    assert sorted(codes(text)) == sorted(found)


def test_a_mark_for_a_rule_that_is_off_is_not_needless():
    assert codes(f"{MARK}\none", "CM190") == []
    assert codes(f"{MARK}\none", "CM190", "CM299") == ["CM190:1"]


def test_a_needless_mark_is_not_reported_when_that_rule_is_off():
    assert codes(f"{MARK}\none", "CM299") == []


def test_an_entry_of_marks_alone_is_no_entry_to_a_rule():
    document = parse(f"{MARK}\n{MARK}\n§\n{MARK} x\n§\n<!-- catmem: ignore -->\n§\n<!-- x -->")
    assert [is_only_marks(entry) for entry in document.entries] == [True, False, False, False]


def test_a_mark_above_a_tag_block_is_moved_to_the_end():
    text = f"{MARK}\n[source: x] todo\n§\nnext"
    (finding,) = [each for each in lint(text, only("CM191")) if each.code == "CM191"]
    assert not finding.fix.safe
    fixed = apply_edits(text, finding.fix.edits)
    assert fixed == f"[source: x] todo\n{MARK}\n§\nnext"
    assert codes(fixed) == ["CM299:1 off"]


def test_what_only_begins_like_a_mark_names_no_code():
    text = "<!-- catmem:" + " " * 50_000 + "\n<!--catmem" * 5_000
    assert [mark.codes for mark in marks(parse(text))] == [()]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (f"Vendor is Acme.\n{MARK}", "Vendor is Acme."),
        (f"  {MARK} \nVendor is Acme.", "Vendor is Acme."),
        (f"See {MARK} there.", f"See {MARK} there."),
    ],
)
def test_a_mark_is_no_part_of_what_a_body_says_unless_it_stands_within_a_line(body, said):
    assert without_marks(body) == said
