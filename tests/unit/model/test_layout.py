"""What makes whole texts: layouts, and documents that are composed of entries."""

import pytest

from catmem.model import layout as layout_module
from catmem.model.document import Version, parse
from catmem.model.layout import formatted, is_shared
from catmem.model.splice import composed
from catmem.names import UNCATEGORIZED
from tests.together import together


@together(
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


@pytest.mark.parametrize("layout", ["plain", "shared"])
def test_no_list_is_moved_up_once_a_section(layout, monkeypatch):
    moved = []

    class Watched(list):
        def pop(self, index=-1):
            moved.append(len(self) if index == 0 else 0)
            return super().pop(index)

    monkeypatch.setattr(layout_module, "list", Watched, raising=False)
    formatted(parse("".join(f"## c{number}\nx\n" for number in range(300))), layout)
    assert sum(moved) < 300


# --- a document made of given entries: just these, in order, whatever their texts look like ------------------------------

PLAIN = parse("")


def versions(*pairs):
    return [Version.read(category, text) for category, text in pairs]


def said(document):
    return [(entry.category, entry.body, entry.tags) for entry in document.entries]


def made(*pairs, titles=(), like=PLAIN):
    return composed(versions(*pairs), dict(titles), like)


ODD = [
    "§",
    "## Pay\nhidden",
    "# A title",
    "#\ttabbed",
    "\\# escaped",
    "\\## twice \\",
    "[verified_date: 2026-05-01]",
    "[verified_date: 2026-05-01] \\[source: x] no tag",
    "- [source: call] listed",
    "---\nsource: x\n---\nfrontmatter",
    "```\nopen",
    "<!-- open",
    "~~~\n§\n## In a fence\n~~~",
    "a\n\n§\n\nb",
    "## __uncategorized__",
    "\ufeffBOM",
    "a\rb",
    "a\u2028## b",
    "x" * 5_000,
]


@together("text", ODD)
@together("category", ["talk", UNCATEGORIZED])
def test_an_odd_text_says_the_same_and_touches_no_neighbour(text, category):
    pairs = [(category, "before"), (category, text), (category, "behind"), ("rules", "other")]
    wanted = [(each.category, each.body, each.tags) for each in versions(*pairs)]
    assert said(made(*pairs)) == wanted


@together("text", ODD)
def test_an_odd_text_alone_at_the_head_of_a_file(text):
    (version,) = versions((UNCATEGORIZED, text))
    assert said(composed([version], {}, PLAIN)) == [(UNCATEGORIZED, version.body, version.tags)]


def test_every_pair_of_odd_texts():
    for first in ODD:
        for second in ODD:
            pairs = [("talk", first), ("rules", second)]
            assert said(made(*pairs)) == [(each.category, each.body, each.tags) for each in versions(*pairs)]


def test_aliases_and_declared_titles_are_those_of_the_other_document():
    like = parse("", {"talk": "talk", "speech": "talk"}, aliases={"speech": "talk"})
    document = made(("talk", "## Not declared, so it is text"), like=like)
    assert said(document) == [("talk", "## Not declared, so it is text", {})]
    assert document.scan.categories == like.scan.categories
