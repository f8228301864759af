"""Migration and sorting: no entry is lost, doubled or changed but for its labels, order is kept, and twice is once."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

from hypothesis import event, example, given
from hypothesis import strategies as st

from catmem.config.config import Category, Config, Taxonomy
from catmem.model.document import parse
from catmem.model.layout import formatted
from catmem.model.splice import titled
from catmem.names import DROP, SECRET, SPLIT, STAYS, UNCATEGORIZED
from catmem.plugins.sorting.labels import plan_migration
from catmem.plugins.sorting.operations import category_of, sort_document
from catmem.plugins.sorting.sort_lines import Checker, Described, Proposer, as_text, read_list
from tests.property.strategies import MARKS, texts

CATEGORIES = [
    Category("finance", "Finance", ("fin", "money matters"), domain="finance"),
    Category("communication-style", "Communication Style", ("comm",)),
    Category("c", "C", ("a-b",)),
]
ALIASES = {"fin": "finance", "money-matters": "finance", "comm": "communication-style", "a-b": "c"}
CONFIG = Config(
    Path("root"),
    taxonomy=Taxonomy(
        categories={
            each.slug: Category(
                each.slug, each.title, tuple(slug for slug in ALIASES if ALIASES[slug] == each.slug), each.domain
            )
            for each in CATEGORIES
        }
    ),
)

LABELS = [
    "[COMM]", "[comm] ", "[FIN]", "[Finance] ", "[money matters]", "[A-B] ", "Finance: ", "Finance:", "**Finance:** ",
    "**COMM**: ", "Communication style: ", "[project:x]", "[project:x] ", "[project:finance] ", "[domain:finance] ",
    "[verified_date:2026-05-01] ", "[verified_date:soon] ", "[created: 2026-05-01] ", "[FOO] ", "[TODO] ", "[foo:bar] ",
    '[source:a "b", c]', "[COMM](url)", "[COMM][ref]", "[COMM]:", "[https://x.y]", "[project:x]: ",
]  # fmt: skip
heads = st.lists(st.sampled_from(LABELS), min_size=1, max_size=3).map("".join)
markers = st.sampled_from(["", "", "", "- ", "* ", "  ", "[source: a] ", "- [source: a] ", "# ", "\\"])
tails = st.one_of(
    st.sampled_from(["text", "", "\n  - a\n  - b", "\n- a\n- b", "a\n[FIN] b", "a\n- Finance: b", "```\n## x\n```"]),
    st.lists(st.sampled_from(MARKS), max_size=3).map("\n".join),
)
labelled = st.tuples(markers, heads, tails).map("".join)


@st.composite
def flat_or_not(draw: st.DrawFn) -> str:
    """A file of labelled entries, with marks of the format between and in them, and perhaps sections."""
    parts = draw(st.lists(st.one_of(labelled, labelled, labelled, texts(3)), min_size=1, max_size=6))
    joints = st.sampled_from(
        ["\n§\n", "\n§\n", "\n§\n", "\n\n§ \n", "\n", "\n## Finance\n", "\n## __uncategorized__\n"]
    )
    text = "".join(part + draw(joints) for part in parts)
    newline = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    return draw(st.sampled_from(["", "", "", "\ufeff", "# Title\n"])) + text.replace("\n", newline)


def read(text):
    return parse(text, aliases=ALIASES)


def migrated(text):
    document = read(text)
    return document, plan_migration(document, CONFIG)


def said(entries):
    return [(entry.body, entry.tags) for entry in entries]


files = st.one_of(flat_or_not(), flat_or_not(), flat_or_not().map(lambda text: formatted(read(text), "shared")))


@given(files)
@example("# T\n[COMM] a\n§\nb")
@example("[COMM] a\n§\n# T")
@example("[COMM] ```\n§\n[FIN] x\n§\n```\n## C")
@example("\ufeff[COMM] a")
@example("[COMM] \ufeffa")
@example("[FIN] [a: b] text")
@example("## C\nx\n## __uncategorized__\n[FIN] a\n§\n[A-B] b")
def test_every_entry_is_there_once_and_in_order_with_its_words(text):
    old, migration = migrated(text)
    before = titled(old) if migration.counts["moved"] else old
    after = read(migration.new)
    planned = {each.entry.start: each for each in migration.entries}
    expected: dict[str, list] = {}
    for entry in before.entries:
        if entry.category != UNCATEGORIZED:
            expected.setdefault(entry.category, []).append((entry.body, entry.tags))
    for entry in before.entries:
        plan = planned.pop(entry.start, None)
        assert (plan is None) == (entry.category != UNCATEGORIZED)
        if plan is not None:
            expected.setdefault(plan.category, []).append((plan.body, dict(plan.tags)))
    assert planned == {}
    assert {category: said(entries) for category, entries in after.by_category.items()} == expected
    assert after.title == before.title
    event(f"moved {migration.counts['moved']}, tagged {migration.counts['tagged']}")


def without_marker(body):
    return body[2:] if body[:2] in {"- ", "* ", "+ "} else body


@given(files)
def test_bodies_plus_labels_are_the_old_bodies(text):
    _, migration = migrated(text)
    for each in migration.entries:
        old = each.entry.body
        start = old.index(each.label)
        assert old[:start] in {"", "- ", "* ", "+ "}
        assert each.body == old[:start] + (old[start + len(each.label) :].lstrip() if each.label else old)
        assert each.body or not old
        if each.action == "stayed":
            assert (each.body, dict(each.tags)) == (each.entry.body, each.entry.tags)
        assert each.entry.tags.items() <= dict(each.tags).items()


@given(files)
def test_what_stays_stays_as_it_was_written_and_no_section_goes(text):
    old, migration = migrated(text)
    after = read(migration.new)
    there = Counter(entry.text for entry in after.entries if entry.category == UNCATEGORIZED)
    assert not Counter(each.entry.text for each in migration.entries if each.action == "stayed") - there
    assert {section.category for section in old.sections} <= {section.category for section in after.sections}


@given(files)
@example("[project:x] [COMM] a\n[FIN] b")
@example("[COMM] [FIN] [COMM] a")
@example("[project:x]\n- [COMM] a")
@example("[project:x]\n- Finance: a")
@example("[project:x][a: b] text")
def test_a_second_run_changes_nothing(text):
    _, migration = migrated(text)
    again = plan_migration(read(migration.new), CONFIG)
    assert not again.changes
    assert again.counts["moved"] == again.counts["tagged"] == 0
    assert again.new == migration.new


@given(files)
def test_no_words_go_into_a_category_that_other_labels_of_theirs_do_not_name(text):
    _, migration = migrated(text)
    for each in migration.entries:
        if each.action == "moved":
            lines = [without_marker(line.strip()) for line in each.body.split("\n")]
            other = "[COMM]" if each.category == "finance" else "[FIN]"
            assert not any(line.startswith(f"{other} ") for line in lines), each


# --- sorting: every entry is in one place afterwards with its bytes, but for those that a person took out ------------


TITLES = {slug: category.title for slug, category in CONFIG.taxonomy.categories.items()}
DESCRIBED = {slug: Described(title) for slug, title in TITLES.items()}
CHOICES = [*TITLES, "finance", "+New One", STAYS, STAYS, DROP, SECRET, SPLIT]
# Entries of a flat file, and sometimes a file with sections behind them.
flat = st.lists(st.one_of(labelled, texts(6)), min_size=2, max_size=8).map("\n§\n".join)
many = st.tuples(flat, st.sampled_from(["\n§\n", "\n## Finance\n", "\n## C\n"]), files).map("".join)


def planned(text):
    document = read(text)
    return document, Proposer(titled(document), CONFIG, DESCRIBED, document.entries)


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
    found = read_list(as_text(lines, "neo/user", document.digest, DESCRIBED))
    assert found.digest == document.digest
    assert checker.chosen(found) == tuple(lines)
