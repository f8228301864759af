"""Documents and their edits, beyond the cases of ``tests/conformance/`` and the laws of ``tests/property/``."""

import pytest

from catmem.errors import EditError, NotUtf8Error, TooLargeError
from catmem.model.document import parse
from catmem.model.edit import add_entry, replace_entry, retag_entry
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


def test_sections_reach_to_the_next():
    document = parse(TEXT)
    first, second, third = document.sections
    assert TEXT[first.start : first.header_end] == "## Communication Style"
    assert TEXT[second.start : second.header_end] == "## Finance ##"
    assert first.end == second.start
    assert second.end == third.start
    assert third.end == len(TEXT)


def test_undeclared_headings_are_text():
    text = "## Finance\n## Other\nx\n## Money\ny\n## __uncategorized__\nz"
    for declared in (["finance"], {"finance": "finance"}, iter(["finance"])):
        document = parse(text, declared, aliases={"money": "finance"})
        assert {key: [entry.body for entry in found] for key, found in document.by_category.items()} == {
            "finance": ["## Other\nx", "y"],
            "__uncategorized__": ["z"],
        }
    assert parse("## A\nx", declared=[]).entries[0].body == "## A\nx"


def test_what_cannot_be_parsed(monkeypatch):
    with pytest.raises(NotUtf8Error) as caught:
        parse(b"## A\n\xff")
    assert caught.value.offset == 5
    monkeypatch.setattr("catmem.text.MAX_FILE_BYTES", 10)
    with pytest.raises(TooLargeError):
        parse(b"x" * 11)


def test_more_entries_and_sections_than_the_limit_are_refused_and_an_edit_makes_none(monkeypatch):
    monkeypatch.setattr("catmem.model.document.MAX_PARTS", 3)
    document = parse("## A\none\n§\nmore\n\n## B\ntwo\n")
    with pytest.raises(TooLargeError, match="4 entries and sections, over the limit of 3"):
        parse("## A\none\n\n## B\ntwo\n\n## C\nthree\n§\nmore")
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


# --- edits ---------------------------------------------------------------------------------------------------------------


def test_an_alias_is_a_title_of_its_category():
    document = parse("", aliases={"money": "finance"})
    edited = add_entry(document, "x", category="finance", title="Money")
    assert edited.document.text == "## Money\nx\n"
    assert edited.entry.category == "finance"


@pytest.mark.parametrize(
    ("document", "category", "hint"),
    [
        (parse("", aliases={"money": "finance"}), "money", "Did you mean 'finance'?"),
        (parse(""), "Finance Rules", "Did you mean 'finance-rules'?"),
        (parse("", {"finance": "finance"}), "money", "No title opens it here: declare it."),
        (parse(""), "!!!", "A category needs a letter or a number."),
    ],
)
def test_a_refused_category_is_never_offered_again(document, category, hint):
    with pytest.raises(EditError) as caught:
        add_entry(document, "x", category=category)
    assert (caught.value.code, caught.value.hint) == ("bad_category", hint)


@together("title", ["A\nb", "A b #", "A b ##", " A b", "A " + "-" * 2000 + "b"])
def test_a_title_that_no_heading_can_hold_is_not_used(title):
    assert add_entry(parse(""), "x", category="a-b", title=title).document.text == "## A b\nx\n"


@together("body", ["\ud800", "x\udfffy"])
def test_a_lone_surrogate_is_refused(body):
    document = parse("one")
    with pytest.raises(EditError) as caught:
        add_entry(document, body, category="a")
    assert caught.value.code == "not_text"
    with pytest.raises(EditError) as caught:
        replace_entry(document, document.entries[0], body)
    assert caught.value.code == "not_text"


def test_tags_over_their_limit_are_refused_before_they_turn_into_text():
    document = parse("[a: b] x")
    for call in (
        lambda: add_entry(document, "y", category="a", tags={"key": "x" * 4096}),
        lambda: replace_entry(document, document.entries[0], "y", tags={"key": "x" * 4096}),
        lambda: retag_entry(document, document.entries[0], {"key": "x" * 4096}),
    ):
        with pytest.raises(EditError) as caught:
            call()
        assert caught.value.code == "bad_tag"
        assert "limit of 4,096" in str(caught.value)


def test_a_body_that_looks_like_too_large_a_tag_block_comes_back():
    body = "[a: " + "x" * 5000 + "] y"
    edited = add_entry(parse(""), body, category="a")
    assert (edited.entry.body, edited.entry.tags) == (body, {})
