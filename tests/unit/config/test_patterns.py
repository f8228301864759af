from __future__ import annotations

from catmem.config.json_schema import pattern_fault
from tests.together import together


@together(
    "pattern",
    [
        "^Vendor ", "[a-z]+ [0-9]{4}$", "(?:foo|bar)", "(?:foo|bar)?", "(foo|bar){1,3}", "(?:ab)+", r"\(a+\)+", "[(a+)]+",
        "(?:a|b)*+", "(?:a+)++", "(?i:vendor) .*", "a{40}", "(?P<name>ab)*", "", "(?#(a+)x", r"[\]+(]+", "(?:a++)+", "[]+(]+",
    ],
)  # fmt: skip
def test_a_pattern_with_one_way_to_match_passes(pattern):
    assert pattern_fault(pattern) is None


@together(
    "pattern",
    ["(a+)+$", "(?:a|a)*$", "(a*)*", "((a+))+", "(?:a+){2,}", "(?:a{2,})*", "(?:(?:a|b)c)+", "(?:a+)?+(b+)+", "(a+)+?", "((a+)?)*",
     "(?=(a+)+)x", "(?P<n>a+)*", "(?:a+){40}"],
)  # fmt: skip
def test_a_repeat_around_what_matches_in_several_ways_is_refused(pattern):
    assert "may take very long" in pattern_fault(pattern)


@together("pattern", ["(", "[", "*", "a{5,2}", "(?P<x>a)(?P<x>b)", "\\"])
def test_what_python_does_not_understand_is_refused(pattern):
    assert pattern_fault(pattern).startswith("is no regular expression: ")
