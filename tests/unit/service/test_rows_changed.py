"""What an edit changed, read off its place, is what a comparison of all entries finds."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from catmem.model.document import parse
from catmem.service.rows_changed import Counted, difference
from tests.property.strategies import texts

THREE = "## Rules\none\n§\ntwo\n\n## Plans\nthree\n"


def says(entries):
    return [(entry.category, entry.raw) for entry in entries]


@given(st.lists(texts(), min_size=2, max_size=5))
@example(["one\n§\ntwo", "§\none\n§\n§\ntwo"])
@example(["# Title\none\n", "# Title\n## Rules\none\n"])
@example(["\ufeffone\n§\ntwo", "one\n§\ntwo"])
@example(["ä\n§\né\n§\n€", "ä\n§\nè\n§\n€", "ä\n§\n€"])
def test_differences_lead_from_each_text_to_the_next(versions):
    counted = Counted.of(parse(versions[0]))
    for version in versions[1:]:
        before, after = counted.document.entries, parse(version).entries
        assert counted.total == len(before)
        differs = difference(counted, parse(version))
        first, gone = differs.first, len(differs.gone)
        assert [*says(before[:first]), *says(differs.come), *says(before[first + gone :])] == says(after)
        counted = differs.after
        assert counted.odd == Counted.of(parse(version)).odd


@given(texts(), st.data())
def test_an_edit_anywhere_is_found(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    put = data.draw(st.sampled_from(["", "new", "\n§\n", "\n## Other\n", "\n\n", "```\n", "# Title\n", "ä"]))
    new = parse(text[:start] + put + text[end:])
    before = parse(text)
    differs = difference(Counted.of(before), new)
    first, gone = differs.first, len(differs.gone)
    assert [*says(before.entries[:first]), *says(differs.come), *says(before.entries[first + gone :])] == says(
        new.entries
    )
    assert differs.after.odd == Counted.of(new).odd


@pytest.mark.parametrize(
    ("after", "first", "gone", "come"),
    [
        (THREE, 3, 0, []),
        (THREE.replace("two", "new"), 1, 1, ["new"]),
        (THREE.replace("two", "two\n§\nnew"), 2, 0, ["new"]),
        (THREE.replace("one\n§\n", ""), 0, 1, []),
        (THREE.replace("Plans", "Hopes"), 2, 1, ["three"]),
        ("", 0, 3, []),
    ],
)
def test_only_what_differs_is_named(after, first, gone, come):
    differs = difference(Counted.of(parse(THREE)), parse(after))
    assert ([entry.raw for entry in differs.come], len(differs.gone)) == (come, gone)
    assert differs.first == first or not (gone or come)
