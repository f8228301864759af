import pytest

from catmem.model import layout as layout_module
from catmem.model.document import parse
from catmem.model.layout import formatted, is_shared
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


@together(
    ("text", "plain"),
    [
        ("## A\nx\n\n## __uncategorized__\n", "## A\nx\n"),
        ("## A\nx\n## __uncategorized__\n## __uncategorized__\n", "## A\nx\n"),
        ("one\n## A\n## __uncategorized__\n", "one\n\n## A\n"),
        ("## A\nx\n## __uncategorized__\ny\n", "## A\nx\n\n## __uncategorized__\ny\n"),
        ("## __uncategorized__\n## A\nx\n", "## __uncategorized__\n\n## A\nx\n"),
    ],
)
def test_an_empty_last_section_without_a_category_says_nothing(text, plain):
    assert formatted(parse(text), "plain") == plain
    assert formatted(parse(plain), "plain") == plain


@together("text", ["## __uncategorized__\n", "one\n\n## __uncategorized__\n", "# T\n\n## __uncategorized__\n"])
def test_the_only_header_stays_since_without_one_the_file_reads_differently(text):
    # A title counts, and entries without a category are hidden by default, only where there is a header.
    assert formatted(parse(text), "plain") == text


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
