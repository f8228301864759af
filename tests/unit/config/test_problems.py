"""Problems that need the root: values of tags, sections that a closed taxonomy does not declare."""

from dataclasses import replace
from pathlib import Path

from catmem.config.access import all_problems
from catmem.config.config import Category, Config, Taxonomy
from catmem.model.document import parse

OPEN = Config(Path())
CLOSED = replace(
    OPEN, taxonomy=Taxonomy(closed=True, categories={"legal-rules": Category("legal-rules", "Legal Rules")})
)


def said(text, config=OPEN):
    document = parse(text)
    return [(document.line(problem.start), problem.rule) for problem in all_problems(document, config)]


def test_values_that_do_not_fit_are_problems_with_their_place():
    text = "## A\n[expires: 2026-13-01] one\n§\n[verified_date: 2026-05-01] two\n§\n[domain: Big Money] three\n"
    assert said(text) == [(2, "bad-tag"), (6, "bad-tag")]


def test_a_section_that_is_not_declared_names_the_nearest():
    assert said("## Leagl Rules\none\n", CLOSED) == [(1, "unknown-category")]
    assert "did you mean legal-rules" in all_problems(parse("## Leagl Rules\none\n"), CLOSED)[0].message
    assert said("## Leagl Rules\none\n", OPEN) == []
    assert said("## Legal Rules\none\n\n## __uncategorized__\ntwo\n", CLOSED) == []


def test_what_was_meant_to_be_tags_is_a_problem():
    for start in (
        "[Verified_date: 2026-01-01]",
        "[verified date: 2026-01-01]",
        "[verified_date:2026-01-01]",
        "[expires: x",
    ):
        assert said(f"{start} text") == [(1, "malformed-tags")]
    for fine in ("[docs: intro](https://example.org)", "[COMM] short", "[expires: 2026-01-01] text", "domain: x"):
        assert said(fine) == []
