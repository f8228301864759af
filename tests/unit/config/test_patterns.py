"""Patterns and references in a root's own schemas."""

import json

from catmem.config.json_schema import faults_by, schema_fault
from tests.together import together

TEXT = "a" * 50 + "b"


@together("pattern", ["^Vendor ", "(?:foo|bar)?", r"\(a+\)a+", "", "(?i)a", "(?P<n>a+)", "a" * 100])
def test_a_short_pattern_can_be_used(pattern):
    assert schema_fault({"pattern": pattern}) is None


def test_a_long_one_is_refused():
    key, message = schema_fault({"pattern": "a" * 101})
    assert key == ("pattern",)
    assert message.endswith("is longer than 100 characters")


def test_a_text_that_is_too_long_is_not_tried():
    (fault,) = faults_by(json.dumps({"pattern": "^(a+)+$", "maxLength": 50}), TEXT)
    assert fault[1] == "must have at most 50 characters, and has 51"


@together("pattern", ["(", "[", "*", "a{5,2}", "(?P<x>a)(?P<x>b)", "\\"])
def test_what_python_does_not_understand_is_refused(pattern):
    assert "is no regular expression: " in schema_fault({"pattern": pattern, "maxLength": 9})[1]


@together("name", ["$ref", "$dynamicRef", "patternProperties"])
def test_what_leads_elsewhere_or_may_not_end_is_refused(name):
    part = {"(a+)+$": {}} if name == "patternProperties" else "#/$defs/a"
    key, message = schema_fault({"properties": {"a": {name: part}}})
    assert key == ("properties", "a", name)
    assert message == f"{name} cannot be used; write out what is meant"
