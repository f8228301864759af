"""The grammar of tag blocks, rule by rule; ``tests/property/test_tags.py`` holds it against PyYAML."""

import pytest

from catmem.errors import EditError
from catmem.syntax import tags as tag_blocks
from catmem.syntax.tags import block_size, write, write_block
from tests.together import together

LIMIT = 4096


def read(text, limit=LIMIT):
    pairs, body = tag_blocks.read(text)
    return list(pairs), body


@together(
    ("text", "pairs", "body"),
    [
        ("[a: b] x", [("a", "b")], "x"),
        ("[a: b]", [("a", "b")], ""),
        ("[a: b]\nx", [("a", "b")], "x"),
        ("[a: b]\tx", [("a", "b")], "x"),
        ("[a: b,c: d] x", [("a", "b"), ("c", "d")], "x"),
        ("[a: b] [c: d]  [e: f] x", [("a", "b"), ("c", "d"), ("e", "f")], "x"),
        ("[a: b][c: d] x", [("a", "b"), ("c", "d")], "x"),
        ("[a: b] [c: d][ref]", [("a", "b")], "[c: d][ref]"),
        ("[a: b, a: c] x", [("a", "b"), ("a", "c")], "x"),
        ("[a:   b c  ,  d:   ] x", [("a", "b c"), ("d", "")], "x"),
        ("[a-b_1: x] y", [("a-b_1", "x")], "y"),
        ("[a: [b]] x", [("a", ("b",))], "x"),
        ('[a: [ b , "c, d" ,e f]] x', [("a", ("b", "c, d", "e f"))], "x"),
        ('[a: ""] x', [("a", "")], "x"),
        ('[a: [""]] x', [("a", ("",))], "x"),
        ('[a: "\\u00e9\\n\\"\\\\\\/"] x', [("a", 'é\n"\\/')], "x"),
        ("[a: b#c] x", [("a", "b#c")], "x"),
        ("[a: b'c] x", [("a", "b'c")], "x"),
        ("[a: 10:30] x", [("a", "10:30")], "x"),
        ("[a: http://x.y/z] x", [("a", "http://x.y/z")], "x"),
        ("[a: -1] x", [("a", "-1")], "x"),
        ("[a: null, b: yes, c: 1.0] x", [("a", "null"), ("b", "yes"), ("c", "1.0")], "x"),
        ("[a: ~, b: 2026-05-01] x", [("a", "~"), ("b", "2026-05-01")], "x"),
        ("- [a: b] x", [("a", "b")], "- x"),
        ("* [a: b] x\ny", [("a", "b")], "* x\ny"),
        ("+ [a: b]\nx", [("a", "b")], "x"),
        ("- [a: b]", [("a", "b")], ""),
        ("---\na: b\n---\nx", [("a", "b")], "x"),
        ("--- \na: b\n---\t\nx", [("a", "b")], "x"),
        ("---\na: b\n---", [("a", "b")], ""),
        ('---\na: b, c\nd: \ne:\n- f\n- "g: h"\ni:\n  - j\nk: [l, m]\n---\nx',
         [("a", "b, c"), ("d", ""), ("e", ("f", "g: h")), ("i", ("j",)), ("k", ("l", "m"))], "x"),
    ],
)  # fmt: skip
def test_tags(text, pairs, body):
    assert read(text) == (pairs, body)
    assert block_size(text) > 0


@together(
    "text",
    [
        "[text](url)", "[a: b](url)", "[a: b][ref]", "[a: b]x", "[a: b]: x", "[COMM] x", "[project:x] y",
        "- [ ] todo", "[]", "[a]", "[a: b", "[A: b]", "[1a: b]", "[a:b]", "[a:\tb]", "[a: b: c]", "[a: b #c]",
        "[a: {b: c}]", "[a: b}]", '[a: b"c]', '[a: "b]', '[a: "b" c]', "[a: 'b']", "[a: &b]", "[a: *b]", "[a: !b]",
        "[a: |]", "[a: >]", "[a: %b]", "[a: @b]", "[a: `b`]", "[a: #b]", "[a: - b]", "[a: []]", "[a: [b, ]]",
        "[a: [, b]]", "[a: [[b]]]", "[a: b, ]", "[, a: b]", "[ a: b]", "x [a: b]", "-  [a: b]", "-[a: b]",
        "- - [a: b]", " [a: b]", "\n[a: b]", "[a: b\n]", "[a: b\x00]", "[a: b\x85c]", '[a: "\\ud800"]',
        '[a: "\\x41"]', "---", "---\n---", "---\nx\n---", "---\na:\n---", "---\na: b", "---\na: b\n--",
        "---\na: b\n\n---", "---\na: b # c\n---", "---\n# c\na: b\n---", "---\na:\n- b\n  - c\n---", "---\na:b\n---",
        "---x\na: b\n---", "----\na: b\n---", "--- a: b\n---",
    ],
)  # fmt: skip
def test_text(text):
    assert read(text) == ([], text)
    assert block_size(text) == 0


@together(
    ("text", "body"),
    [
        ("\\[a: b] x", "[a: b] x"),
        ("\\\\[a: b] x", "\\[a: b] x"),
        ("- \\[a: b] x", "- [a: b] x"),
        ("\\[a:\tb", "[a:\tb"),
        ("\\---", "---"),
        ("\\---\na: b\n---", "---\na: b\n---"),
        ("\\[E = mc^2\\]", "\\[E = mc^2\\]"),
        ("\\[a:b]", "\\[a:b]"),
        ("\\---x", "\\---x"),
        ("x\n\\[a: b]", "x\n\\[a: b]"),
    ],
)
def test_the_tag_escape(text, body):
    assert read(text) == ([], body)
    assert read(write({}, body)) == ([], body)
    assert read(write({"k": "v"}, body)) == ([("k", "v")], body)


def test_what_is_written():
    tags = {
        "verified_date": "2026-05-01",
        "domain": ["finance", "a, b"],
        "source": "a: b",
        "empty": "",
        "q": 'say "x"\n',
    }
    block = '[verified_date: 2026-05-01, domain: [finance, "a, b"], source: "a: b", empty: "", q: "say \\"x\\"\\n"]'
    assert write_block(tags) == block
    assert write(tags, "") == block
    assert write({}, "x") == "x"
    assert write({"a": "b"}, "- x") == "- [a: b] x"
    assert write({"a": "b"}, "-  x") == "[a: b] -  x"
    assert write({"a": "b"}, "- x\ny") == "[a: b]\n- x\ny"


@together(
    "tags",
    [
        {"a": "\ud800"},
        {"a": ["\udfff"]},
        {"k" * 1025: "x"},
    ],
)
def test_what_cannot_be_written(tags):
    with pytest.raises(EditError) as caught:
        write_block(tags)
    assert caught.value.code == "bad_tag"
    assert len(str(caught.value)) < 300 or len(next(iter(tags))) > 1000


@together(
    "text",
    [
        "[" * 200_000,
        "[a: b]" * 50_000 + "x",
        "[a: [" + "b, " * 100_000,
        '[a: "' + '\\"' * 200_000,
        "[a: x" + " " * 500_000 + "y",
        "---\n" + "a: b\n" * 50_000,
    ],
)
def test_hostile_blocks_are_text(text):
    """Each of these would not end in any time if reading it were not linear."""
    assert read(text, len(text)) == ([], text)
