"""Edits, beyond the cases in ``tests/conformance/edits/``: what they return, and hands that are not clean."""

import pytest

from catmem.errors import EditError
from catmem.model.document import parse
from catmem.model.edit import (
    add_entry,
    apply_edits,
    move_entry,
    remove_entry,
    replace_entry,
    retag_entry,
)
from catmem.text import Limits
from tests.together import together

TEXT = "# T\n\nfirst\n\n## A\none\n§\ntwo\n\n## B\nthree\n"


def test_a_move_is_two_edits_of_the_old_text():
    document = parse(TEXT)
    down = move_entry(document, document.entries[0], "b")
    up = move_entry(document, document.entries[3], "__uncategorized__")
    for edited in (down, up):
        assert len(edited.edits) == 2
        assert apply_edits(TEXT, edited.edits) == edited.document.text
        assert len(edited.document.entries) == len(document.entries)
    assert down.entry.body == "first"
    assert up.entry.body == "three"


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


def test_a_carriage_return_before_a_line_end_comes_back():
    for before in ("one\n", "one\r\ntwo\r\n"):
        edited = add_entry(parse(before), "a\r\r\nb\rc", category="__uncategorized__")
        assert edited.entry.body == "a\r\nb\rc"
        moved = move_entry(edited.document, edited.entry, "a")
        assert moved.entry.body == "a\r\nb\rc"


@together(
    "body",
    [
        "a\n§\nb", "§", "## Admin", "x\n## Admin\ny", "# Title", "\\§", "\\\\## x", "```\nopen", "<!-- open",
        "```\n## in\n```", "```\n§\n## in\n```", "[a: b] x", "- [a: b]", "---\na: b\n---", "\\[a: b]", "\ufeff",
        "\ufeff§", "a\rb", "a\u2028§\u2028b", "> ```\n§", "~~~\n```\n## x\n~~~", "[a: b]\n§\n[c: d]", "§\n§\n§",
        "\\", "##\t\ttab", "-->", "--> ## x\n```", "x\n    ## y\n§ \t\nz",
    ],
)  # fmt: skip
@together(
    "before",
    ["", "x", "x\r\n", "\ufeff", "# T\n## A\n", "## A\n```\n", "<!--\n## A\n", "## A\n§\n## __uncategorized__", "§\r"],
)
@together("category", ["a", "new", "__uncategorized__"])
def test_hostile_texts_come_back_and_break_nothing(before, body, category):
    document = parse(before)
    edited = add_entry(document, body, category=category, tags={"source": "x"})
    assert (edited.entry.body, edited.entry.category, edited.entry.tags) == (body, category, {"source": "x"})
    assert len(edited.document.entries) == len(document.entries) + 1
    again = replace_entry(edited.document, edited.entry, "plain")
    back = replace_entry(again.document, again.entry, body, tags={})
    assert (back.entry.body, back.entry.tags) == (body, {})
    bare = retag_entry(edited.document, edited.entry, {})
    assert bare.entry.body == body
    removed = remove_entry(edited.document, edited.entry)
    assert [entry.raw for entry in removed.document.entries] == [entry.raw for entry in document.entries]


def test_tags_over_their_limit_are_refused_before_they_turn_into_text():
    document = parse("[a: b] x", limits=Limits(tag_block_chars=20))
    for call in (
        lambda: add_entry(document, "y", category="a", tags={"key": "x" * 20}),
        lambda: replace_entry(document, document.entries[0], "y", tags={"key": "x" * 20}),
        lambda: retag_entry(document, document.entries[0], {"key": "x" * 20}),
    ):
        with pytest.raises(EditError) as caught:
            call()
        assert caught.value.code == "bad_tag"
        assert "limit of 20" in str(caught.value)


def test_a_body_that_looks_like_too_large_a_tag_block_comes_back():
    body = "[a: " + "x" * 5000 + "] y"
    edited = add_entry(parse(""), body, category="a")
    assert (edited.entry.body, edited.entry.tags) == (body, {})
