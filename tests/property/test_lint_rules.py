"""Rules on any text: none fails, every finding lies in the file, and a safe fix loses nothing."""

from datetime import date
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from catmem.config.config import Category, Config, Taxonomy
from catmem.linting.linted import Context, LintedFile, fix_once, lint_file
from catmem.linting.rule import LintSettings, all_rules
from catmem.model.document import parse
from tests.property.strategies import texts

FINANCE = Category("finance", "Finance", aliases=("money",), require_tags=("verified_date",))
CONFIG = Config(Path(), taxonomy=Taxonomy(closed=True, categories={"finance": FINANCE}))
RULES = {code: rule for code, rule in all_rules().items() if code[:3] in {"CM1", "CM2", "CM3", "CM5"}}
CONTEXT = Context(CONFIG, date(2026, 11, 21), rule_options={code: rule.options for code, rule in RULES.items()})
KEEP_THE_WORDS = ("CM102", "CM201")


def linted(text):
    return LintedFile.from_bytes("USER.md", text.encode(), CONFIG)


def said(text):
    """Every category's bodies, each once, and the order in which they come."""
    document = parse(text, aliases=CONFIG.taxonomy.aliases)
    return {
        category: tuple(dict.fromkeys(entry.body for entry in entries))
        for category, entries in document.by_category.items()
    }


@given(texts())
def test_findings_lie_in_the_file_and_their_fixes_do_too(text):
    file = linted(text)
    root = {file.path: file}
    for rule in RULES.values():
        if rule.scope in {"file", "root"}:
            for finding in rule.check(file if rule.scope == "file" else root, CONTEXT):
                assert 0 <= finding.start <= finding.end <= len(text)
                done = 0
                for edit in finding.fix.edits if finding.fix else ():
                    assert done <= edit.start <= edit.end <= len(text)
                    done = edit.end


# Few different lines, so that sections and entries repeat, and what nearly is a boundary beside what is one.
repeating_lines = st.sampled_from(
    [
        "## A",
        "## B",
        "## A ##",
        "x",
        "y",
        "§",
        "§\x85",
        "§\r",
        " ## A",
        " §",
        "## A\x85",
        "# T",
        "",
        "a\r",
        "```",
        "<!-- x -->",
    ]
)
repeating = st.lists(st.tuples(repeating_lines, st.sampled_from(["\n", "\n", "\r\n"])), max_size=12).map(
    lambda parts: "".join(line + newline for line, newline in parts)
)


@given(st.one_of(texts(), repeating, repeating.map(lambda text: text.rstrip("\r\n"))))
@example("## A\n §\n## A\n §\n§\n## A\n")
@example("```\n## A\n §\n## A\n§\x85\n§\n```\n")
@example("§\r\r\n§\n §\n")
@example("## A\n1\n§\x85\n\n## A\n2\n")
def test_a_safe_fix_of_the_structure_keeps_every_word(text):
    """As ``--fix`` makes it, which leaves out what would change another entry."""
    for found in lint_file(linted(text), CONTEXT, LintSettings(select=KEEP_THE_WORDS)):
        if found.fix and found.fix.safe:
            assert said(fix_once(text, [found], CONFIG.taxonomy.parse)[0]) == said(text)
