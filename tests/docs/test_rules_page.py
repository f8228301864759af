"""docs/rules.md has a page of each rule, it says enough, and none of the rules cries wolf."""

from __future__ import annotations

import re

import pytest

from catmem.linting.rule import all_rules
from tests.docs import rules_page
from tests.together import together

RULES = all_rules()
FAMILIES = {
    "CM1": "structure",
    "CM2": "entries",
    "CM3": "tags",
    "CM4": "profiles and configuration",
    "CM5": "budget",
    "CM6": "safety",
}


@pytest.fixture(scope="module")
def counts():
    return rules_page.counts()


def test_the_rules_stand_below_their_families_in_the_order_of_their_codes():
    titles = re.findall(r"^###? CM.*$", rules_page.PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    wanted = [
        title
        for family, subject in FAMILIES.items()
        for title in (
            f"## {family}xx {subject}",
            *(f"### {code} {rule.name}" for code, rule in RULES.items() if code.startswith(family)),
        )
    ]
    assert titles == wanted


@together("code", RULES)
def test_every_page_says_why_shows_an_example_and_what_to_do(code):
    rule = RULES[code]
    summary, why, *_ = rule.page.split("\n\n")
    assert not why.startswith(("Bad", "Good", "Fix"))
    labels = re.findall(r"^(Fix|Options): *", re.sub(r"(?ms)^(`{3,})\w*$.*?^\1$", "", rule.page), re.MULTILINE)
    assert labels == ["Fix"] + (["Options"] if rule.options else [])
    assert rule.summary.endswith(".")
    assert summary == rule.summary
    for option in rule.options:
        assert f"- `{option}`: " in rule.page


@together("code", RULES)
def test_every_example_says_what_is_bad(code):
    """And what is good, unless the fix says it."""
    assert re.search("^Bad(:|, )", RULES[code].page.partition("\nFix: ")[0], re.MULTILINE)


@together("code", RULES)
def test_what_fires_on_more_than_a_third_of_real_files_is_a_hint(code, counts):
    files, found = counts
    if code in found and 3 * found[code].files > files:
        assert RULES[code].severity == "hint"
