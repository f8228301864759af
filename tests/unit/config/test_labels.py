"""What the labels in front of an entry mean, and which of them leave it."""

from pathlib import Path

from catmem.config.config import Category, Config, Taxonomy
from catmem.config.labels import LabelVocabulary, read_labels
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
MEANINGS = LabelVocabulary.from_config(CONFIG)
COMM, FIN = "communication-style", "finance-rules"


def labels(body, tags=None):
    return read_labels(body, tags or {}, MEANINGS, 4096)


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
