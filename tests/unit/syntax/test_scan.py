"""Boundaries: the corners that the cases in ``tests/conformance/parse.json`` do not name, and hostile sizes."""

import sys

from catmem.syntax.scan import (
    ANY_CATEGORY,
    Categories,
    boundary_lines,
    closed_spans,
    rescan,
    scan,
    touched_region,
    unclosed_spans,
)
from tests.together import together


def titles(text, categories=ANY_CATEGORY):
    return [header.title for header in scan(text, categories).headers]


def delimiter_lines(text):
    """The lines (from 0) of the delimiters."""
    return [text.count("\n", 0, newline + 1) for newline in scan(text).newlines]


@together(
    ("text", "lines"),
    [
        ("§", [0]),
        ("§\r", [0]),
        ("\ufeff§\n§ \t", [0, 1]),
        ("§\n§\r\n§", [0, 1, 2]),
        ("§\r\r\n", []),
        ("§\u00a0\n§\x0b\n§\u2028", []),
        (" §\n\t§\n", []),
        ("§§\n§ x\nx §", []),
        ("a\r§\n", []),
        ("\ufeff\ufeff§", []),
    ],
)
def test_delimiter_lines(text, lines):
    assert delimiter_lines(text) == lines


@together(
    ("line", "title"),
    [
        ("## A", "A"),
        ("##\tA", "A"),
        ("##   A  \t", "A"),
        ("## A ##", "A"),
        ("## A #######", "A"),
        ("## A ## \t", "A"),
        ("## A\t#", "A"),
        ("## A#", "A#"),
        ("## C# #", "C#"),
        ("## A # b", "A # b"),
        ("## A # #", "A #"),
        ("## A\\#", "A\\#"),
        ("## a\rb", "a\rb"),
        ("## A\r", "A"),
    ],
)
def test_the_title_of_a_heading(line, title):
    assert titles(line) == [title]
    assert titles(f"x\n{line}\ny") == [title.replace("\r", "") if line.endswith("\r") else title]


@together(
    "line", ["##", "##A", "### A", "# A", " ## A", "\t## A", "\\## A", "\ufeff## A", "##\xa0A", "> ## A", "- ## A"]
)
def test_no_heading(line):
    assert titles(f"x\n{line}\ny\n") == []


def test_declared_categories_and_aliases():
    categories = Categories({"finance": "finance", "money": "finance"}, only=True)
    found = scan("## Money\n## Finance\n## Other\n## __uncategorized__\n## !!!", categories)
    assert [header.category for header in found.headers] == ["finance", "finance", "__uncategorized__"]
    assert len(found.slugless) == 1
    open_world = scan("## Money\n## Other", Categories({"money": "finance"}))
    assert [header.category for header in open_world.headers] == ["finance", "other"]


@together(
    ("text", "title"),
    [
        ("# T\n## A", "T"),
        ("\n \n\t\n# T #\n## A", "T"),
        ("\ufeff# T\r\n## A", "T"),
        ("# T", None),
        ("x\n# T\n## A", None),
        (" # T\n## A", None),
        ("§\n# T\n## A", None),
        ("#T\n## A", None),
        ("# \n## A", None),
        ("## A\n# T", None),
        ("\u2028# T\n## A", None),
    ],
)
def test_the_title_of_the_document(text, title):
    found = scan(text).title
    assert (found.text if found else None) == title


@together(
    "stretch",
    [
        "```\nx\n```",
        "```\nx\n````  ",
        "~~~ a~`b\nx\n   ~~~\t",
        "   ```\n```",
        "```\n~~~\n```",
        "```\n<!--\n```",
        "```\r\nx\r\n```\r",
        "<!-- x -->",
        "<!-->",
        "<!--->",
        "   <!--\n```\n--> y",
        "<!--\n\n\n-->",
    ],
)
def test_one_closed_span_is_the_whole_of_it(stretch):
    (span,) = closed_spans(stretch)
    assert span == (0, len(stretch.rstrip("\r"))) or span == (0, len(stretch))
    assert not unclosed_spans(stretch)
    assert titles(f"## A\n{stretch}\n## B") == ["A", "B"]


@together(
    ("stretch", "count"),
    [
        ("```", 1),
        ("````\n```", 2),
        ("```\n    ```", 1),
        ("```\n``` x", 2),
        ("<!--", 1),
        ("<!--\n--", 1),
        ("~~~\n<!--\n```", 3),
        ("x ```", 0),
        ("``` a`", 0),
        ("``", 0),
        ("<!-", 0),
    ],
)
def test_unclosed_spans_hide_nothing(stretch, count):
    assert len(unclosed_spans(stretch)) == count
    assert not closed_spans(stretch)
    assert titles(f"{stretch}\n## B") == ["B"]


def test_boundary_lines_of_an_entry():
    text = "## A\n```\n## B\n§\n## C\n```\n## D"
    assert [text[start : start + 4].strip() for start in sorted(boundary_lines(text, ANY_CATEGORY))] == [
        "## A",
        "§\n##",
        "## D",
    ]
    assert boundary_lines("# x\n\\## y\n ## z", ANY_CATEGORY) == []


@together(
    ("old", "new", "start", "end"),
    [
        ("\ufeff§", "\ufeff§", 0, 0),
        ("\ufeff§\nx", "§\nx", 0, 1),
        ("§\nx", "\ufeff§\nx", 0, 0),
        ("a\n§\nb", "a\n§ \nb", 3, 3),
        ("a\n§\nb", "a\n§b", 3, 4),
        ("a\n§", "a\n§\r", 3, 3),
        ("## A\n# T", "# T", 0, 5),
        ("# T", "# T\n## A", 3, 3),
        ("```\n§\n## A\n```", "```\n\n## A\n```", 4, 5),
    ],
)
def test_rescan_is_scan(old, new, start, end):
    assert rescan(scan(old), new, start, end) == scan(new)


def test_the_touched_region_is_the_stretch():
    text = "a\n§\nbcd\n§\ne"
    assert touched_region(scan(text), 5, 6) == (3, 7)
    assert touched_region(scan(text), 0, 0) == (0, 1)
    assert touched_region(scan(text), 2, 2) == (0, 7)


@together(
    "text",
    [
        "```\n" * 50_000,
        "<!--\n## a\n" * 50_000,
        "".join("`" * (3 + number % 40) + "\n" for number in range(20_000)),
        "```" + "a" * 1_000_000 + "`",
        "## " + "#" * 1_000_000,
        ("## a" + "\u0301" * 1000 + "\n") * 200,
        "§" + " " * 1_000_000 + "x",
        "\\" * 1_000_000 + "## x",
    ],
    ids=["fences", "comments", "growing-fences", "long-info", "hashes", "marks", "blanks", "backslashes"],
)
def test_hostile_texts_are_read(text):
    """Nothing here is about time; each of these would not end in any if reading it were not linear."""
    found = scan(text)
    assert found.text == text
    assert found.newlines == ()


def test_an_edit_makes_one_number_for_each_delimiter_line_behind_it():
    lines = 10_000
    text = "entry number\n§\n" * lines
    known = scan(text)
    before = sys.getallocatedblocks()
    edited = rescan(known, "a new " + text, 0, 0)
    made = sys.getallocatedblocks() - before
    assert len(edited.newlines) == lines
    assert made < 1.5 * lines
