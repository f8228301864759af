"""Sorting: every entry is in one place afterwards with its bytes, but for those that a person took out."""

from dataclasses import replace

from hypothesis import event, example, given
from hypothesis import strategies as st

from catmem.model.splice import titled
from catmem.names import DROP, SECRET, SPLIT, STAYS, UNCATEGORIZED
from catmem.plugins.sorting.sort_files import category_of, sort_document
from catmem.plugins.sorting.sort_lines import Described, Proposer
from catmem.plugins.sorting.sort_list import Checker, as_text, read_list
from tests.property.strategies import texts
from tests.property.test_migration import CONFIG, files, labelled, read, said

TITLES = {slug: category.title for slug, category in CONFIG.taxonomy.categories.items()}
CATEGORIES = {slug: Described(title) for slug, title in TITLES.items()}
CHOICES = [*TITLES, "finance", "+New One", STAYS, STAYS, DROP, SECRET, SPLIT]
# Entries of a flat file, and sometimes a file with sections behind them.
flat = st.lists(st.one_of(labelled, texts(6)), min_size=2, max_size=8).map("\n§\n".join)
many = st.tuples(flat, st.sampled_from(["\n§\n", "\n## Finance\n", "\n## C\n"]), files).map("".join)


def planned(text):
    document = read(text)
    return document, Proposer(titled(document), CONFIG, CATEGORIES, document.entries)


def chosen(proposer, choices):
    """Lines with these choices, over and over; split entries have a line for each part, which stays."""
    made = []
    for place, each in enumerate(proposer.lines()):
        line = replace(each, choice=choices[place % len(choices)])
        parts = proposer.parted(line) if line.choice == SPLIT else (line,)
        for number, part in enumerate(parts):
            choice = [*TITLES, STAYS][number % 4] if part.choice == SPLIT or part.part else part.choice
            made.append(replace(part, choice=choice))
    return made


def without_blanks(text):
    return "".join(text.split())


@given(st.one_of(many, many, files), st.lists(st.sampled_from(CHOICES), min_size=1, max_size=6))
@example("# T\na\n§\nb", [STAYS, "finance"])
@example("# T\na\n§\nb", [DROP])
@example("a\n§\nb\n## Finance\nc", ["finance"])
@example("a\n§\n# T", ["finance", STAYS])
@example("```\na\n§\nb", ["finance"])
@example("- a\n- b\n§\nc. D e. F.", [SPLIT])
@example("[source: x] a. B c.\n§\n[source: y] d", [SPLIT, "+New One"])
def test_every_entry_is_in_one_place_with_its_bytes_but_for_those_taken_out(text, choices):
    document, proposer = planned(text)
    lines = chosen(proposer, choices)
    migration = sort_document(document, lines, {**TITLES, "new-one": "New One"})
    before = titled(document)
    expected: dict[str, list] = {}
    for entry in before.entries:
        if entry.category != UNCATEGORIZED:
            expected.setdefault(entry.category, []).append((entry.body, entry.tags))
    for line in lines:
        if line.choice not in {DROP, SECRET}:
            expected.setdefault(category_of(line), []).append((line.text, line.entry.tags))
    after = titled(read(migration.new))
    assert {category: said(entries) for category, entries in after.by_category.items()} == expected
    assert after.title == before.title
    for entry in {line.entry for line in lines}:
        parts = [line.text for line in lines if line.entry == entry]
        assert without_blanks("".join(parts)) == without_blanks(entry.body)
    if all(line.choice == STAYS and not line.part for line in lines):
        assert migration.new == document.text
    event(f"{len(lines)} lines, {len({line.choice for line in lines})} choices")


@given(st.one_of(many, many, files), st.lists(st.sampled_from(CHOICES[:-1]), min_size=1, max_size=6))
def test_a_list_that_is_written_and_read_says_the_same(text, choices):
    document, proposer = planned(text)
    if not proposer.lines():
        return
    lines = chosen(proposer, choices)
    checker = Checker(proposer.lines(), TITLES, CONFIG)
    found = read_list(as_text(lines, "neo/user", document.digest, CATEGORIES))
    assert found.digest == document.digest
    assert checker.chosen(found) == tuple(lines)
