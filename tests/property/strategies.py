"""Texts that try to break the format: its own marks, near misses of them, and odd characters, in any order."""

from hypothesis import strategies as st

MARKS = [
    "§", "§ ", "§\t ", " §", "§ text", "text § text", "\\§", "\\\\§ ", "\\§ text", "§§", "§\r", "## Finance",
    "## Finance ##", "##\tFinance", "## Rules (Old) #", "## a #b", "## C#", "## __uncategorized__", "##", "## ",
    "## !!!", "## ##", "##x", " ## indented", "\\## Finance", "\\\\## Finance", "## Über", "## \ufeff", "# Title",
    "# Title #", "# ", "#", "\\# Title", "### Three", "\\### Three", "Setext", "======", "------", "```",
    "```python", "```a`b", "````", " ```", "    ```", "``` ", "~~~", "~~~~", "~~~ x", "~~~a`b", "> ```", "- ```",
    "<!--", "<!-- x -->", "-->", "x -->", "<!-->", "<!--->", "  <!--", "    <!--", "x <!--", "<!-- ```", "``` <!--",
    "--> ```", "---", "--- ", "---x", "\\---", "key: value", "key:", "- item", "  - item", "key: ", "[a: b]",
    "[a: b] text", "- [a: b] text", "- [a: b]", "* [a: b][c: d]", "- [ ] todo", "\\[a: b]", "- \\[a: b] x",
    "\\\\[a: b]", "[text](url)", "[a: b][ref]", "[a: b] [c: d]", '[a: [x, y], a: "z"] t', "[COMM] x",
    "§\xa0", "§\x0b", "§\u2028", "\t§", "a\r§", "\ufeff\ufeff§", "##   A  \t", "## A #######", "## A ## \t", "## A\t#",
    "## C# #", "## A # b", "## A # #", "## A\\#", "## a\rb", "## A\r", "\t## A", "\ufeff## A", "##\xa0A", "> ## A", "- ## A",
    "#T", "\u2028# T",
    "\\[E = mc^2\\]", "text", "- bullet", "+ plus", "", " ", "\t", "\ufeff", "\ufeff§", "\u2028", "\x0b", "\x0c",
    "\x85", "\xa0", "\x1c", "a\rb", "\r", "a\r", "\\", "\\\\", "中文", "e\u0301", "\x00", "\U0001f600", "¤",
]  # fmt: skip

newlines = st.sampled_from(["\n", "\n", "\n", "\r\n"])
marked_lines = st.sampled_from(MARKS)
lines = st.one_of(
    marked_lines,
    marked_lines,
    st.text("§#`~<!->\\ \t\r[]:ab,\"'\ufeff\x85\u2028", max_size=12),
    st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=8),
)


@st.composite
def texts(draw: st.DrawFn, max_lines: int = 12) -> str:
    """Any text: lines full of marks, each with its own line end."""
    parts = [draw(lines) + draw(newlines) for _ in range(draw(st.integers(0, max_lines)))]
    text = draw(st.sampled_from(["", "", "", "\ufeff"])) + "".join(parts)
    return text if draw(st.booleans()) else text.removesuffix("\n").removesuffix("\r")


@st.composite
def bodies(draw: st.DrawFn, max_lines: int = 5) -> str:
    """A text that an entry can hold: stripped, not empty, lines ending in LF."""
    return stored_form(draw(texts(max_lines))) or "text"


def stored_form(text: str) -> str:
    """A text as an entry's body: every CRLF one LF, stripped."""
    return text.replace("\r\n", "\n").strip()


categories = st.sampled_from(
    ["finance", "rules-old", "communication-style", "über", "__uncategorized__", "c", "a-b", "new_one"]
)

tag_keys = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
tag_text = st.one_of(
    st.sampled_from(
        [
            "2026-05-01",
            "finance",
            "",
            " ",
            "a, b",
            "a: b",
            "a #b",
            "http://x.y/z?q=1",
            "null",
            "yes",
            "1.0",
            "~",
            "=",
            "<<",
        ]
    ),
    st.text("?:-#&*!|>%@`'\"{}[],~=< \tab\\\n\r\xa0\x85\u2028\ufeff\x00\x7f/", max_size=12),
    st.text(st.characters(codec="utf-8"), max_size=8),
    st.text("ab c", min_size=100, max_size=300),
)
tag_values = st.one_of(tag_text, tag_text, st.lists(tag_text, min_size=1, max_size=3))
tag_sets = st.dictionaries(tag_keys, tag_values, max_size=3)

_TAG_PIECES = [
    "[", "]", "[[", "]]", "{", "}", ",", ", ", ":", ": ", ":\t", " ", "  ", "\t", "\n", '"', '""', '"x"',
    '"\\u0041"', '"\\ud83d"', '"\\ud83d\\ude00"', '"\\/"', '"\\x41"', '"a\\"b"', '"a\tb"', "'", "'x'", "\\", "\\\\",
    "a", "b", "key", "key: ", "value", "- ", "-", "---", "--- ", "---\n", "\n---", "?", "? ", "#", " #", "&a", "*a",
    "!", "!!str ", "|", ">", "%", "@", "`", "~", "=", "<<", "<<: ", "\xa0", "\x85", "\u2028", "\x00", "\x7f", "\x9f",
    "\ufeff", "\ufffe", "\U0001f600", "2026-05-01", "null", "é", "...", "\r", "x" * 1100, "[k: v]", "[k: v] ",
    "[k: ]", "[k: [a, b]]", "[k: [a, ]]", "[k: v, k: w]",
]  # fmt: skip

tag_soup = st.one_of(
    st.lists(st.sampled_from(_TAG_PIECES), max_size=8).map("".join),
    st.lists(st.sampled_from(_TAG_PIECES), max_size=6).map(lambda pieces: "[key: " + "".join(pieces) + "] body"),
    st.lists(st.sampled_from(_TAG_PIECES), max_size=6).map(
        lambda pieces: "---\nkey: " + "".join(pieces) + "\n---\nbody"
    ),
    st.lists(st.text('k[]"- :#,?a', max_size=7), max_size=4).map(lambda rows: "\n".join(["---", *rows, "---"])),
    tag_text.map(lambda value: f"[key: {value}] body"),
    tag_text.map(lambda value: f"---\nkey: {value}\n---"),
    tag_text.map(lambda value: f"[key: [a, {value}]]"),
    st.tuples(tag_keys, tag_text).map(lambda pair: f"---\n{pair[0]}:\n- {pair[1]}\n---"),
)
