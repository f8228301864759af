"""Patterns and references in a root's own schemas."""

from __future__ import annotations

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


def test_pattern_properties_are_refused():
    assert schema_fault({"patternProperties": {"(a+)+$": {}}})[0] == ("patternProperties",)


@together("pattern", ["(", "[", "*", "a{5,2}", "(?P<x>a)(?P<x>b)", "\\"])
def test_what_python_does_not_understand_is_refused(pattern):
    assert "is no regular expression: " in schema_fault({"pattern": pattern, "maxLength": 9})[1]


@together(
    "schema",
    [
        {"$ref": "#"},
        {"properties": {"a": {"$ref": "#"}}},
        {"$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"not": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"},
    ],
)
def test_a_schema_that_refers_to_itself_is_refused(schema):
    key, message = schema_fault(schema)
    assert key[-1] == "$ref"
    assert message == "the schema refers to itself here; write it out"


def test_a_reference_to_another_part_can_be_used_twice():
    short = {"maxLength": 2}
    schema = {"$defs": {"short": short}, "properties": {"a": {"$ref": "#/$defs/short"}, "b": {"$ref": "#/$defs/short"}}}
    assert schema_fault(schema) is None
    assert len(faults_by(json.dumps(schema), {"a": "abc", "b": "ab"})) == 1


def test_many_references_are_refused():
    schema = {"$defs": {"a": True}, "allOf": [{"$ref": "#/$defs/a"}] * 201}
    assert "200 references" in schema_fault(schema)[1]
