"""Selectors of categories: what is none, and says why. What a list of them names: tests/property/test_selectors.py."""

import unicodedata

from catmem.config.config import Selectors, selector_fault
from tests.together import together

CATEGORIES = ["communication-style", "finance-payroll", "finance-tools", "working-relationship"]


@together(
    ("pattern", "expected"),
    [
        ("finance-[a-p]*", ["finance-payroll"]),
        ("finance-[!p]*", ["finance-tools"]),
        ("Finance-*", []),
    ],
)
def test_a_pattern_may_name_characters(pattern, expected):
    assert [category for category in CATEGORIES if Selectors((pattern,)).matches(category)] == expected


def test_unmatched_names_selectors_that_match_nothing():
    selectors = Selectors(("finance-*", "!finance-payrol", "desing-*", "*"))
    assert selectors.unmatched(CATEGORIES) == ["!finance-payrol", "desing-*"]
    assert selectors.unmatched([]) == list(selectors.patterns)


@together(
    "selector",
    ["a", "a-b_c", "!a", "*", "a*", "!a-*", "a?[0-9]", "[!a]b", "__uncategorized__", "стиль-*", "沟通", "!façade-*", "[é-ö]*",
     "x\u030c*", "a*-*-b", "a-[0-9-]*", "?[!a-z]*", "हिन्दी*", "2024"],
)  # fmt: skip
def test_slugs_and_patterns_are_fine(selector):
    assert selector_fault(selector) is None


@together(
    ("selector", "hint"),
    [
        ("Workflow Rules", "workflow-rules"),
        ("Workflow Rules (Finance)", "workflow-rules-finance"),
        ("!Workflow Rules", "!workflow-rules"),
        ("finance_", None),
        ("-a", "'a'"),
        ("a--b", "a-b"),
        ("ﬁnance", "finance"),
        ("", "slug"),
        ("!", "slug"),
        ("!!a", "'!a'"),
        ("???!", "pattern"),
        ("A*", "small letters"),
        ("a *", "small letters"),
        ("a*,b*", "one selector"),
        ("[a", "pattern"),
        ("[[]", "pattern"),
        ("a\n*", "pattern"),
    ],
)
def test_what_can_match_nothing_is_a_fault_with_a_hint(selector, hint):
    fault = selector_fault(selector)
    if hint is None:
        assert fault is None
        return
    message, said = fault
    assert hint in said
    assert "is not a selector" in message
    assert "\n" not in message


@together(
    "selector",
    [
        *("[ ]*", "[.]*", "[^a]*", "*-", "-?", "a[b--]*", "[a,b]*"),
        *("![S]ecret*", "[A-Z]*", "!SECRET*", "!finance--*", "Workflow Rules*", "!-secret*", "ﬁnance-*"),
        unicodedata.normalize("NFD", "a[é]*"),
    ],
)
def test_a_pattern_that_no_slug_fits_is_a_fault(selector):
    message, hint = selector_fault(selector)
    assert "is not a selector" in message
    assert "small letters" in hint
