"""How values look: diffs with the words that changed, bars, bodies, days, pages of long lists."""

import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catmem.plugins.page import rendering


def told(diff):
    return [(line.kind, line.old, line.new, "".join(text for text, _ in line.parts)) for line in diff.lines]


def marked(diff):
    return [text for line in diff.lines for text, changed in line.parts if changed]


def test_lines_have_their_numbers_on_both_sides():
    diff = rendering.diff_of("a\nb\nc\n", "a\nx\ny\nc\n")
    assert told(diff) == [
        ("same", 1, 1, "a"),
        ("old", 2, None, "b"),
        ("new", None, 2, "x"),
        ("new", None, 3, "y"),
        ("same", 3, 4, "c"),
    ]
    assert (diff.added, diff.removed, diff.hidden) == (2, 1, 0)


def test_what_is_left_out_between_changes_is_a_gap():
    lines = [f"{number}\n" for number in range(30)]
    changed = ["first\n", *lines[1:20], "later\n", *lines[21:]]
    kinds = [line.kind for line in rendering.diff_of("".join(lines), "".join(changed)).lines]
    assert kinds == ["old", "new", *["same"] * 3, "gap", *["same"] * 3, "old", "new", *["same"] * 3]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Never before ten.", "Never before nine.", ["ten", "nine"]),
        ("[created: 2026-01-01] x", "[created: 2026-01-02] x", ["01", "02"]),
        ("all of it", "quite another thing, as one can see", []),
        ("a", "", []),
        ("x " * 2_000, "y " * 2_000, []),
    ],
)
def test_the_words_that_changed_are_marked_where_a_line_is_still_the_same_line(old, new, words):
    assert marked(rendering.diff_of(f"{old}\n", f"{new}\n")) == words


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [("a\n", "a\r\n", r"a\r"), ("a", "a\n", "a (no newline at the end)"), ("", "a\u202eb\n", r"a\u202eb"), ("", "a\x85b\x0cc\n", r"a\x85b\x0cc")],
)  # fmt: skip
def test_a_difference_that_does_not_show_is_written_out(old, new, said):
    assert said in [text for *_, text in told(rendering.diff_of(old, new))]


def test_a_long_diff_is_cut_and_says_by_how_much():
    diff = rendering.diff_of("", "x\n" * 1_000, most=10)
    assert (len(diff.lines), diff.hidden, diff.added) == (10, 990, 1_000)


LINES = st.lists(st.text("ab .\u202e\r", max_size=6), max_size=8)


@given(LINES, LINES)
def test_each_side_of_a_diff_can_be_read_from_it(before, after):
    old, new = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    lines = rendering.diff_of(old, new).lines
    if any(line.kind == "gap" for line in lines):
        return
    for kind, text in (("new", old), ("old", new)):
        side = [words for each, _, _, words in told(rendering.Diff(lines, 0, 0, 0)) if each not in {kind, "gap"}]
        assert side == [] or rendering.printable(text.replace("\r\n", "\\r\n")).split("\n")[: len(side)] == side  # type: ignore[attr-defined]


def test_days_and_moments_look_the_same_everywhere():
    assert rendering.day(date(2026, 11, 2)) == "2 Nov 2026"
    assert rendering.day(None) == ""
    assert rendering.moment("2026-11-21T09:05:00.123456Z") == "21 Nov 2026, 09:05 UTC"
    assert rendering.moment("whenever") == "whenever"


@pytest.mark.parametrize(
    ("body", "html"),
    [
        ("Prefers **short** answers.", "<p>Prefers <strong>short</strong> answers.</p>\n"),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
        ("![a <b>](https://example.org/x.png)", "<p><em>a &lt;b&gt;</em></p>\n"),
        ("[x](javascript:alert)", '<p><a href="#harmful-link">x</a></p>\n'),
        ("# Title", "<p>Title</p>\n"),
    ],
)
def test_a_body_is_markdown_that_loads_nothing(body, html):
    assert rendering.body_html(body) == html


@given(st.text(alphabet="<>&\"'`*_[]()!#-\n :/abjst", max_size=200))
def test_a_body_brings_no_element_of_its_own(body):
    allowed = (
        r"</?(?:p|strong|em|code|pre|ul|ol|li|blockquote|br|hr|a|del)(?: (?:href|title|class|start)=\"[^\"<>]*\")* ?/?>"
    )
    assert "<" not in re.sub(allowed, "", rendering.body_html(body))


_LINKS = f"[a]: b{'c' * 300}\n\n" + "[a]" * 1_200


@pytest.mark.parametrize(
    "text", [_LINKS, '"' * 4_000, "> a\n\n" * 800, ">" * 4_000, "*a* " * 1_000, "\U000e0001" * 4_000]
)
def test_no_body_becomes_far_longer_than_it_is(text):
    assert len(text) <= len(rendering.body_html(text)) < 61_000
    assert text != _LINKS or rendering.body_html(text).startswith("<pre>[a]: bccc")


def test_usual_markdown_is_never_too_long():
    for text in (
        "**Bold**, `code`, [a link](https://example.org/a).",
        "- one\n- two\n",
        'He said "yes", & "no".',
        "a\n\nb",
    ):
        assert "<pre>" not in rendering.body_html(text * 40)


@pytest.mark.parametrize(
    ("text", "old", "new_words"),
    [
        ("no calls before nine", "no calls before ten", ["nine"]),
        ("no calls before ten, or on Fridays", "no calls before ten", [", or on Fridays"]),
        ("no calls", "no calls before ten at all", []),
        ("quite something else", "no calls before ten", []),
        ("x" * 3000, "x" * 2999, []),
    ],
    ids=["another word", "more", "less", "too much of it", "too long"],
)
def test_the_words_of_a_text_that_an_older_one_has_not(text, old, new_words):
    parts = rendering.changed_from(text, old)
    assert [part for part, changed in parts if changed] == new_words
    assert "".join(part for part, _ in parts) == (text if new_words else "")
