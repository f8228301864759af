import json

import pytest

from catmem.errors import NotUtf8Error, TooLargeError
from catmem.jsonable import jsonable
from catmem.model.document import parse
from catmem.model.edit import add_entry
from catmem.model.layout import delimiter_before, delimiter_behind, left_open
from catmem.text import Limits
from tests.together import together

TEXT = """# What we know

Before any section.

## Communication Style
[verified_date: 2026-05-01] Prefers short answers.
§
Never schedule calls before 10:00.

## Finance ##

## communication style
Third.
"""


def test_the_parts_of_a_document():
    document = parse(TEXT)
    assert document.title == "What we know"
    assert [(section.category, section.title) for section in document.sections] == [
        ("communication-style", "Communication Style"),
        ("finance", "Finance"),
        ("communication-style", "communication style"),
    ]
    assert [entry.body for entry in document.by_category["communication-style"]] == [
        "Prefers short answers.",
        "Never schedule calls before 10:00.",
        "Third.",
    ]
    assert list(document.by_category) == ["__uncategorized__", "communication-style"]
    assert document.text == TEXT
    assert document.newline == "\n"
    assert document.digest.startswith("sha256:")


def test_sections_reach_to_the_next():
    document = parse(TEXT)
    first, second, third = document.sections
    assert TEXT[first.start : first.header_end] == "## Communication Style"
    assert TEXT[second.start : second.header_end] == "## Finance ##"
    assert first.end == second.start
    assert second.end == third.start
    assert third.end == len(TEXT)


def test_spans_name_what_they_cover():
    document = parse("\ufeff# T\n\n## A\r\n x \n§ \n")
    assert [(span.kind, document.text[span.start : span.end]) for span in document.spans] == [
        ("bom", "\ufeff"),
        ("title", "# T"),
        ("blank", "\n\n"),
        ("header", "## A"),
        ("blank", "\r\n "),
        ("entry", "x"),
        ("blank", " \n"),
        ("delimiter", "§ "),
        ("blank", "\n"),
    ]


def test_json():
    document = parse(TEXT)
    found = jsonable(document)
    assert json.loads(json.dumps(found)) == found
    assert found["format_version"] == 1
    assert found["categories"]["communication-style"][0] == {
        "body": "Prefers short answers.",
        "tags": {"verified_date": "2026-05-01"},
        "line": 6,
    }
    assert found["problems"] == [{"rule": "duplicate-section", "line": 12}]


def test_repeated_tags_are_told_and_the_first_counts():
    (entry,) = parse("[a: 1, b: 2, a: 3] [b: 4] x").entries
    assert entry.tags == {"a": "1", "b": "2"}
    assert entry.repeated_tags == ("a", "b")


def test_the_order_of_reading():
    """Cut, strip, escapes, tags, tag escape."""
    (entry,) = parse("\ufeff\n  [a: b]\r\n\\## x\r\n\\\\§  \n").entries
    assert (entry.tags, entry.body) == ({"a": "b"}, "## x\n\\§")
    assert entry.text == "[a: b]\n## x\n\\§"
    (entry,) = parse("\\[a: b] x").entries
    assert (entry.tags, entry.body) == ({}, "[a: b] x")


def test_undeclared_headings_are_text():
    text = "## Finance\n## Other\nx\n## Money\ny\n## __uncategorized__\nz"
    for declared in (["finance"], {"finance": "finance"}, iter(["finance"])):
        document = parse(text, declared, aliases={"money": "finance"})
        assert {key: [entry.body for entry in found] for key, found in document.by_category.items()} == {
            "finance": ["## Other\nx", "y"],
            "__uncategorized__": ["z"],
        }
    assert parse("## A\nx", declared=[]).entries[0].body == "## A\nx"


def test_what_cannot_be_parsed():
    with pytest.raises(NotUtf8Error) as caught:
        parse(b"## A\n\xff")
    assert caught.value.offset == 5
    with pytest.raises(TooLargeError):
        parse(b"x" * 11, limits=Limits(file_bytes=10))


def test_more_entries_and_sections_than_the_limit_are_refused_and_an_edit_makes_none():
    limits = Limits(parts=3)
    document = parse("## A\none\n§\nmore\n\n## B\ntwo\n", limits=limits)
    with pytest.raises(TooLargeError, match="4 entries and sections, over the limit of 3"):
        parse("## A\none\n\n## B\ntwo\n\n## C\nthree\n§\nmore", limits=limits)
    for category in ("b", "c"):
        with pytest.raises(TooLargeError, match="4 entries and sections"):
            add_entry(document, "three", category=category)


def test_problems_have_spans_and_words():
    document = parse(TEXT + "§\n```\n§\n## !\n§\n[a: b]\n")
    assert [(problem.rule, document.text[problem.start : problem.end]) for problem in document.problems] == [
        ("duplicate-section", "## communication style"),
        ("unclosed-fence", "```"),
        ("empty-slug", "## !"),
        ("empty-body", "[a: b]"),
    ]
    messages = [problem.message for problem in document.problems]
    assert "line 5" in messages[0]
    assert "code fence" in messages[1]
    assert "comment" in parse("<!-- x").problems[0].message


@together(
    ("position", "behind", "before"),
    [("one", True, False), ("two", False, True), ("three", False, False)],
)
def test_delimiters_beside_an_entry(position, behind, before):
    document = parse("one\n\n§ \n two\n## A\nthree")
    entry = next(entry for entry in document.entries if entry.raw == position)
    assert bool(delimiter_behind(document, entry.end)) is behind
    assert bool(delimiter_before(document, entry.start)) is before


def test_left_open():
    document = parse("```\nx\n§\n```\ny\n```\nz")
    assert left_open(document, document.text.index("x"))
    assert not left_open(document, document.text.index("z"))
    assert left_open(document, document.text.index("y"))


@together("text", ["", "\n", "\ufeff", "§", "\ufeff§\n§", " \t\r\n", "\r"])
def test_nothing_in_it(text):
    document = parse(text)
    assert document.entries == ()
    assert document.sections == ()
    assert dict(document.by_category) == {}
    assert document.problems == ()
    assert document.to_bytes() == text.encode()
