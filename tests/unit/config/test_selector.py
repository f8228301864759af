"""Which categories a list of selectors names."""

import unicodedata

from catmem.config.config import Selectors, selector_fault
from tests.together import together

CATEGORIES = ["communication-style", "finance-payroll", "finance-tools", "working-relationship"]


def selected(*patterns, declared=None, among=CATEGORIES):
    selectors = Selectors(patterns, declared)
    return [category for category in among if selectors.matches(category)]


@together(
    ("patterns", "expected"),
    [
        ([], []),
        (["finance-tools"], ["finance-tools"]),
        (["finance-*"], ["finance-payroll", "finance-tools"]),
        (["*"], CATEGORIES),
        (["finance-?ools"], ["finance-tools"]),
        (["finance-[a-p]*"], ["finance-payroll"]),
        (["finance-[!p]*"], ["finance-tools"]),
        (["finance-*", "!finance-payroll"], ["finance-tools"]),
        (["!finance-payroll", "finance-*"], ["finance-payroll", "finance-tools"]),
        (["*", "!finance-*", "finance-tools"], ["communication-style", "finance-tools", "working-relationship"]),
        (["finance-tools", "!*"], []),
        (["!finance-tools"], []),
        (["finance"], []),
        (["Finance-*"], []),
    ],
)
def test_the_last_selector_that_matches_wins(patterns, expected):
    assert selected(*patterns) == expected


def test_a_pattern_takes_away_without_a_limit():
    assert not Selectors(("__uncategorized__", "!*")).matches("__uncategorized__")
    assert not Selectors(("typo", "!t*"), frozenset(("other",))).matches("typo")


def test_position_is_that_of_the_first_selector_that_names_it():
    selectors = Selectors(("working-relationship", "finance-*", "!finance-payroll", "finance-tools"))
    assert [selectors.position(category) for category in CATEGORIES] == [None, None, 1, 0]


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
