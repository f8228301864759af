"""The registry of rules."""

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


@together(("code", "name"), [("CM99", "short"), ("CM001", "zero"), ("CM799", "family"), ("CM199", "Name")])
def test_a_code_or_name_of_the_wrong_form_is_refused(code, name):
    with registered(), pytest.raises(ValueError, match="not a rule's"):
        rule(code, name)(paged)


def test_a_rule_without_a_summary_is_refused():
    with registered(), pytest.raises(ValueError, match="not a rule's"):
        rule("CM199", "pageless")(lambda *_: iter(()))
