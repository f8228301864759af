"""What the labels in front of an entry mean, which of them leave it, and what becomes of a file with them."""

from pathlib import Path

from catmem.config.config import Category, Config, Taxonomy
from catmem.jsonable import jsonable
from catmem.model.document import parse
from catmem.plugins.sorting.labels import plan_migration, read_labels
from tests.together import together

CONFIG = Config(
    Path("root"),
    taxonomy=Taxonomy(
        categories={
            "communication-style": Category("communication-style", "Communication Style", ("comm",)),
            "finance-rules": Category(
                "finance-rules", "Rules (Finance)", ("rules-finance", "fin", "project-payroll"), domain="finance"
            ),
        }
    ),
    tag_schemas={"owner": {"type": "string"}},
    domains={"design": 30},
)
COMM, FIN = "communication-style", "finance-rules"


def labels(body, tags=None):
    return read_labels(body, tags or {}, CONFIG)


@together(
    ("body", "category", "rest"),
    [
        ("[COMM] Short.", COMM, "Short."),
        ("[comm]Short.", COMM, "Short."),
        ("[Communication Style] Short.", COMM, "Short."),
        ("[communication-style]\nShort.", COMM, "Short."),
        ("- [COMM] Short.", COMM, "- Short."),
        ("Communication style: short.", COMM, "short."),
        ("**Communication style:** short.", COMM, "short."),
        ("**Communication style**: short.", COMM, "short."),
        ("* Rules (finance): pay", FIN, "* pay"),
        ("Comm:\n- a\n- b", COMM, "- a\n- b"),
        ("[COMM] Communication style: short.", COMM, "short."),
        ("[project:payroll] pay", FIN, "pay"),
    ],
)
def test_a_label_that_names_a_category_leaves_the_text(body, category, rest):
    found = labels(body)
    assert (found.category, found.rest, found.tags) == (category, rest, {})
    assert body.endswith(found.rest.removeprefix("- ").removeprefix("* "))


@together(
    ("body", "tags", "rest"),
    [
        ("[project:x] Text.", {"project": "x"}, "Text."),
        ("[project:a b] Text.", {"project": "a b"}, "Text."),
        ("[project:Finance] Text.", {"domain": "finance"}, "Text."),
        ("[project:design] Text.", {"domain": "design"}, "Text."),
        ("[domain:other] Text.", {"domain": "other"}, "Text."),
        ("[owner:anna] Text.", {"owner": "anna"}, "Text."),
        ("[verified_date:2026-05-01] Text.", {"verified_date": "2026-05-01"}, "Text."),
        ("[project:x][owner:anna] - [ ] todo", {"project": "x", "owner": "anna"}, "- [ ] todo"),
        ("[project:x] [created: 2026-05-01, domain: [a, b]] T", {"project": "x", "created": "2026-05-01", "domain": ["a", "b"]}, "T"),
    ],
)  # fmt: skip
def test_a_label_with_a_value_becomes_a_tag(body, tags, rest):
    found = labels(body)
    assert (found.category, found.tags, found.rest) == (None, tags, rest)


@together(
    ("body", "why"),
    [
        ("Plain text.", "it begins with no label"),
        ("Note: text", "it begins with no label"),
        ("[FOO] text", "[FOO] names no declared category"),
        ("[COM] text", "[COM] names no declared category; did you mean comm?"),
        ("[repo:x] text", "[repo:x] names no declared tag"),
        ("[verified_date:soon] text", "[verified_date:soon] is no tag: verified_date "),
        ("[COMM]", "it holds nothing but labels"),
        ("- [project:x] [COMM]", "it holds nothing but labels"),
        ("[COMM] [FIN] text", f"it has labels of {COMM} and {FIN}; part it first"),
        ("[COMM] a\n- [FIN] b", f"it has labels of {COMM} and {FIN}; part it first"),
        ("[COMM] a\n\nRules (Finance): b", f"it has labels of {COMM} and {FIN}; part it first"),
        ("[project:x]\n  - a\n  - b", "[project:x] stays, as what stands below it is set off from it"),
        ("[project:x]\n- [owner:anna] a", "[project:x] stays, as what stands below it is set off from it"),
        ("[project:x] " * 20 + "text", "it begins with more than 16 labels"),
        ("[COMM](https://x.y) text", "it begins with no label"),
        ("[COMM][ref] text", "it begins with no label"),
        ("[COMM]: https://x.y", "it begins with no label"),
        ("[https://x.y] text", "[https://x.y] names no declared category"),
        ("[x] done", "it begins with no label"),
        ("[__uncategorized__] text", "[__uncategorized__] names no declared category"),
        ("10:30 [COMM] text", "it begins with no label"),
    ],
)
def test_what_cannot_be_understood_stays_and_says_why(body, why):
    found = labels(body)
    assert (found.rest, found.category, found.tags, found.why) == (body, None, {}, [])
    assert found.stays.startswith(why)


@together("body", ["[COMM]\n  - a\n  - b", "- [COMM]\n  a", "[COMM] a\n[COMM] b", "Comm: a\n- Comm: b"])
def test_a_label_that_the_lines_below_it_need_stays_though_the_entry_moves(body):
    found = labels(body)
    assert (found.category, found.rest) == (COMM, body)
    assert "it stays in the text" in found.why[0]


def test_a_label_beside_a_tag_that_says_other_stays():
    found = labels("[project:x] [project:y] text")
    assert (found.tags, found.rest) == ({"project": "x"}, "[project:y] text")
    assert labels("[project:x] text", {"project": "y"}).rest == "[project:x] text"


@together("tags", [{"domain": "finance"}, {"domain": ["a", "finance"]}])
def test_a_label_that_says_what_a_tag_says_leaves(tags):
    found = labels("[domain:finance] text", tags)
    assert (found.tags, found.rest) == ({}, "text")


def test_an_escaped_tag_block_is_text():
    assert labels("[created: 2026-05-01] text").rest == "[created: 2026-05-01] text"


@together(("body", "unknown"), [("[OPS] x", "OPS"), ("[TODO] x", None), ("[Ops] x", None), ("x", None)])
def test_a_label_that_nobody_declared_is_named(body, unknown):
    assert labels(body).unknown == unknown


# --- flat files become files with sections ------------------------------------------------------------------------------

DECLARED = Taxonomy(
    categories={
        "communication-style": Category("communication-style", "Communication Style", ("comm",)),
        "finance": Category("finance", "Finance", ("fin",), domain="finance"),
    }
)
ROOT = Config(Path("root"), taxonomy=DECLARED)


def migrated(text):
    return plan_migration(parse(text, aliases=DECLARED.aliases), ROOT)


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


def test_a_tag_given_twice_is_not_rewritten():
    text = "[source: a, source: b] [project:x] c"
    migration = migrated(text)
    assert migration.new == text
    assert migration.entries[0].why == "its tags cannot be written with those of its labels"


def test_tags_that_no_block_can_hold_stay_in_the_text():
    text = f"[source: {'x' * 4070}] [project:{'y' * 40}] c"
    assert migrated(text).new == text


def test_headings_that_a_root_reads_as_text_stay_so():
    declared = DECLARED.declared()
    document = parse("[FIN] a\n§\n## A card\nb", declared)
    assert plan_migration(document, ROOT).new == "## A card\nb\n\n## Finance\na\n"
