"""Layouts: formatting says the same, twice is once, and Hermes Agent can work on a ``shared`` file."""

from hypothesis import assume, example, given
from hypothesis import strategies as st

from catmem.model.document import parse
from catmem.model.layout import formatted, is_shared, repeated_entries
from catmem.names import UNCATEGORIZED
from tests.property.oracles import hermes_entries, hermes_rewrites
from tests.property.strategies import texts

layouts = st.sampled_from(["plain", "shared"])

# Nobody's delimiter line: text that Hermes Agent, which escapes nothing, may add.
plain_additions = st.sampled_from(["new", "two\nlines", "- bullet", "[a: b] tagged", "Label: value", "§ x"])


def says(document):
    return document.title, {
        category: [(entry.body, entry.tags) for entry in entries] for category, entries in document.by_category.items()
    }


def titles_that_say_something(document):
    """The titles of the sections, but for empty ones of the shared layout that stand last."""
    sections = list(document.sections)
    last_entry = max((entry.start for entry in document.entries), default=0)
    while len(sections) > 1 and sections[-1].title == UNCATEGORIZED and sections[-1].start > last_entry:
        sections.pop()
    return [section.title for section in sections]


@given(texts(), layouts)
@example("## A\n## __uncategorized__\n\n## __uncategorized__", "plain")
@example(" §\n", "plain")
@example(" ## indented\n", "plain")
@example("    ```\n```\n## hidden\n```", "plain")
@example("\n\ufefftext", "plain")
@example("\n\ufefftext", "shared")
@example("a\r\r\nb", "plain")
@example("§\n# Not a title\n## A", "shared")
def test_formatting_says_the_same_and_twice_is_once(text, layout):
    old = parse(text)
    result = formatted(old, layout)
    new = parse(result)
    assert says(new) == says(old)
    assert formatted(new, layout) == result
    if layout == "plain":
        assert [section.title for section in new.sections] == titles_that_say_something(old)


def shared_file(text):
    """A file in the shared layout that has sections, holds no entry twice, and no U+FEFF, which could become a BOM."""
    text = text.replace("\ufeff", "")
    document = parse(text if parse(text).sections else text + "\n§\n## Finance\n")
    result = formatted(document, "shared")
    assume(not repeated_entries(parse(result)))
    return result


@given(texts())
@example("## A\r\none\r\n§\r\ntwo\r\n")
@example("# T\n§\n# T\n## A\n")
def test_hermes_keeps_a_shared_file_as_it_is(text):
    result = shared_file(text)
    assert hermes_rewrites(result) == result


@given(texts())
def test_each_header_of_a_shared_file_stands_alone_and_the_last_is_uncategorized(text):
    result = shared_file(text)
    document = parse(result)
    assert is_shared(document)
    headers = [result[section.start : section.header_end] for section in document.sections]
    assert headers[-1] == "## __uncategorized__"
    assert len({section.category for section in document.sections}) == len(headers)
    parts = hermes_entries(result)
    assert [part for part in parts if part in headers] == headers
    assert len(parts) == len(headers) + len(document.entries) + (document.title is not None)


@given(texts(), plain_additions)
def test_what_hermes_adds_is_uncategorized(text, addition):
    result = shared_file(text)
    before = says(parse(result))[1]
    after = says(parse(result + "\n§\n" + addition))[1]
    added = after[UNCATEGORIZED][-1]
    assert after[UNCATEGORIZED][:-1] == before.get(UNCATEGORIZED, [])
    assert {**after, UNCATEGORIZED: []} == {**before, UNCATEGORIZED: []}
    assert parse("x\n§\n" + addition).entries[-1].body == added[0]


@given(texts(), st.integers(0, 20), st.none() | plain_additions)
def test_what_hermes_replaces_or_removes_takes_no_header_along(text, index, replacement):
    result = shared_file(text)
    document = parse(result)
    assume(document.entries)
    entry = document.entries[index % len(document.entries)]
    parts = hermes_entries(result)
    at = parts.index(entry.raw)
    parts[at : at + 1] = [] if replacement is None else [replacement]
    new = parse("\n§\n".join(parts))
    assert [section.category for section in new.sections] == [section.category for section in document.sections]
    expected = [one.raw for one in document.entries if one is not entry]
    assert [one.raw for one in new.entries if one.raw != replacement] == [raw for raw in expected if raw != replacement]
