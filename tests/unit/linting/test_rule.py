"""The registry of rules."""

import re

import pytest

from catmem.linting.rule import all_rules, rule
from tests.together import together
from tests.unit.linting.rules_for_tests import registered


def paged(file, context):
    """Find nothing."""
    return iter(())


def test_rules_are_in_order_of_their_codes():
    codes = list(all_rules())
    assert codes == sorted(codes)
    assert all(re.fullmatch("CM[1-6][0-9]{2}", code) for code in codes)
    assert all(re.fullmatch("[a-z]+(?:-[a-z0-9]+)*", rule.name) for rule in all_rules().values())
    assert {"CM101", "CM192"} <= set(codes)


@together("code", all_rules())
def test_every_rule_has_a_page(code):
    found = all_rules()[code]
    assert found.summary
    assert found.page.startswith(f"{found.summary}\n\n")
    assert "\n\nFix: " in found.page
    assert ("\n\nOptions:\n" in found.page) == bool(found.options)


def test_a_code_and_a_name_are_given_once():
    taken = all_rules()["CM192"]
    with registered(), pytest.raises(ValueError, match="taken"):
        rule("CM192", "another-name")(paged)
    with registered(), pytest.raises(ValueError, match="taken"):
        rule("CM199", taken.name)(paged)
