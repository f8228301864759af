"""The scanner against a plain line scanner and against mistune, and that parsing loses nothing."""

from hypothesis import example, given
from hypothesis import strategies as st

from catmem.model.document import Document, parse
from catmem.model.layout import last_entries
from catmem.syntax.scan import Categories, rescan, scan
from tests.property.oracles import commonmark_headings, hermes_entries, read_slowly
from tests.property.strategies import MARKS, texts
from tests.together import together

DECLARED = {"finance", "über"}


def as_read(document):
    """What a document says, in the shape of the plain scanner's reading."""
    found = read_slowly("")._replace(
        title=document.title,
        headers=[(header.start, header.title, header.category) for header in document.scan.headers],
        entries=[(entry.category, entry.start, entry.raw) for entry in document.entries],
        delimiters=[newline + 1 for newline in document.scan.newlines],
        unclosed=[problem.start for problem in document.problems if problem.rule == "unclosed-fence"],
        slugless=[problem.start for problem in document.problems if problem.rule == "empty-slug"],
    )
    assert all(document.text[entry.start : entry.end] == entry.raw for entry in document.entries)
    return found


@given(texts(), st.sampled_from([None, DECLARED]))
@example("\ufeff§\r\n## A\r", None)
@example("## A\r\n```\r\n## B\r\n§\r\n```\r\n## C", None)
def test_a_plain_line_scanner_reads_the_same(text, declared):
    assert as_read(parse(text, declared=declared)) == read_slowly(text, declared)


CLOSED = [
    "```\nx\n```", "```\nx\n````  ", "~~~ a~`b\nx\n   ~~~\t", "   ```\n```", "```\n~~~\n```", "```\n<!--\n```",
    "```\r\nx\r\n```\r", "<!-- x -->", "<!-->", "<!--->", "   <!--\n```\n--> y", "<!--\n\n\n-->",
]  # fmt: skip
OPEN = [
    "```", "````\n```", "```\n    ```", "```\n``` x", "<!--", "<!--\n--", "~~~\n<!--\n```", "x ```", "``` a`", "``", "<!-",
]  # fmt: skip


@together("piece", [*MARKS, *CLOSED, *OPEN])
def test_a_plain_line_scanner_reads_each_mark_and_fence_the_same(piece):
    for text in (piece, f"{piece}\n## B", f"x\n{piece}\ny\n", f"\ufeff{piece}", f"## A\n{piece}\n## B\n§"):
        assert as_read(parse(text)) == read_slowly(text)


@given(texts())
def test_nothing_is_lost(text):
    document = parse(text.encode())
    assert document.to_bytes() == text.encode()
    marks = [(newline + 1, end) for newline, end in document.scan.delimiters()]
    marks += [(header.start, header.end) for header in document.scan.headers]
    marks += [(title.start, title.end) for title in [document.scan.title] if title]
    marks += [(entry.start, entry.end) for entry in document.entries]
    position = document.scan.start
    for start, end in sorted(marks):
        assert not text[position:start].strip()
        assert end > start
        position = end
    assert not text[position:].strip()


@given(
    st.lists(
        st.sampled_from(["one", "two\nlines", "a\n\nb", "- x", "Label: y", "# h", "§ x", "", " ", "\n"]), max_size=8
    )
)
def test_a_file_without_headers_reads_as_hermes_reads_it(parts):
    text = "\n§\n".join(parts)
    # Hermes splits without overlap, so that of two delimiter lines in a row it may see one; catmem sees both. What
    # is left over then is a bare `§`, which no entry here is.
    expected = [entry for entry in hermes_entries(text) if entry != "§"]
    ours = [entry.raw for entry in parse(text).entries]
    assert ours == [line for entry in expected for line in _without_edge_delimiters(entry)]


def _without_edge_delimiters(entry):
    """Without delimiters that Hermes does not see, whose newline is that of the one before or that stand at an edge."""
    lines = entry.removeprefix("§\n").removesuffix("\n§").strip()
    return [lines] if lines else []


@given(texts(), texts(4), st.tuples(st.floats(0, 1), st.floats(0, 1)))
@example("\ufeff§", "", (0, 0))
@example("\ufeff§\nx", "", (0, 0.25))
@example("§\nx", "\ufeff", (0, 0))
@example("## A\n# T", "", (0, 0.625))
@example("# T", "\n## A", (1, 1))
def test_rescan_is_scan(text, piece, places):
    start, end = (round(place * len(text)) for place in sorted(places))
    new = text[:start] + piece + text[end:]
    for categories in (Categories({}), Categories({name: name for name in DECLARED}, only=True)):
        assert rescan(scan(text, categories), new, start, end) == scan(new, categories)


def edited(document, piece, start, end):
    text = document.text[:start] + piece + document.text[end:]
    return Document(rescan(document.scan, text, start, end))


@given(texts(), st.lists(st.tuples(texts(4), st.floats(0, 1), st.floats(0, 1)), max_size=6))
@example("\ufeff§\n§\na", [("", 0, 0), ("§\n", 1, 1)])
def test_a_document_that_is_edited_again_and_again_is_the_one_that_is_read(text, patches):
    document = parse(text)
    for piece, one, other in patches:
        start, end = (round(place * len(document.text)) for place in sorted((one, other)))
        document = edited(document, piece, start, end)
        read = parse(document.text)
        assert document.scan == read.scan
        assert document.scan.blanks == read.scan.blanks
        lines = read.scan.delimiters()
        for offset in range(len(document.text) + 2):
            assert document.scan.delimiters_before(offset) == sum(newline < offset for newline, _ in lines)
        starts = [start for start, _ in read.scan.stretches()]
        before = [sum(entry.start < max(start, read.scan.start) for entry in read.entries) for start in starts]
        assert [document.scan.entries_before(start) for start in starts] == before


# --- mistune ---------------------------------------------------------------------------------------------------------
#
# CommonMark and this format agree on level-2 ATX headings in one stretch, outside fences and comments, if every fence
# and comment is closed and stands at the top level (here a list or a quote hides nothing, and what is not closed hides
# nothing either). So these texts are built of paragraphs, headings, closed fences and closed comments; what stands
# inside a fence or a comment is anything that cannot close it.

_INSIDE = st.lists(
    st.sampled_from(["## Hidden", "text", "", "`` two", "<!--", "§ text", "# One", "    ## far"]), max_size=4
)


def _fence(draw):
    run = draw(st.sampled_from(["```", "````", "~~~", "~~~~~"]))
    inside = [
        *draw(_INSIDE),
        *draw(st.lists(st.sampled_from([run[:3] + " info", "~~~" if run[0] == "`" else "```"]), max_size=2)),
    ]
    longer = draw(st.sampled_from(["", run[0], " "]))
    return [
        draw(st.sampled_from(["", " ", "   "])) + run + draw(st.sampled_from(["", "python", " a b"])),
        *inside,
        run + longer,
    ]


def _comment(draw):
    inside = [line for line in draw(_INSIDE) if "<!--" not in line]
    return (
        [draw(st.sampled_from(["<!-- x -->", " <!-- ## x -->", "<!-- a --> b"]))]
        if draw(st.booleans())
        else [
            "<!--" + draw(st.sampled_from(["", " x"])),
            *inside,
            "```",
            draw(st.sampled_from(["-->", "x -->", "--> y"])),
        ]
    )


@st.composite
def common_texts(draw):
    rows = []
    for _ in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from(["heading", "heading", "paragraph", "blank", "fence", "comment", "other"]))
        if kind == "heading":
            name = draw(st.sampled_from(["Alpha", "Beta two", "C#", "D #5"]))
            rows.append(
                "##" + draw(st.sampled_from([" ", "  ", "\t"])) + name + draw(st.sampled_from(["", " ##", " #", "  "]))
            )
        elif kind == "fence":
            rows += _fence(draw)
        elif kind == "comment":
            rows += _comment(draw)
        else:
            rows.append(
                {
                    "paragraph": "some words",
                    "blank": "",
                    "other": draw(st.sampled_from(["# One", "### Three", "##none"])),
                }[kind]
            )
    return "\n".join(rows) + "\n"


@given(common_texts())
def test_mistune_sees_the_same_headings(text):
    assert [header.title for header in scan(text).headers] == commonmark_headings(text)


@given(texts(), st.sampled_from(["__uncategorized__", "finance", "rules-old"]), st.integers(1, 4))
@example("one\n§\ntwo\n§\nthree\n§\nfour\n§\nfive\n", "__uncategorized__", 2)
def test_the_last_entries_of_a_category_are_those_of_all(text, category, count):
    document = parse(text)
    found = last_entries(document, category, count)
    expected = [entry for entry in document.entries if entry.category == category][-count:]
    assert found == expected == last_entries(document, category, count)
