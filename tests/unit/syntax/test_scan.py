"""Escapes as they are read, hostile sizes, and how much a scan does again after an edit.

What a text is read as: ``tests/conformance/parse.json``, and a second scanner in ``tests/property/test_scan.py``.
"""

import sys

from catmem.syntax.scan import rescan, scan, touched_region, unescape
from tests.together import together

ESCAPED = [
    "\\§",
    "\\§ \t",
    "\\\\§",
    "\\# ",
    "\\# x",
    "\\## x",
    "\\##\tx",
    "\\\\\\## x",
    "\\#\t",
    "\\" * 1_000_000 + "§",
]
PLAIN = [
    "§", "## x", "\\§ x", "\\§§", "\\#x", "\\##x", "\\### x", " \\§", "x\\§", "\\", "\\\\", "\\\n§", "\\§\xa0", "\\\r## x",
    "\\" * 1_000_000 + "x",
]  # fmt: skip


@together("line", ESCAPED)
def test_reading_takes_one_backslash(line):
    assert unescape(f"{line}\r\nb\n{line}") == f"{line[1:]}\r\nb\n{line[1:]}"


@together("line", PLAIN)
def test_other_lines_stay(line):
    assert unescape(f"a\n{line}\nb") == f"a\n{line}\nb"


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
