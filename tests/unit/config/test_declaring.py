"""Categories written into ``catmem.yaml``, with everything else in it as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catmem.config.config import config_of
from catmem.config.yamlfile import parse_yaml, with_categories
from catmem.errors import ConfigError
from tests.together import together

NEW = {"comm": "Comm", "r-d": "R&D"}
LINES = "comm: {title: Comm}", "r-d: {title: R&D}"

TEXTS = {
    "nothing": ("", "taxonomy:\n  categories:\n    {0}\n    {1}\n"),
    "another key, no newline": ("version: 1", "version: 1\ntaxonomy:\n  categories:\n    {0}\n    {1}\n"),
    "categories in lines": (
        ("# head\ntaxonomy:\n  closed: true  # so\n  categories:\n    # about\n    a: {{title: A}}  # first\n\n    # last\n    b:\n"
        "      title: B  # of all\n\n# behind\ndomains: {{}}\n"),
        ("# head\ntaxonomy:\n  closed: true  # so\n  categories:\n    # about\n    a: {{title: A}}  # first\n\n    # last\n    b:\n"
        "      title: B  # of all\n    {0}\n    {1}\n\n# behind\ndomains: {{}}\n"),
    ),
    "no newline at the end": (
        "taxonomy:\n  categories:\n    a: {{}}",
        "taxonomy:\n  categories:\n    a: {{}}\n    {0}\n    {1}\n",
    ),
    "carriage returns": (
        "version: 1\r\ntaxonomy:\r\n  categories:\r\n    a: {{}}\r\nstale_after: 9d\r\n",
        "version: 1\r\ntaxonomy:\r\n  categories:\r\n    a: {{}}\r\n    {0}\r\n    {1}\r\nstale_after: 9d\r\n",
    ),
    "no categories": (
        "taxonomy:\n    closed: true # so\nversion: 1\n",
        "taxonomy:\n    closed: true # so\n    categories:\n      {0}\n      {1}\nversion: 1\n",
    ),
    "a block of text at the end": (
        "taxonomy:\n  categories:\n    a:\n      title: |-\n        A\nversion: 1\n",
        "taxonomy:\n  categories:\n    a:\n      title: |-\n        A\n    {0}\n    {1}\nversion: 1\n",
    ),
}  # fmt: skip


@together(("old", "new"), TEXTS.values(), ids=TEXTS)
def test_nothing_else_changes(tmp_path, old, new):
    made = with_categories(old.format(), NEW, tmp_path / "catmem.yaml")
    assert made == new.format(*LINES)
    categories = config_of(tmp_path, made).taxonomy.categories
    assert list(categories)[-2:] == ["comm", "r-d"]
    assert (categories["comm"].title, categories["r-d"].title) == ("Comm", "R&D")


@together("old", ["taxonomy:\n", "taxonomy:\n  categories:\nversion: 1\n", "version: 1\n...\n", "taxonomy: {}\n"])
def test_what_is_empty_or_ends_oddly(tmp_path, old):
    try:
        made = with_categories(old, NEW, tmp_path / "catmem.yaml")
    except ConfigError as error:
        assert error.code == "declare_by_hand"
    else:
        assert list(config_of(tmp_path, made).taxonomy.categories) == list(NEW)


@given(
    st.permutations(
        ["version: 1", "stale_after: 9d  # long", "# alone", "taxonomy:\n  closed: true", "", "domains:\n  x: {}\n"]
    )
)
def test_every_line_that_was_there_is_still_there_in_order(tmp_path_factory, parts):
    old = "\n".join(parts)
    made = with_categories(old, NEW, tmp_path_factory.getbasetemp() / "catmem.yaml")
    kept = iter(made.splitlines())
    assert all(line in kept for line in old.splitlines())


def test_behind_a_key_without_a_value(tmp_path):
    made = with_categories("taxonomy:\n categories:\n   a:   # none\n\n# end", NEW, tmp_path / "catmem.yaml")
    assert made == "taxonomy:\n categories:\n   a:   # none\n   {}\n   {}\n\n# end".format(*LINES)


@together("name", ["new", "true", "null"])
@together("title", ["True", "Null", "Sales #1", "# x", "a]b", "Q [x", "\U0001f600: x", "a: b", "'", "- a"])
def test_words_that_mean_something_to_yaml_are_quoted(tmp_path, name, title):
    made = with_categories("", {name: title}, tmp_path / "catmem.yaml")
    assert parse_yaml(made).data["taxonomy"]["categories"] == {name: {"title": title}}


def test_a_file_that_is_not_right_is_not_edited(tmp_path):
    with pytest.raises(ConfigError) as caught:
        with_categories("taxonomy: [\n", NEW, tmp_path / "catmem.yaml")
    assert caught.value.code == "yaml_syntax"


@together("old", ["taxonomy: {categories: [a]}\n", "taxonomy: {categories: {a: {}}}\n", "{version: 1}\n", "- a\n"])
def test_what_cannot_be_edited_is_left_to_a_person(tmp_path, old):
    with pytest.raises(ConfigError) as caught:
        with_categories(old, NEW, tmp_path / "catmem.yaml")
    assert caught.value.code == "declare_by_hand"
    assert "comm: {title: Comm}" in caught.value.hint
