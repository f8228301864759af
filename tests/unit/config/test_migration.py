"""Flat files become files with sections."""

from pathlib import Path

from catmem.config.config import Category, Config, Taxonomy
from catmem.config.labels import plan_migration
from catmem.jsonable import jsonable
from catmem.model.document import parse
from tests.together import together

TAXONOMY = Taxonomy(
    categories={
        "communication-style": Category("communication-style", "Communication Style", ("comm",)),
        "finance": Category("finance", "Finance", ("fin",), domain="finance"),
    }
)
CONFIG = Config(Path("root"), taxonomy=TAXONOMY)


def migrated(text, config=CONFIG):
    return plan_migration(parse(text, aliases=config.taxonomy.aliases), config)


@together(
    ("before", "after"),
    [
        ("[COMM] Short.", "## Communication Style\nShort.\n"),
        (
            "[FIN] b\n§\nplain\n§\n[COMM] a\n§\n[FIN] c\n",
            "plain\n\n## Communication Style\na\n\n## Finance\nb\n§\nc\n",
        ),
        ("[FIN] a\r\n§\r\nb\r\n", "b\r\n\r\n## Finance\r\na\r\n"),
        ("\ufeff[FIN] a\n§\nb", "\ufeffb\n\n## Finance\na\n"),
        ("[project:x] a\n§\n\nb", "[project: x] a\n§\n\nb"),
        ("[created: 2026-05-01] [FIN] a", "## Finance\n[created: 2026-05-01] a\n"),
        ("[FIN] [created: 2026-05-01] a\nb", "## Finance\n[created: 2026-05-01]\na\nb\n"),
        ("---\nsource: x\n---\n[FIN] a", "## Finance\n---\nsource: x\n---\na\n"),
        ("[FIN] § a\n§\n[FIN]\n# b", "## Finance\n§ a\n§\n\\# b\n"),
        ("[FIN] ```\n§\nb", "b\n\n## Finance\n```\n§\n"),
        ("# About\n\n[FIN] a\n§\nb", "# About\n\nb\n\n## Finance\na\n"),
        ("[FIN] a\n§\n# b\nc", "\\# b\nc\n\n## Finance\na\n"),
        # With sections: entries go to the end of their section; what has a category stays, and so do odd blanks.
        ("[FIN] c\n§\nb\n\n\n## Fin\n\na [COMM]\n", "b\n\n\n## Fin\n\na [COMM]\n§\nc\n"),
        ("[COMM] c\n\n## Finance\n[FIN] a\n", "## Finance\n[FIN] a\n\n## Communication Style\nc\n"),
        # The layout that Hermes Agent needs stays, and what it added is sorted in.
        (
            "## Finance\n§\na\n§\n## __uncategorized__\n§\n[FIN] b\n§\n[COMM] c\n§\nd",
            "## Finance\n§\na\n§\nb\n§\n## Communication Style\n§\nc\n§\n## __uncategorized__\n§\nd",
        ),
        ("# T\n\n## Finance\n\n[COMM] a\n", "# T\n\n## Finance\n\n[COMM] a\n"),
    ],
)
def test_what_a_file_becomes(before, after):
    assert migrated(before).new == after
    assert not migrated(after).changes


def test_the_plan_says_of_each_entry_what_is_done_and_why():
    migration = migrated("# About\n\n[FIN] a\n§\n- [project:x] b\n§\n[OPS] c\n§\n[OPS] d\n\n## Finance\nz\n")
    assert [(each.line, each.action, each.category, each.label, each.body) for each in migration.entries] == [
        (3, "moved", "finance", "[FIN]", "a"),
        (5, "tagged", "__uncategorized__", "[project:x]", "- b"),
        (7, "stayed", "__uncategorized__", "", "[OPS] c"),
        (9, "stayed", "__uncategorized__", "", "[OPS] d"),
    ]
    assert [each.why for each in migration.entries] == [
        "[FIN] is an alias of finance",
        "[project:x] becomes a tag",
        "[OPS] names no declared category",
        "[OPS] names no declared category",
    ]
    assert migration.counts == {"moved": 1, "tagged": 1, "stayed": 2}
    assert (migration.sections, migration.unknown) == ({"finance": 1}, {"OPS": 2})
    assert jsonable(migration.entries[1])["tags"] == {"project": "x"}


def test_a_heading_becomes_the_title_with_the_first_section_only():
    assert migrated("# About\n\n[FIN] a").title == "About"
    assert migrated("# About\n§\n[project:x] a").title is None
    assert migrated("# About\n\n## Finance\na\n## __uncategorized__\n[FIN] b").title is None


def test_without_declared_categories_nothing_moves():
    assert not migrated("[COMM] a\n§\n[FIN] b", Config(Path("root"))).changes


def test_a_tag_given_twice_is_not_rewritten():
    text = "[source: a, source: b] [project:x] c"
    migration = migrated(text)
    assert migration.new == text
    assert migration.entries[0].why == "its tags cannot be written with those of its labels"


def test_tags_that_no_block_can_hold_stay_in_the_text():
    text = f"[source: {'x' * 4070}] [project:{'y' * 40}] c"
    assert migrated(text).new == text


def test_headings_that_a_root_reads_as_text_stay_so():
    declared = TAXONOMY.declared()
    document = parse("[FIN] a\n§\n## A card\nb", declared)
    assert plan_migration(document, CONFIG).new == "## A card\nb\n\n## Finance\na\n"
