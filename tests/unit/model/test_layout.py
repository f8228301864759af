from __future__ import annotations

import pytest

from catmem.model.document import parse
from catmem.model.layout import formatted, is_shared, repeated_entries


@pytest.mark.parametrize(
    ("text", "shared"),
    [
        ("## A\n§\none\n§\n## __uncategorized__", True),
        ("# T\n§\n## A\n§\none\n§\n## __uncategorized__\n§\nx", True),
        ("## __uncategorized__\n", True),
        ("one\n§\n## A\n§\n## __uncategorized__", True),
        ("", False),
        ("one\n§\ntwo", False),
        ("## A\none\n§\n## __uncategorized__", False),
        ("## A\n§\none\n\n## __uncategorized__", False),
        ("## __uncategorized__\n§\none\n§\n## A", False),
    ],
)
def test_is_shared(text, shared):
    assert is_shared(parse(text)) is shared


def test_repeated_entries_are_named_once():
    assert repeated_entries(parse("a\n§\nb\n§\na\n## C\na\n§\nb\n§\nc")) == ["a", "b"]
    assert repeated_entries(parse("a\n§\nb")) == []


def test_a_layout_and_back():
    plain = "# T\n\nfirst\n\n## A\none\n§\ntwo\n\n## B\nthree\n"
    shared = formatted(parse(plain), "shared")
    assert formatted(parse(shared), "plain") == plain + "\n## __uncategorized__\n"


def test_the_title_of_a_joined_section_is_the_first():
    assert formatted(parse("## Ab c\n1\n## ab C\n2"), "shared") == "## Ab c\n§\n1\n§\n2\n§\n## __uncategorized__"


def test_declared_categories_hold_in_a_layout():
    text = "## A\n## Card\nx\n## B\n"
    assert formatted(parse(text, declared=["a", "b"]), "plain") == "## A\n## Card\nx\n\n## B\n"


def test_an_alias_keeps_its_title():
    document = parse("## Money\nx\n## Finance\ny", aliases={"money": "finance"})
    assert formatted(document, "shared") == "## Money\n§\nx\n§\ny\n§\n## __uncategorized__"


def test_the_longest_headings_have_room():
    text = "# a #\n\n## " + "a" * 1020 + "#\n\n## " + "b" * 1017 + " # #\n"
    document = parse(text)
    assert [len(section.title) for section in document.sections] == [1021, 1019]
    assert formatted(document, "plain") == text.replace("# a #", "# a")
